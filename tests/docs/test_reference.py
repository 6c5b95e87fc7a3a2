"""The command reference is up to date, and every command, argument and option has help."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(reference: ModuleType) -> None:
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == reference.page(), "run: python docs/reference.py"


def test_every_command_argument_and_option_has_help(reference: ModuleType) -> None:
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    whole = re.compile(r"^As `(.*)`, all except: ", re.MULTILINE)
    for name, command, context in reference.commands():
        section = page.split(f"## `scorer {name}`\n")[1].split("\n## ")[0]
        assert command.help, f"no help for {name}"
        for option, text in reference.records(command, context):
            assert re.sub(r"\[.*?\]", "", text).strip(), f"no help for {option} of {name}"
            others = [page.split(f"## `{other}`\n")[1].split("\n## ")[0] for other in whole.findall(section)]
            listed = [text.split("```")[1] for text in others] if f"`{option.split()[0]}`" not in section else []
            found = option.split()[0] in "".join([section, *listed])
            assert found, f"{option} of {name} is not on the page"
