"""Every file and command of docs/data.md, in order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.metric.inputs import find_columns
from scorer.metric.options import ColumnNames
from tests.conftest import ROOT

BLOCK = re.compile(r"(?:^`([^`]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")


def followed(page: str) -> list[str]:
    """What the commands of a page print; its files are written into the working directory."""
    printed = []
    for name, language, content in BLOCK.findall(page):
        if name:
            Path(name).write_text(content, encoding="utf-8")
        elif language == "python":
            exec(compile(content, "page", "exec"), {})
        else:
            assert language == "sh"
            for line in content.splitlines():
                program, *arguments = shlex.split(line)
                assert program == "scorer"
                result = CliRunner().invoke(app, arguments)
                assert result.exit_code == 0, f"{line}: {result.stderr}"
                assert arguments[0] != "convert" or " 0 malformed lines" in result.stderr
                printed.append(result.stdout)
    return printed


def column(file: str, name: str) -> list[Any]:
    found: list[Any] = pq.read_table(file)[name].to_pylist()
    return found


def test_every_example_gives_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan, _, _, explained, *others = followed(PAGE)
    facts = re.findall(r"`(The [^`]+\.)`", PAGE)
    assert facts and all(fact in plan for fact in facts[:2])
    assert "attributes without a value: 1" in plan
    assert "hallucination" in explained
    assert "The museum is open from 10 am to 6 pm." in others[3]
    assert column("products/products.parquet", "fine") == ["OK", "hallucination", "omission"]
    assert column("hotels/hotels.parquet", "fine") == ["OK", "omission"]  # `embedded` overlooks Oslo for Bergen
    assert [len(sentences) for sentences in column("games/games.parquet", "sentences")] == [2]
    assert [len(sentences) for sentences in column("answers/answers.parquet", "sentences")] == [2, 1]
    assert Path("products.html").exists()
    tables = {path.stem: pq.read_table(path) for path in Path().glob("*.parquet")}
    assert len(tables) == 7
    for file, table in tables.items():
        assert not find_columns(table.schema, ColumnNames()).rows(table).errors, file
    assert len(tables["lexicalisations"]["references"][0]) == 1
    assert tables["alpha"]["references"].to_pylist()[0][1] == "The Thai pub is The Lamb."
    assert column("webnlg.parquet", "system") == ["forge"]
    assert column("gamma.parquet", "text") == ["the lamb is a pub .", ""]
    assert column("human.parquet", "semantics") == [2.75, 1.0] and column("human.parquet", "text")[1] == ""
