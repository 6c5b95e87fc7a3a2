"""The history: a row for each run and group, under several writers; files that no audit wrote are left as they are."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from scorer.audit import AuditOptions, audit, history
from scorer.audit.document import RATES
from tests.audit.nights import command, night, of_system, row
from tests.conftest import ROOT
from tests.docs.test_examples import blocks


def test_it_grows_by_a_run_and_a_run_again_replaces_itself(tmp_path: Path) -> None:
    file = tmp_path / "h" / "history.parquet"
    file.parent.mkdir()
    outs = [
        night(tmp_path / str(day), of_system(2, 10 + day, "a"), finished=f"2026-01-0{day}T03:00:00+00:00")
        for day in (1, 2)
    ]
    for out in (*outs, outs[1], outs[0]):
        document = audit(out, AuditOptions(history=file))
    found = pq.read_table(file)
    assert found["night"].to_pylist() == ["2026-01-01T03:00:00+00:00"] * 2 + ["2026-01-02T03:00:00+00:00"] * 2
    assert found["group"].to_pylist() == ["{}", '{"system": "a"}'] * 2
    assert found["not_ok_rate"].to_pylist()[::2] == [2 / 11, 2 / 12]
    assert [line.night for line in document.history] == found["night"].to_pylist()
    assert [path.name for path in file.parent.iterdir()] == ["history.parquet"]


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    document = audit(night(tmp_path / "out", [row(system=s) for s in "ab"]))
    nights = [replace(document, finished=f"2026-01-{day:02}T03:00:00+00:00") for day in range(1, 13)]
    file = tmp_path / "history.parquet"
    with ThreadPoolExecutor(6) as pool:
        seen = list(pool.map(lambda one: len(history.append(file, one)), nights))
    assert sorted(seen) == [3 * n for n in range(1, 13)]
    found = pq.read_table(file)["night"].to_pylist()
    assert found == sorted(found) and len(found) == 36


def test_the_python_of_the_page(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "docs" / "audit.md", "python")
    names: dict[str, Any] = {}
    exec(compile(code, "audit.md", "exec"), names)
    nights = [night(tmp_path / name, [row(system="a")]) for name in ("before", "after")]
    shown = names["show"](nights[1], nights[0])
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": "fine"}, "[1].status: Invalid enum value 'fine'"),
        ({"group": "[" * 100_000}, "is not a history"),
        ({"empty_rate": float("nan")}, "[1].rates[...]: Expected `float` >= 0.0"),
        ({b"d2t_scorer.history": b"7"}, "it has schema 7, and this version reads schema 1"),
        (None, "it has schema none, and this version reads schema 1"),
        ("MOST_ROWS", "it has 2 rows, more than 1"),
        ("LARGEST", "more than the 1 bytes"),
        ("fifo", "fifo is a folder, a device or a pipe"),
    ],
    ids=range(8),
)
def test_what_no_audit_wrote_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: Any, message: str
) -> None:
    file, schema, second = tmp_path / "history.parquet", history.COLUMNS, GOOD
    if changes == "fifo":
        file = tmp_path / "fifo"
        os.mkfifo(file)
    elif isinstance(changes, str):
        monkeypatch.setattr(history, changes, 1)
    elif changes is None or b"d2t_scorer.history" in changes:
        schema = schema.with_metadata(changes)
    else:
        second = GOOD | changes
    if changes != "fifo":
        pq.write_table(pa.Table.from_pylist([GOOD, second], schema), file)
    before = file.read_bytes() if file.is_file() else None
    said = command("audit", night(tmp_path / "out", [row("t")]), "--history", file, code=2).stderr
    assert message in said and len(said.strip().splitlines()) == 1
    assert before is None or file.read_bytes() == before
