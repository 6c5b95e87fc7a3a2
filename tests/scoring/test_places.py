"""Rows are named by their shard, whether its output is a file or a folder of pieces."""

from __future__ import annotations

from scorer.scoring.partitions import partition_keys
from scorer.scoring.places import Places
from scorer.storage import InputRecord
from scorer.storage.pieces import Piece, piece_name


def test_rows_are_named_by_their_shard_also_where_a_piece_is_missing() -> None:
    pieces = {piece_name("a", 0): Piece(0, 4), piece_name("a", 2): Piece(8, 2)}
    records = {name: InputRecord("/a", None, piece=piece) for name, piece in pieces.items()}
    found = Places.of([*pieces, "b"], [4, 2, 3], records)
    named = [("a", row) for row in (0, 1, 2, 3, 8, 9)] + [("b", row) for row in range(3)]
    assert [found.locate(row) for row in range(9)] == named
    assert [found.find(*place) for place in named] == list(range(9))
    wrong = (("a", 4), ("a", 7), ("a", 10), ("a", -1), ("b", 3), ("c", 0))
    assert [found.find(*place) for place in wrong] == [None] * 6
    assert [found.find(piece_name("a", 2), row) for row in (0, 1, 2)] == [4, 5, None]


def test_the_folder_of_a_shard_in_pieces_is_no_partition_key() -> None:
    found = partition_keys(piece_name("country=DE/lang=de.parquet", 3))
    assert found == partition_keys("country=DE/lang=de.parquet") == {"country": "DE"}
