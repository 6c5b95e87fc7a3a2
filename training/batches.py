"""Token ids → padded batches of similar lengths, and pools of them made ahead."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

EncodedText = tuple[list[int], int]
"""Token ids with the special ones, and the place where the second text begins (the end, if there is none)."""
Labelled = tuple[list[int], int, int]
"""The same with a label."""
Arrays = tuple[npt.NDArray[np.int64], ...]
"""Those of a batch."""


@dataclass(frozen=True)
class TrainingBatch:
    """*Shapes:* ids, segments (n, length) int64; label (n,) int64."""

    ids: Tensor
    segments: Tensor
    label: Tensor

    def to(self, device: str) -> TrainingBatch:
        """The batch on a device."""
        return TrainingBatch(self.ids.to(device), self.segments.to(device), self.label.to(device))


def padded(rows: Sequence[EncodedText], length: int, pad: int) -> tuple[Tensor, Tensor]:
    """Ids and segments. *Shape:* (rows, length) int64 each."""
    ids = np.full((len(rows), length), pad, np.int64)
    segments = np.zeros((len(rows), length), np.int64)
    for i, (row, second) in enumerate(rows):
        ids[i, : len(row)] = row
        segments[i, second : len(row)] = 1
    return torch.from_numpy(ids), torch.from_numpy(segments)


def batched(rows: Iterable[Labelled], size: Callable[[int], int], pad: int, rng: random.Random) -> list[TrainingBatch]:
    """The rows sorted by length, cut into batches, shuffled.

    Args:
        size: rows of a batch by its length in tokens, a multiple of 8; at least one is taken.
    """
    ordered = sorted(rows, key=lambda row: (len(row[0]), rng.random()))
    batches, end = [], len(ordered)
    while end > 0:  # from the longest down, so that a batch's length is known before its count
        length = -(-len(ordered[end - 1][0]) // 8) * 8
        chosen = ordered[end - min(end, max(1, size(length))) : end]
        label = torch.tensor([label for _, _, label in chosen])
        batches.append(TrainingBatch(*padded([(ids, second) for ids, second, _ in chosen], length, pad), label))
        end -= len(chosen)
    rng.shuffle(batches)
    return batches


class _Pools(Dataset[list[Arrays]]):
    """Pool N, for ever. Arrays, since a tensor would travel as an open file, of which a process has few."""

    def __init__(self, made: Callable[[int], list[TrainingBatch]]) -> None:
        self._made = made

    def __len__(self) -> int:
        return sys.maxsize

    def __getitem__(self, number: int) -> list[Arrays]:
        return [(batch.ids.numpy(), batch.segments.numpy(), batch.label.numpy()) for batch in self._made(number)]


def pools(made: Callable[[int], list[TrainingBatch]], makers: int) -> Iterator[list[TrainingBatch]]:
    """Pools 0, 1, 2 ... in order, by so many processes, each one pool ahead; with 0 as they are asked for.

    The processes are forked here, with the data as it is now, so it must be before a device is in use.
    """
    loader = DataLoader(
        _Pools(made), batch_size=None, num_workers=makers, collate_fn=list, prefetch_factor=1 if makers else None,
        multiprocessing_context="fork" if makers else None,
    )  # fmt: skip
    loaded = iter(loader)
    return ([TrainingBatch(*map(torch.from_numpy, arrays)) for arrays in pool] for pool in loaded)
