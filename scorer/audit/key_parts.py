"""The row keys of outputs, a part of all keys at a time.

Sixteen bytes for each row of two runs would be most of an audit's memory, so the keys are not kept by the scan. They
are read again, once for every :data:`ROWS_HELD` rows. Rows with one key are always in the same part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import InputError
from ..metric.inputs import one_array
from ..scoring.outputs import Output

ROWS_HELD = 1 << 22
"""Rows whose keys are in memory at a time, of all outputs together: 24 bytes each."""
ROWS_OF_PART = 1 << 19
"""Rows of a part, of all outputs together."""
_MOST_BITS = 16
_MIXER = np.uint64(0x9E3779B97F4A7C15)
_NO_KEYS = np.empty((0, 2), np.uint64)

Keys = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
_Pieces = list[tuple[Ints, Keys]]


@dataclass(frozen=True)
class Keyed:
    """Rows of an output with their keys. ``rows``: int64, *Shape:* (n,), rising numbers in the whole output.
    ``keys``: uint64, *Shape:* (n, 2)."""

    rows: Ints
    keys: Keys


def key_parts(
    outputs: Sequence[Output], rows_of_part: int = ROWS_OF_PART, rows_held: int = ROWS_HELD
) -> Iterator[tuple[Keyed, ...]]:
    """All rows of outputs, those with equal keys together: for each part, the rows of each output that are in it.

    A part is chosen by the bits of the keys, which are digests. Keys that are not spread evenly make uneven parts.

    Raises:
        InputError: a file cannot be read, or has other rows than its receipt says.
    """
    rows = sum(map(len, outputs))
    bits = min(_MOST_BITS, (max(rows - 1, 0) // rows_of_part).bit_length())
    at_once = max(1, rows_held // rows_of_part)
    for first in range(0, 1 << bits, at_once):
        end = min(first + at_once, 1 << bits)
        sides = [_gather(output, bits, first, end) for output in outputs]
        for number in range(end - first):
            yield tuple(_joined(side, number) for side in sides)


def row_keys(column: pa.Array) -> Keys:
    """Row keys as two numbers each. fixed_size_binary(16), *Shape:* (rows,) → uint64, (rows, 2)."""
    data = column.buffers()[1]
    start = column.offset * 16
    return np.frombuffer(data, np.uint64, 2 * len(column), start).reshape(-1, 2) if len(column) else _NO_KEYS


def _gather(output: Output, bits: int, first: int, end: int) -> list[_Pieces]:
    """The rows of the parts from ``first`` to ``end``, in pieces of one window each."""
    found: list[_Pieces] = [[] for _ in range(first, end)]
    name = output.columns.prefix + "row_key"
    seen = 0
    for window in output.windows([name]):
        keys = row_keys(one_array(window.table, name))
        parts = _part(keys, bits)
        order = np.argsort(parts, kind="stable")  # 16-bit numbers sort by radix, in linear time
        bounds = np.searchsorted(parts[order], np.arange(first, end + 1))
        for number in np.flatnonzero(np.diff(bounds)).tolist():
            here = order[bounds[number] : bounds[number + 1]]
            found[number].append((here + window.first, keys[here]))
        seen += len(keys)
    if seen != len(output):
        raise InputError(f"{output.path}: {seen:,} rows were read of {len(output):,}")
    return found


def _part(keys: Keys, bits: int) -> npt.NDArray[np.uint16]:
    """The part of each key: the highest bits of a product of both halves, so that keys which count up spread too."""
    if not bits:
        return np.zeros(len(keys), np.uint16)
    mixed = (keys[:, 0] ^ (keys[:, 1] * _MIXER)) * _MIXER
    return (mixed >> np.uint64(64 - bits)).astype(np.uint16)


def _joined(side: list[_Pieces], number: int) -> Keyed:
    pieces = side[number]
    side[number] = []
    if not pieces:
        return Keyed(np.empty(0, np.int64), _NO_KEYS)
    return Keyed(np.concatenate([rows for rows, _ in pieces]), np.concatenate([keys for _, keys in pieces]))
