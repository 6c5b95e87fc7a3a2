"""Every example of docs/data.md, run on the files that the page shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app as scorer_app
from scorer.commands.convert import app
from scorer.metric.inputs import ColumnNames, find_columns

PAGE = Path(__file__).resolve().parents[2] / "docs" / "data.md"
BLOCK = re.compile(r"(?:^`([^`]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all examples of the page have been run in order."""
    folder = tmp_path_factory.mktemp("docs")
    names: dict[str, object] = {}
    ran = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, language, content in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
            if name:
                Path(name).write_text(content, encoding="utf-8")
            elif language == "python":
                exec(content, names)
            elif content.startswith(("scorer run", "scorer plan")):
                result = CliRunner().invoke(scorer_app, shlex.split(content)[1:])
                assert result.exit_code == 0, result.stderr
                if "games" in content:
                    for fact in ("The winner of Hawks at Celtics is Celtics.", "The points of Tatum is 31."):
                        assert fact in result.stdout
            else:
                assert language == "sh"
                for line in content.splitlines():
                    words = shlex.split(line)
                    assert words[:2] == ["scorer", "convert"]
                    result = CliRunner().invoke(app, words[2:])
                    assert result.exit_code == 0, f"{line}: {result.stderr}"
                    assert " 0 malformed lines" in result.stderr
                    ran += 1
    assert ran == 9
    return folder


def test_everything_on_the_page_can_be_read_by_a_run(page: Path) -> None:
    assert pq.read_table(page / "scored" / "orders.parquet")["note"].to_pylist() == [None, "empty_text"]
    files = sorted(page.glob("*.parquet"))
    assert len(files) == 13
    for path in files:
        table = pq.read_table(path)
        rows = find_columns(table.schema, ColumnNames()).rows(table)
        assert not rows.errors, path.name


def test_the_page_says_what_comes_out(page: Path) -> None:
    table = pq.read_table(page / "webnlg.parquet")
    assert table["system"].to_pylist() == ["forge", "melbourne"]
    assert len(table["references"][0]) == 2
    assert pq.read_table(page / "alpha.parquet")["references"].to_pylist()[0][1] == "The Thai pub is The Lamb."
    assert pq.read_table(page / "gamma-with-references.parquet").num_rows == 2
    human = pq.read_table(page / "human.parquet")
    assert human["semantics"].to_pylist() == [2.75, 1.0] and human["text"].to_pylist()[1] == ""
    assert pq.read_table(page / "references.parquet").num_rows == 3
