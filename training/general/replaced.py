"""Pairs without a label: words of training pairs exchanged for words near them, for a teacher to judge.

After Jiao et al. (TinyBERT, Findings of EMNLP 2020, section 3.2), with nearness taken from the network's word table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - what everybody calls it

from training.batches import Batch
from training.general.nli import UNLABELLED
from training.general.vocabulary import SPECIAL

NEAR = 12
UNCHANGED, ALIKE = 0.5, 0.25
"""Shares of pairs that stay as they are, and in which a word is exchanged wherever it stands, on both sides."""
LEAST, MOST = 0.02, 0.3
"""Shares of a pair's words that are exchanged."""


def near_pieces(words: Tensor, pieces: list[str]) -> npt.NDArray[np.int64]:
    """The nearest pieces of each by cosine, among those of its kind: numbers, words, ends of words. Special tokens and
    signs have none but themselves. *Shape:* (pieces, NEAR)."""
    kinds = np.array([_kind(piece) for piece in pieces])
    near = np.repeat(np.arange(len(pieces))[:, None], NEAR, 1)
    unit = F.normalize(words.detach().float(), dim=1)
    for kind in range(1, 4):
        of_kind = torch.from_numpy(np.flatnonzero(kinds == kind))
        if len(of_kind) <= NEAR:
            continue
        for some in of_kind.split(1024):
            likeness = unit[some] @ unit[of_kind].T
            likeness[some[:, None] == of_kind] = -1.0
            near[some.numpy()] = of_kind[likeness.topk(NEAR).indices].numpy()
    return near


def _kind(piece: str) -> int:
    plain = piece.removeprefix("##")
    if piece in SPECIAL or not plain.isalnum():
        return 0
    return 1 if plain.isdigit() else 2 if plain == piece else 3


class Replacer:
    """Exchanges words in batches. ``near``: of :func:`near_pieces`."""

    def __init__(self, near: npt.NDArray[np.int64]) -> None:
        self._near = near

    def __call__(self, batch: Batch, seed: int) -> Batch:
        """The batch with about half of its pairs changed; those have no label any more."""
        rng = np.random.default_rng(seed)
        ids = batch.ids.numpy()
        n, length = ids.shape
        sort = rng.random((n, 1))
        # A random number for each token: the same one for the same word of a pair, or one for each place.
        table = rng.random((n, 4096), dtype=np.float32)
        at = np.where(sort < UNCHANGED + ALIKE, ids * 40503 % 4096, np.arange(length))
        number = np.take_along_axis(table, at, 1)
        rate = rng.uniform(LEAST, MOST, (n, 1)) * (sort >= UNCHANGED)
        which = (number * 65536).astype(np.int64) % NEAR
        changed = np.where(number < rate, self._near[ids, which], ids)
        label = np.where((changed != ids).any(1), UNLABELLED, batch.label.numpy())
        return replace(batch, ids=torch.from_numpy(changed), label=torch.from_numpy(label))
