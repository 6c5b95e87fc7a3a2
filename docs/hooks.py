"""Hooks of the documentation site (mkdocs.yml)."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)#]+)(?:#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Name files above `docs/`, to which the site cannot link, and add every command's options to their page."""
    if page.file.src_path == "commands.md":
        reference = runpy.run_path(str(Path(__file__).with_name("reference.py")))
        markdown = f"{markdown}\n{reference['page']()}"
    return OUTSIDE.sub(r"\1 (`\2`)", markdown)
