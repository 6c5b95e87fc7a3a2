"""Where a row of an output lies: its shard, and its number in that shard.

The output of a shard is one file, or a folder of pieces (``--split-rows``). Rows are named by the shard in both cases,
so that what refers to a row of one form (a label file, a report) is understood with the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..storage import InputRecord
from ..storage.pieces import shard_of
from .plan import Plan

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Places:
    """The files of an output in order. ``files``: relative paths. ``starts``: int64, *Shape:* (files + 1,), number of
    each file's first row in the whole output. ``shards``: the shard of each file; ``firsts``: int64, *Shape:* (files,),
    number of its first row in that shard."""

    files: Sequence[str]
    starts: Ints
    shards: Sequence[str]
    firsts: Ints

    @classmethod
    def of(cls, files: Sequence[str], rows: Sequence[int], inputs: Mapping[str, InputRecord]) -> Places:
        """From the files with their rows, and the inputs of the plan, which know the pieces."""
        starts = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)]).astype(np.int64)
        found = [shard_place(name, inputs) for name in files]
        return cls(files, starts, [shard for shard, _ in found], np.array([first for _, first in found], np.int64))

    def locate(self, row: int) -> tuple[str, int]:
        """Shard and number in it, of a row of the whole."""
        number = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.shards[number], int(self.firsts[number]) + row - int(self.starts[number])

    def find(self, name: str, row: int) -> int | None:
        """The number in the whole of a row of a shard, or of a file; ``None`` where there is no such row."""
        for number in range(len(self.files)):
            rows = int(self.starts[number + 1] - self.starts[number])
            if name == self.shards[number] and 0 <= row - self.firsts[number] < rows:
                return int(self.starts[number] + row - self.firsts[number])
            if name == self.files[number] and 0 <= row < rows:
                return int(self.starts[number]) + row
        return None


def shard_place(relative: str, inputs: Mapping[str, InputRecord]) -> tuple[str, int]:
    """The shard that an output file belongs to, and the number of its first row there."""
    record = inputs.get(relative)
    if record is None or record.piece is None:
        return relative, 0
    return shard_of(relative), record.piece.first


def file_of(out: Path, name: str, row: int) -> tuple[str, int]:
    """The output file that holds a row of a shard, as (relative path, number in it). Only names of shards in pieces
    change.

    Raises:
        InputError: a shard in pieces has no such row.
    """
    plan = Plan.load(out)
    rows = 0
    for relative, record in plan.inputs.items() if plan is not None else ():
        if record.piece is None or shard_of(relative) != name:
            continue
        if 0 <= row - record.piece.first < record.piece.rows:
            return relative, row - record.piece.first
        rows = max(rows, record.piece.first + record.piece.rows)
    if rows:
        raise InputError(f"{out / name} has {rows} rows, counted from 0; there is no row {row}")
    return name, row
