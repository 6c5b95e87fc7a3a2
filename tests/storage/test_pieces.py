"""Which rows are a piece: whole row groups, as many as fit."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.storage import ShardReader
from scorer.storage.pieces import Piece, cut_pieces, piece_name, shard_of


@pytest.mark.parametrize(
    ("groups", "most", "rows"),
    [
        ([10, 10, 10, 10], 20, [20, 20]),
        ([10, 10, 10, 10], 29, [20, 20]),
        ([10, 10, 10, 10], 30, [30, 10]),
        ([10, 10, 10, 10], 40, []),  # one piece is no division
        ([10, 10, 10, 10], 1, [10, 10, 10, 10]),  # a row group is never divided
        ([50, 5, 5, 50], 20, [50, 10, 50]),
        ([0, 10, 0, 0, 10, 0], 10, [10, 10]),
        ([0, 0], 1, []),
        ([], 1, []),
        ([3], 1, []),
    ],
)
def test_row_groups_are_put_together_up_to_the_limit(groups: list[int], most: int, rows: list[int]) -> None:
    found = cut_pieces(groups, most)
    assert [piece.rows for piece in found] == rows
    assert [piece.first for piece in found] == [sum(rows[:i]) for i in range(len(rows))]


def test_the_names_of_pieces_sort_as_their_rows() -> None:
    names = [piece_name("deep/a.parquet", number) for number in (0, 9, 10, 99_999)]
    assert names == sorted(names) and names[0] == "deep/a.parquet/part-00000.parquet"
    assert {shard_of(name) for name in names} == {"deep/a.parquet"}


def test_a_reader_tells_the_pieces_and_reads_one(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": range(1000)}), path, row_group_size=70)
    with ShardReader(split_rows=300) as reader:
        info = reader.probe(str(path))
        assert info.pieces == (Piece(0, 280), Piece(280, 280), Piece(560, 280), Piece(840, 160))
        for piece in info.pieces:
            for limit in (piece.rows, 33):
                windows = list(
                    reader.windows(str(path), max_rows=64, max_bytes=1 << 20, first=piece.first, limit=limit)
                )
                assert [len(window) for window in windows[:-1]] == [64] * (len(windows) - 1)
                numbers = pa.concat_tables(windows)["n"].to_pylist()
                assert numbers == list(range(piece.first, piece.first + limit))
    with ShardReader(split_rows=1000) as reader:
        assert reader.probe(str(path)).pieces == ()
    (tmp_path / "a.csv").write_text("n\n" + "1\n" * 20)
    with ShardReader(split_rows=5) as reader:
        assert reader.probe(str(tmp_path / "a.csv")).pieces == ()
