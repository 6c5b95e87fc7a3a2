"""``scorer show``: which rows, in which form, and that a condition sees nothing but them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.audit.nights import night, row
from tests.run.calls import scorer


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine rows in two shards: every third is an omission, the last one an error."""
    facts = [[("food", 0.1 + i / 100 if i % 3 == 0 else 0.9)] for i in range(9)]
    rows = [row(f"text, {i}", facts[i], system="ab"[i % 2], id=f"r{i}", price=str(i)) for i in range(9)]
    rows[8]["error"] = "too_long:omission"
    return night(tmp_path_factory.mktemp("show") / "out", rows, shards=2)


def lines(*arguments: object) -> list[dict[str, object]]:
    return [json.loads(line) for line in scorer("show", *arguments, "--jsonl").stdout.splitlines()]


def test_rows_are_filtered_sorted_and_named(out: Path) -> None:
    assert len(lines(out)) == 9
    found = lines(out, "--not-ok")
    places = ("part-0.parquet:0", "part-0.parquet:3", "part-1.parquet:1", "part-1.parquet:3")
    assert tuple(one["row"] for one in found) == places
    assert [one["id"] for one in lines(out, "--label", "omission", "--sort", "-confidence")] == ["r6", "r3", "r0"]
    assert [one["id"] for one in lines(out, "--where", "system = 'b' AND confidence < 0.5")] == ["r3"]
    assert lines(out, "--columns", "id,fine", "--limit", "1") == [{"id": "r0", "fine": "omission"}]
    assert len(str(found[0]["row_key"])) == 32


def test_the_table_and_csv(out: Path) -> None:
    shown = scorer("show", out, "--not-ok", "--sort", "confidence").stdout.splitlines()
    assert shown[0].split() == ["row", "id", "system", "fine", "confidence", "error", "note", "text"]
    assert shown[1].startswith("part-0.parquet:0") and len(shown) == 5
    rows = list(csv.reader(io.StringIO(scorer("show", out, "--csv", "--columns", "row,text,omitted").stdout)))
    assert rows[:2] == [["row", "text", "omitted"], ["part-0.parquet:0", "text, 0", "[0]"]] and len(rows) == 10
    assert "no row" in scorer("show", out, "--where", "false").stderr
    assert scorer("show", out / "part-1.parquet", "--limit", "1").stdout.splitlines()[1].startswith("part-1.parquet:0")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--where", "x y"], "Parser Error"),
        (["--where", "(SELECT count(*) FROM read_csv('/etc/passwd')) > 0"], "file system operations are disabled"),
        (["--where", "1 = 1) UNION (SELECT 1"], "Parser Error"),
        (["--where", "price > 3"], "write CAST(column AS DOUBLE)"),
        (["--label", "wrong"], "'wrong' is not one of OK, omission"),
        (["--columns", "nothing"], "no column 'nothing'; the columns are row, "),
        (["--sort", "nothing"], "no column 'nothing'"),
        (["--csv", "--jsonl"], "use one of them"),
    ],
)
def test_what_is_refused(out: Path, options: list[str], message: str) -> None:
    assert message in scorer("show", out, *options, code=2).stderr
