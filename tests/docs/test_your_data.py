"""Every file and command of docs/data.md and docs/your-data.md, in order."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.inference.choices import BUILTIN_BUNDLES, BuiltinBundle
from scorer.metric.inputs import find_columns
from scorer.metric.options import ColumnNames
from tests.conftest import ROOT

BLOCK = re.compile(r"(?:^`([^`]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def followed(page: str) -> list[str]:
    """What the commands of a page print; its files are written here."""
    names: dict[str, object] = {}
    said = []
    for name, language, content in BLOCK.findall(page):
        if name:
            Path(name).write_text(content, encoding="utf-8")
        elif language == "python":
            exec(compile(content, "page", "exec"), names)
        else:
            assert language == "sh"
            for line in content.splitlines():
                words = shlex.split(line)
                assert words[0] == "scorer"
                result = CliRunner().invoke(app, words[1:])
                assert result.exit_code == 0, f"{line}: {result.stderr}"
                assert words[1] != "convert" or " 0 malformed lines" in result.stderr
                said.append(result.stdout)
    return said


def column(file: str, name: str) -> list[Any]:
    found: list[Any] = pq.read_table(file)[name].to_pylist()
    return found


def test_every_file_of_your_data_leads_to_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "your-data.md").read_text(encoding="utf-8")
    said = followed(page)
    plan, explained = said[0], said[3]
    for fact in re.findall(r"`(The [^`]+\.)`", page)[:2]:
        assert fact in plan
    assert "attributes without a value: 1" in plan
    assert "hallucination" in explained
    assert capsys.readouterr().out == "omission [1]\n"
    assert column("products/products.parquet", "fine") == ["OK", "hallucination", "omission"]
    # The last one also says Oslo for Bergen, which `embedded` overlooks.
    assert column("hotels/hotels.parquet", "fine") == ["OK", "OK", "omission"]
    assert len(column("games/games.parquet", "sentences")[0]) == 2
    assert [len(sentences) for sentences in column("answers/answers.parquet", "sentences")] == [2, 1]
    assert "The museum is open from 10 am to 6 pm." in said[-1]
    assert Path("products.html").exists() and Path("hotels.html").exists()


def test_every_example_of_data_gives_what_the_page_says(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILTIN_BUNDLES, "embedded", BuiltinBundle("tiny", tiny, ""))  # it starts faster
    said = followed((ROOT / "docs" / "data.md").read_text(encoding="utf-8"))
    assert len(said) == 11
    assert "The winner of Hawks at Celtics is Celtics." in said[0] and "The points of Tatum is 31." in said[0]
    assert column("scored/orders.parquet", "note") == [None, "empty_text"]
    tables = {path.stem: pq.read_table(path) for path in Path().glob("*.parquet")}
    assert len(tables) == 13
    for file, table in tables.items():
        assert not find_columns(table.schema, ColumnNames()).rows(table).errors, file
    assert tables["webnlg"]["system"].to_pylist() == ["forge", "melbourne"]
    assert len(tables["webnlg"]["references"][0]) == 2
    assert tables["alpha"]["references"].to_pylist()[0][1] == "The Thai pub is The Lamb."
    assert [tables[name].num_rows for name in ("gamma-with-references", "references")] == [2, 3]
    assert tables["human"]["semantics"].to_pylist() == [2.75, 1.0] and tables["human"]["text"].to_pylist()[1] == ""
