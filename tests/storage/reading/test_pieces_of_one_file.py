"""Pieces of one file cost in proportion to their rows: the file is opened once, and only their row groups are looked
at."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.storage.reading import reader
from scorer.storage.reading.source import Source

ROWS = 4


def grouped(path: Path, groups: int) -> Path:
    """A file of so many row groups of :data:`ROWS` rows."""
    pq.write_table(pa.table({"x": range(groups * ROWS)}), path, row_group_size=ROWS)
    return path


def test_the_pieces_of_a_file_open_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, opened = grouped(tmp_path / "a.parquet", 50), []

    class Opened(Source):
        def __init__(self, uri: str) -> None:
            opened.append(uri)
            super().__init__(uri)

    monkeypatch.setattr(reader, "Source", Opened)
    monkeypatch.setattr(reader, "_KEPT", {})
    receive, send = os.pipe()
    drain = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(receive, 1 << 16), b"")])
    drain.start()
    request = {
        "op": "windows",
        "uri": str(path),
        "max_rows": 4,
        "max_bytes": 1 << 20,
        "columns": None,
        "first": 0,
        "first_rows": [],
    }
    for piece in range(50):
        assert reader._answer({**request, "skip": piece * ROWS, "limit": (piece + 1) * ROWS}, send)
    assert len(opened) == 1
    grouped(path, 51)
    assert reader._answer({**request, "skip": 0, "limit": ROWS}, send)
    assert len(opened) == 2  # it was written again
    for source in reader._KEPT.values():
        source.close()
    os.close(send)
    drain.join()
    os.close(receive)
