"""Token ids → padded batches of similar lengths."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

Row = tuple[list[int], int]
"""Token ids with the special ones, and the place where the second text begins (the end, if there is none)."""
Labelled = tuple[list[int], int, int]
"""The same with a label."""


@dataclass(frozen=True)
class Batch:
    """*Shapes:* ids, segments (n, length) int64; label (n,) int64."""

    ids: Tensor
    segments: Tensor
    label: Tensor

    def to(self, device: str) -> Batch:
        """The batch on a device."""
        return Batch(self.ids.to(device), self.segments.to(device), self.label.to(device))


def padded(rows: Sequence[Row], length: int, pad: int) -> tuple[Tensor, Tensor]:
    """Ids and segments. *Shape:* (rows, length) int64 each."""
    ids = np.full((len(rows), length), pad, np.int64)
    segments = np.zeros((len(rows), length), np.int64)
    for i, (row, second) in enumerate(rows):
        ids[i, : len(row)] = row
        segments[i, second : len(row)] = 1
    return torch.from_numpy(ids), torch.from_numpy(segments)


def batched(rows: Iterable[Labelled], size: Callable[[int], int], pad: int, rng: random.Random) -> list[Batch]:
    """The rows sorted by length, cut into batches, shuffled.

    Args:
        size: rows of a batch by its length in tokens, a multiple of 8; at least one is taken.
    """
    ordered = sorted(rows, key=lambda row: (len(row[0]), rng.random()))
    made, end = [], len(ordered)
    while end > 0:  # from the longest down, so that a batch's length is known before its count
        length = -(-len(ordered[end - 1][0]) // 8) * 8
        chosen = ordered[end - min(end, max(1, size(length))) : end]
        label = torch.tensor([label for _, _, label in chosen])
        made.append(Batch(*padded([(ids, second) for ids, second, _ in chosen], length, pad), label))
        end -= len(chosen)
    rng.shuffle(made)
    return made
