"""Hooks of the documentation site (mkdocs.yml)."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
EXAMPLE = re.compile(r"^\[[^\]]+\]\(\.\./(examples/[^)]+)\)$", re.MULTILINE)
MADE = {"using.md": "page", "audit.md": "parts"}
LANGUAGES = {".py": "python", ".sh": "sh", ".slurm": "sh", ".yaml": "yaml"}
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Show examples that are alone on a line, name other files above `docs/`, and add what is made from the code."""
    if made := MADE.get(page.file.src_path):
        markdown = f"{markdown}\n{runpy.run_path(str(ROOT / 'docs' / 'reference.py'))[made]()}"
    return OUTSIDE.sub(r"\1 (`\2`)", EXAMPLE.sub(_shown, markdown))


def _shown(link: re.Match[str]) -> str:
    path = ROOT / link[1]
    return f"`{link[1]}`:\n\n```{LANGUAGES[path.suffix]}\n{path.read_text(encoding='utf-8')}```"
