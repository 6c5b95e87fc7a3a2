"""The command reference is up to date, and every command, argument and option has help."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from scorer.commands import app

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


def test_short_help_is_short_and_never_cut_off(reference: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the list of commands, on a terminal of 80 columns: under 60 characters, one whole sentence."""
    monkeypatch.setenv("COLUMNS", "80")
    listed = {}
    groups = {name.split()[0] for name in reference.names() if " " in name}
    for group in ["", *sorted(groups)]:
        shown = CliRunner().invoke(app, [*group.split(), "--help"], prog_name="scorer").stdout
        lines = shown.split("\nCommands:\n")[1].splitlines()
        matches = [re.fullmatch(r"  ([a-z0-9-]+)  +(\S.*)", line) for line in lines]
        assert all(matches), f"a short help goes over two lines: {shown}"
        listed |= {f"{group} {match[1]}".strip(): match[2] for match in matches if match}
    assert set(listed) == {*reference.names(), *groups}
    for name, short in listed.items():
        assert len(short) < 60, f"{name}: {short}"
        assert short.endswith(".") and not short.endswith(".."), f"{name}: {short}"
        assert short[0].isupper(), f"{name}: {short}"
