"""Rows are named by their shard, whether its output is a file or a folder of pieces."""

from __future__ import annotations

from scorer.scoring.partitions import partition_keys
from scorer.scoring.places import Places
from scorer.storage import InputRecord
from scorer.storage.pieces import Piece, piece_name


def places(pieces: list[int], *, without: int | None = None) -> Places:
    """``a`` in pieces of so many rows, or whole for one; then ``b`` with 3 rows. ``without``: a piece left out."""
    records = {"a": InputRecord("/a", None)}
    if len(pieces) > 1:
        found = [Piece(sum(pieces[:i]), rows) for i, rows in enumerate(pieces)]
        records = {piece_name("a", i): InputRecord("/a", None, piece=piece) for i, piece in enumerate(found)}
    rows = dict(zip(records, pieces, strict=True)) | {"b": 3}
    if without is not None:
        del rows[piece_name("a", without)]
    return Places.of(list(rows), list(rows.values()), records)


def test_both_forms_locate_and_find_the_same_rows() -> None:
    whole, divided = places([10]), places([4, 4, 2])
    located = [whole.locate(row) for row in range(13)]
    assert located == [("a", row) for row in range(10)] + [("b", row) for row in range(3)]
    assert [divided.locate(row) for row in range(13)] == located
    for found in (whole, divided):
        assert [found.find(*place) for place in located] == list(range(13))
        assert [found.find(*place) for place in (("a", 10), ("a", -1), ("b", 3), ("c", 0))] == [None] * 4
    assert [divided.find(piece_name("a", 1), row) for row in (0, 3, 4)] == [4, 7, None]


def test_a_missing_piece_moves_no_names() -> None:
    found = places([4, 4, 2], without=1)
    assert [found.locate(row) for row in range(9)] == [("a", row) for row in (0, 1, 2, 3, 8, 9)] + [
        ("b", row) for row in range(3)
    ]
    assert [found.find("a", row) for row in (3, 4, 7, 8)] == [3, None, None, 4]


def test_the_folder_of_a_shard_in_pieces_is_no_partition_key() -> None:
    found = partition_keys(piece_name("country=DE/lang=de.parquet", 3))
    assert found == partition_keys("country=DE/lang=de.parquet") == {"country": "DE"}
