"""A window of pairs on its way through an engine: what goes in, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..status import SCORED
from .batches import Batch, Pairs
from .schemes import THRESHOLD
from .texts import Tokens


@dataclass
class Work:
    """A prepared window: what :meth:`Engine.run` needs and nothing more."""

    pairs: Pairs
    first: Tokens
    second: Tokens
    status: npt.NDArray[np.int8]
    truncated: npt.NDArray[np.bool_]
    batches: list[Batch]
    lengths: npt.NDArray[np.int64]
    recomputed: int = 0
    """Pairs that ran in fp32 in addition to their variant, known once the window has run."""
    computed_tokens: int = 0
    """Tokens of the batches that the device has computed so far, padding included."""

    @property
    def share(self) -> float:
        """How much of the window is computed, from 0 to 1, by tokens: long pairs take longer."""
        return min(1.0, self.computed_tokens / max(self.padded_tokens, 1))

    @property
    def real_tokens(self) -> int:
        """Tokens of the pairs to compute, special tokens included, padding not."""
        return int(self.lengths[self.status == SCORED].sum())

    @property
    def padded_tokens(self) -> int:
        """Tokens the device computes in the batches of this window, padding included."""
        return sum(batch.tokens for batch in self.batches)

    @property
    def squared_lengths(self) -> int:
        """Sum of the squared lengths of the pairs to compute, for the work of attention."""
        return int((self.lengths[self.status == SCORED] ** 2).sum())


@dataclass(frozen=True)
class Answers:
    """What the model said of every asked pair.

    ``probabilities``: float32, *Shape:* (asked, 3), contradiction, neutral, entailment; NaN without an answer, and
    where the model has no such class. ``status``: int8, *Shape:* (asked,), of :mod:`scorer.status`. ``truncated``:
    bool, *Shape:* (asked,). ``threshold``: the least P(entailment) that passes, of a model that has no other classes.
    """

    probabilities: npt.NDArray[np.float32]
    status: npt.NDArray[np.int8]
    truncated: npt.NDArray[np.bool_]
    threshold: float = THRESHOLD
