"""Write docs/commands.md from the commands' own ``--help``: ``python docs/reference.py``."""

from __future__ import annotations

import os
from pathlib import Path

from typer.testing import CliRunner

from scorer.commands import app

PAGE = Path(__file__).with_name("commands.md")
HEAD = """# Commands

Generated from `--help` by `python docs/reference.py`; a test fails when it is out of date.
"""


def names() -> list[str]:
    """All commands, those of groups as ``group command``."""
    found = []
    for command in app.registered_commands:
        found.append(command.name or "")
    for group in app.registered_groups:
        inner = group.typer_instance
        if inner is not None:
            found.extend(f"{group.name} {command.name}" for command in inner.registered_commands)
    return found


def page() -> str:
    """The text of the page."""
    os.environ["COLUMNS"] = "110"
    parts = [HEAD]
    for name in ["", *names()]:
        result = CliRunner().invoke(app, [*name.split(), "--help"], prog_name="scorer")
        parts.append("## `" + f"scorer {name}".strip() + "`")
        parts.append(f"```text\n{result.stdout.strip()}\n```")
    return "\n\n".join(part.strip() for part in parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
