"""Histories that no audit wrote: refused with the row and the value, left as they are, and never waited for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.audit import history
from scorer.audit.document import RATES
from tests.audit.nights import command, night, row

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


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return night(tmp_path_factory.mktemp("out") / "out", [row("t")])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": "fine"}, "row 1: status: Invalid enum value 'fine'"),
        ({"group": "[]"}, "row 1: group: Expected `object`, got `array`"),
        ({"group": "[" * 100_000}, "is not a history"),
        ({"rows": -1}, "row 1: rows: Expected `int` >= 0"),
        ({"empty_rate": NAN}, "row 1: rates.empty_rate: Expected `float` >= 0.0"),
    ],
)
def test_values_that_no_audit_writes(out: Path, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = tmp_path / "history.parquet"
    pq.write_table(pa.Table.from_pylist([GOOD, {**GOOD, **changes}], history.COLUMNS), file)
    before = file.read_bytes()
    said = refused(out, file)
    assert "is not a history of `scorer audit`" in said
    assert message in said
    assert file.read_bytes() == before


def test_what_is_no_regular_file_of_bounded_size(out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert "fifo is a device or a pipe, but this file is also read" in refused(out, fifo)
    file = tmp_path / "history.parquet"
    pq.write_table(pa.Table.from_pylist([GOOD] * 3, history.COLUMNS), file)
    monkeypatch.setattr(history, "MOST_ROWS", 2)
    assert "it has 3 rows, more than 2" in refused(out, file)
    monkeypatch.setattr(history, "LARGEST", 10)
    assert "more than the 10 bytes" in refused(out, file)


def test_another_schema_is_one_line(out: Path, tmp_path: Path) -> None:
    file = tmp_path / "history.parquet"
    for metadata in ({b"d2t_scorer.history": b"7"}, None):
        pq.write_table(pa.Table.from_pylist([GOOD], history.COLUMNS).replace_schema_metadata(metadata), file)
        said = refused(out, file)
        assert f"it has schema {'7' if metadata else 'none'}, and this version reads schema 1" in said
