"""What README and docs show, list and name is so."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from scorer import Scorer
from scorer.commands import COMMANDS, app
from scorer.commands.check import EXAMPLE_TEXT
from scorer.commands.gone import GONE
from scorer.metric.templates import Templates
from tests.conftest import ROOT

WORDS = 24_800
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for code in blocks(ROOT / "README.md", "python"):
        exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("OK ")


def test_the_check_of_the_readme_prints_what_the_readme_shows() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^scorer (check .*)\n```\n\n```text\n(.*?)```", text, re.MULTILINE | re.DOTALL)
    result = CliRunner().invoke(app, shlex.split(found[1]))
    assert result.exit_code == 0
    digits = re.compile(r"(?<=0\.\d)\d+")  # further ones differ between processors
    assert digits.sub("", result.stdout) == digits.sub("", found[2])


def test_the_first_table_of_the_readme_is_what_the_embedded_model_says() -> None:
    rows = re.findall(r"^\| ([A-Z][^|]*|the same) \| ([A-Z][^|]*) \| `(\S+)`(?: \(fact (\d)\))? \|$",
                      (ROOT / "README.md").read_text(), re.MULTILINE)  # fmt: skip
    assert len(rows) == 3
    facts: list[str] = []
    with Scorer.embedded() as scorer:
        for given, text, label, omitted in rows:
            facts = facts if given == "the same" else re.findall(r"[^.]+\.", given)
            verdict = scorer.score_facts(facts, text)
            assert (verdict.fine, verdict.omitted) == (label, [int(omitted)] if omitted else [])
    assert {label for _, _, label, _ in rows} == {"OK", "omission", "hallucination"}


def test_the_example_of_the_console_is_what_the_embedded_model_says() -> None:
    result = CliRunner().invoke(app, ["check"], input="quit\n")
    assert (result.exit_code, result.stdout[:3]) == (0, "OK ")
    assert f"text: {EXAMPLE_TEXT}" in result.stdout


def test_the_readme_is_short_and_the_index_lists_every_page() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 650
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in (ROOT / "docs").glob("*.md")) <= WORDS
    listed = re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages == {link for link in listed if "/" not in link}


def test_the_template_file_of_the_docs_loads() -> None:
    for example in blocks(ROOT / "docs" / "templates.md", "json"):
        assert Templates.from_dict(json.loads(example)).plain


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_targets_and_links_that_docs_name_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`?make ([a-z][a-z-]+)`", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name} names make {target}"
    known = {*COMMANDS}
    known |= {name.split()[0] for name in GONE} if page.name == "upgrading.md" else set()
    for command in re.findall(r"`scorer ([a-z]+)", text):
        assert command in known, f"{page.name} names scorer {command}"
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_every_command_is_on_the_page_and_every_option_has_help() -> None:
    reference = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "reference.py")))
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    generated = reference.page()
    whole = re.compile(r"^As `(.*)`, all except: ", re.MULTILINE)
    for name, command, context in reference.commands():
        assert f"`scorer {name}" in page
        section = generated.split(f"## `scorer {name}`\n")[1].split("\n## ")[0]
        assert command.help, f"no help for {name}"
        for option, text in reference.records(command, context):
            assert re.sub(r"\[.*?\]", "", text).strip(), f"no help for {option} of {name}"
            others = [generated.split(f"## `{other}`\n")[1].split("\n## ")[0] for other in whole.findall(section)]
            listed = [text.split("```")[1] for text in others] if f"`{option.split()[0]}`" not in section else []
            found = option.split()[0] in "".join([section, *listed])
            assert found, f"{option} of {name} is not in the reference"


PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SOURCES = [path for folder in ("scorer", "export", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
QUOTED = sorted(set(re.findall(r"`([^`\s]+)`", PAGE)))
NAME = re.compile(r"_?[a-z]+(_[a-z]+)+|_?[A-Z_]{5,}|_[a-z]+")


def test_what_it_names_is_there() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    for name in QUOTED:
        if name.endswith("/"):
            assert (ROOT / name).is_dir() or (ROOT / "scorer" / name).is_dir(), name
        elif name.endswith(".py"):
            named = any(f"/{path.as_posix()}".endswith(f"/{name}") for path in SOURCES)
            assert named or (ROOT / name).is_file(), name
        elif NAME.fullmatch(name):
            assert re.search(rf"\b{name}\b", code), name
