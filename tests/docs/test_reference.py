"""The command reference is up to date, and every command, argument and option has help."""

from __future__ import annotations

import re
import runpy
from types import SimpleNamespace

from tests.conftest import ROOT


def test_the_page_is_up_to_date_and_every_command_and_option_has_help() -> None:
    reference = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "reference.py")))
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert page == reference.page(), "run: python docs/reference.py"
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
