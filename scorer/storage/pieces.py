"""Pieces of a shard (``--split-rows``): consecutive row groups of one input, with an output file of their own.

The output of a shard in pieces is a folder that has the shard's name; its files in order have the rows of the input.
Each piece has a receipt, like a shard that is not divided.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..system.codec import Count, Record

MOST_PIECES = 100_000
"""Of one shard; their names have five digits."""


class Piece(Record, frozen=True):
    """Some of the rows of an input. ``first``: number of the first; ``rows``: how many."""

    first: Count
    rows: Count


def cut_pieces(groups: Sequence[int], most: int) -> list[Piece]:
    """Divide row groups into pieces of at most ``most`` rows; a row group that has more is a piece by itself.

    Args:
        groups: rows of each row group.

    Returns no pieces for a file that is one piece.
    """
    found: list[Piece] = []
    first = rows = 0
    for count in groups:
        if rows and rows + count > most:
            found.append(Piece(first, rows))
            first, rows = first + rows, 0
        rows += count
    if rows:
        found.append(Piece(first, rows))
    return found if len(found) > 1 else []


def piece_name(relative: str, number: int) -> str:
    """Relative path of the output of a piece. ``number``: from 0."""
    return f"{relative}/part-{number:05d}.parquet"


def shard_of(relative: str) -> str:
    """Relative path of the shard that an output belongs to, if it is that of a piece."""
    return relative.rpartition("/")[0]
