"""Memory of an audit by row, as Python and numpy allocate it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from benchmarks.audit import make
from scorer.audit import AuditOptions, audit

ROWS = 20_000
MOST = 16
"""Bytes for each row of this run and of the baseline together: 8 of the sorted confidences, and room for the added and
removed ones. The tables are DuckDB's, which has a limit of its own."""


@pytest.mark.slow
def test_bytes_for_each_row_more(tmp_path: Path) -> None:
    peaks = []
    for copies in (20, 40):
        first, second = make(tmp_path / str(copies), ROWS, 1, 0.01, copies)
        tracemalloc.start()
        document = audit(second, AuditOptions(baseline=first, by=(("system",),)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        changes = document.baseline_changes
        assert changes is not None
        assert changes.added == changes.removed > 0
        assert changes.added + changes.kept == ROWS * copies
    assert peaks[1] - peaks[0] < MOST * ROWS * 20
