"""Messages at which users stopped: each names what is wrong, and what to write instead."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.commands.conftest import CommandLine
from tests.run.calls import scorer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """Rows of attributes and of slots, a workbook, templates with other slots, and an output."""
    made = tmp_path_factory.mktemp("messages")
    (made / "rows.csv").write_text('Brand,Colour,Product,"weight, kg",text\nAcme,red,Lamp,3,The Lamp is red.\n')
    (made / "slots.jsonl").write_text('{"text": "A is a pub.", "mr": "name[A], eatType[pub]"}\n')
    (made / "braces.json").write_text(json.dumps({"Colour": "{subject} is {object}."}))
    (made / "good.json").write_text(json.dumps({"eatType": "<subject> is a kind of <object>."}))
    with zipfile.ZipFile(made / "data.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", "<workbook/>")
    scorer("run", made / "slots.jsonl", "--out", made / "out", "--bundle", tiny)
    return made


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("run rows.csv --attributes-column Brand,Color --subject-column Product", "no column 'Color'; the columns are"),
        ("run rows.csv --attributes-column Brand,nothing", '"weight, kg", text'),
        ("run rows.csv --attributes-column Colour --subject-column Produkt", "no column 'Produkt' names its subject"),
        ("run data.xlsx", "is an Excel workbook or another ZIP archive; save it as CSV UTF-8"),
        (
            "run slots.jsonl --templates braces.json",
            "found {subject} in '{subject} is {object}.'; did you mean <subject>?",
        ),
        ("run slots.jsonl --into out --templates good.json", "pass --rescore"),
        ("run slots.jsonl --checks omission", "'omission' is not one of 'both', 'hallucination'"),
        ("run slots.jsonl --bundle FacebookAI/roberta-large-mnli", "`scorer export FacebookAI/roberta-large-mnli DIR`"),
        ("run slots.jsonl --mr-column text", "no row in the first window can be scored; nothing was written"),
        ("explain out --row slots.jsonl:0", "did you mean slots.parquet:0?"),
    ],
)
def test_it_says_what_to_write(
    command: str, message: str, folder: Path, tiny: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    words = command.replace("--into", "--out").split()
    if words[0] == "run":
        words += [] if "--bundle" in words else ["--bundle", str(tiny)]
        words += [] if "--out" in words else ["--out", "new"]
    code, _, shown = command_line(*words)
    assert code == 2 and message in shown and "Value error" not in shown
    assert not Path("new").exists()


def test_one_attribute_of_a_plain_column_and_a_name_with_a_comma(folder: Path, tiny: Path, tmp_path: Path) -> None:
    for column, facts in (("Colour", 1), ('Brand,"weight, kg"', 2)):
        out = tmp_path / column[:3]
        columns = ("--attributes-column", column, "--subject-column", "Product")
        scorer("run", folder / "rows.csv", "--out", out, "--bundle", tiny, *columns)
        (row,) = (json.loads(line) for line in scorer("show", out, "--jsonl").stdout.splitlines())
        assert row["error"] is None and len(row["fact_entailment"]) == facts, row


def test_one_file_needs_no_name(folder: Path) -> None:
    assert "stored: " in scorer("explain", folder / "out", "--row", "0").stdout
