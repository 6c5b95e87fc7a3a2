"""The history under several writers; histories that no audit wrote are refused and left as they are."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from scorer.audit import audit, history
from scorer.audit.document import RATES
from scorer.audit.history import append
from tests.audit.nights import command, night, row
from tests.conftest import ROOT
from tests.docs.test_examples import blocks


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    document = audit(night(tmp_path / "out", [row(system=s) for s in "ab"]))
    nights = [replace(document, finished=f"2026-01-{day:02}T03:00:00+00:00") for day in range(1, 13)]
    file = tmp_path / "history.parquet"
    with ThreadPoolExecutor(6) as pool:
        seen = list(pool.map(lambda one: len(append(file, one)), nights))
    assert sorted(seen) == [3 * n for n in range(1, 13)]
    found = pq.read_table(file)["night"].to_pylist()
    assert found == sorted(found)
    assert len(found) == 36


def test_the_python_of_the_page(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "docs" / "audit.md", "python")
    names: dict[str, object] = {}
    exec(compile(code, "audit.md", "exec"), names)
    nights = [night(tmp_path / name, [row(system="a")]) for name in ("before", "after")]
    shown = names["show"](nights[1], nights[0])  # type: ignore[operator]
    assert shown.document.baseline.rows == 1
    assert "<iframe" in shown._repr_html_()


GOOD: dict[str, Any] = {
    "night": "2025-12-31T03:00:00+00:00",
    "signature": "s",
    "status": "pass",
    "group": "{}",
    "rows": 3,
    "mean_confidence": None,
    **dict.fromkeys(RATES, 0.5),
}
NAN = float("nan")


def refused(out: Path, file: Path) -> str:
    said: str = command("audit", out, "--history", file, code=2).stderr
    assert len(said.strip().splitlines()) == 1
    return said


def written(folder: Path, *rows: dict[str, Any], schema: pa.Schema = history.COLUMNS) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows), schema), folder / "history.parquet")
    return folder / "history.parquet"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return night(tmp_path_factory.mktemp("out") / "out", [row("t")])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": "fine"}, "row 1: status: Invalid enum value 'fine'"),
        ({"group": "[" * 100_000}, "is not a history"),
        ({"empty_rate": NAN}, "row 1: rates[...]: Expected `float` >= 0.0"),
    ],
)
def test_values_that_no_audit_writes(out: Path, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = written(tmp_path, GOOD, {**GOOD, **changes})
    before = file.read_bytes()
    said = refused(out, file)
    assert "is not a history of `scorer audit`" in said
    assert message in said
    assert file.read_bytes() == before


def test_what_is_no_regular_file_of_bounded_size(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert "fifo is a folder, a device or a pipe" in refused(out, fifo)
    file = written(tmp_path, GOOD, GOOD, GOOD)
    monkeypatch.setattr(history, "MOST_ROWS", 2)
    assert "it has 3 rows, more than 2" in refused(out, file)
    monkeypatch.setattr(history, "LARGEST", 10)
    assert "more than the 10 bytes" in refused(out, file)


def test_another_schema_is_one_line(out: Path, tmp_path: Path) -> None:
    for metadata, number in (({b"d2t_scorer.history": b"7"}, "7"), (None, "none")):
        said = refused(out, written(tmp_path, GOOD, schema=history.COLUMNS.with_metadata(metadata)))
        assert f"it has schema {number}, and this version reads schema 1" in said
