"""Which rows are a piece: whole row groups, as many as fit; reading them costs in proportion to their rows."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.storage.pieces import cut_pieces
from scorer.storage.reading import reader as readers
from scorer.storage.reading.source import Source


@pytest.mark.parametrize(
    ("groups", "most", "rows"),
    [
        ([10, 10, 10, 10], 20, [20, 20]),
        ([10, 10, 10, 10], 40, []),  # one piece is no division
        ([10, 10, 10, 10], 1, [10, 10, 10, 10]),  # a row group is never divided
        ([50, 5, 5, 50], 20, [50, 10, 50]),
        ([0, 10, 0, 0, 10, 0], 10, [10, 10]),
        ([0, 0], 1, []),
    ],
)
def test_row_groups_are_put_together_up_to_the_limit(groups: list[int], most: int, rows: list[int]) -> None:
    found = cut_pieces(groups, most)
    assert [piece.rows for piece in found] == rows
    assert [piece.first for piece in found] == [sum(rows[:i]) for i in range(len(rows))]


def test_the_pieces_of_a_file_open_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Mock(wraps=Source)
    monkeypatch.setattr(readers, "Source", opened)
    monkeypatch.setattr(readers, "_KEPT", {})
    send = os.open(os.devnull, os.O_WRONLY)
    uri = str(tmp_path / "a.parquet")
    fixed = {"op": "windows", "uri": uri, "max_rows": 4, "max_bytes": 1 << 20, "columns": None, "first": 0}
    for groups, opens in ((50, 1), (51, 2)):  # it was written again
        pq.write_table(pa.table({"x": range(groups * 4)}), uri, row_group_size=4)
        for piece in range(50):
            assert readers._answer({**fixed, "first_rows": [], "skip": piece * 4, "limit": (piece + 1) * 4}, send)
        assert opened.call_count == opens
    for source in readers._KEPT.values():
        source.close()
    os.close(send)
