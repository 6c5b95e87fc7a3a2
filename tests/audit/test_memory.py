"""Memory of an audit by row, as Python and numpy allocate it."""

from __future__ import annotations

import importlib
import tracemalloc
from functools import partial
from pathlib import Path

import pytest

from benchmarks.audit import make
from scorer.audit import AuditOptions, audit
from scorer.audit.key_parts import key_parts

ROWS = 20_000
MOST = 36
"""Bytes for each row of this run and of the baseline together: 16 kept by the two scans, 4 of the join, 8 of the sorted
confidences, and room for one more copy of these."""


@pytest.mark.slow
def test_bytes_for_each_row_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = partial(key_parts, rows_of_part=1 << 15, rows_held=1 << 17)  # full at both sizes
    monkeypatch.setattr(importlib.import_module("scorer.audit.join"), "key_parts", small)
    peaks = []
    for copies in (20, 40):
        first, second = make(tmp_path / str(copies), ROWS, 1, 0.01, copies)
        tracemalloc.start()
        document = audit(second, AuditOptions(baseline=first, by=(("system",),)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        changes = document["baseline_changes"]
        assert changes is not None
        assert changes["added"] == changes["removed"] > 0
        assert changes["added"] + changes["kept"] == ROWS * copies
    assert peaks[1] - peaks[0] < MOST * ROWS * 20
