"""Every example of docs/data.md, run on the files that the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.inference.shipped import SHIPPED, Shipped
from scorer.metric.inputs import ColumnNames, find_columns

PAGE = Path(__file__).resolve().parents[2] / "docs" / "data.md"
BLOCK = re.compile(r"(?:^`([^`]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_example_of_the_page_runs_and_gives_what_the_page_says(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SHIPPED, "embedded", Shipped("tiny", tiny, ""))  # it starts faster
    names: dict[str, object] = {}
    said: list[str] = []
    for name, language, content in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if name:
            Path(name).write_text(content, encoding="utf-8")
        elif language == "python":
            exec(content, names)
        else:
            assert language == "sh"
            for line in content.splitlines():
                words = shlex.split(line)
                assert words[0] == "scorer"
                result = CliRunner().invoke(app, words[1:])
                assert result.exit_code == 0, f"{line}: {result.stderr}"
                assert words[1] != "convert" or " 0 malformed lines" in result.stderr
                said.append(result.stdout)
    assert len(said) == 11
    assert "The winner of Hawks at Celtics is Celtics." in said[0] and "The points of Tatum is 31." in said[0]
    assert pq.read_table("scored/orders.parquet")["note"].to_pylist() == [None, "empty_text"]
    tables = {path.stem: pq.read_table(path) for path in tmp_path.glob("*.parquet")}
    assert len(tables) == 13
    for file, table in tables.items():
        assert not find_columns(table.schema, ColumnNames()).rows(table).errors, file
    assert tables["webnlg"]["system"].to_pylist() == ["forge", "melbourne"]
    assert len(tables["webnlg"]["references"][0]) == 2
    assert tables["alpha"]["references"].to_pylist()[0][1] == "The Thai pub is The Lamb."
    assert [tables[name].num_rows for name in ("gamma-with-references", "references")] == [2, 3]
    assert tables["human"]["semantics"].to_pylist() == [2.75, 1.0] and tables["human"]["text"].to_pylist()[1] == ""
