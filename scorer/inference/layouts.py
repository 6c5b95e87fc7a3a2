"""How the pairs of a window lie in the calls of the model.

A layout decides which pairs share a call and how the call's inputs are put together. Whatever it decides depends on the
lengths of the pairs and on its own settings alone, so that the same plan gives the same calls.

:class:`Padded`: pairs of one padded length, a row each (fp32, fp16). :class:`ByItself`: each pair at its exact length,
for graphs that take the pairs of a call one after the other (int8 on a CPU). :class:`scorer.inference.packed.Packed`:
pairs laid end to end, a fixed number of tokens and of pairs a call (fp16 on a GPU).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .batches import Batch, Grid, assemble, assemble_few, pack, segment_ids
from .bundle import PairLayout
from .work import Work

Ints = npt.NDArray[np.int64]
Feed = dict[str, npt.NDArray[Any]]
"""What a call of the model takes: its inputs by name."""

PAIRS_A_CALL, TOKENS_A_CALL = 8, 1024
"""At most, of a graph that takes pairs one after the other. Weights come from memory once for so many pairs. Long pairs
gain little by company, and an interrupted run ends when its calls do."""


class Layout(Protocol):
    """What an engine asks. ``lengths``: int64, *Shape:* (pairs,), tokens of every pair of a window; ``chosen``: int64,
    *Shape:* (n,), positions of the pairs to compute, in which one may occur more than once."""

    def pack(self, lengths: Ints, chosen: Ints) -> list[Batch]:
        """Batches that cover the chosen pairs, longest first."""

    def full(self, lengths: Ints, chosen: Ints) -> Batch:
        """A batch as full as they get, of the chosen pairs over and over: of the first where a call takes fewer, and of
        those alone that share calls with the first."""

    def assemble(self, batch: Batch, work: Work) -> Feed:
        """The inputs of a batch's call."""

    def smaller(self, batch: Batch, lengths: Ints) -> list[Batch]:
        """Batches with fewer tokens for the same pairs; empty where there is no smaller one."""


@dataclass(frozen=True)
class Padded:
    """Rows of one padded length (:mod:`.batches`)."""

    grid: Grid
    pair: PairLayout

    def pack(self, lengths: Ints, chosen: Ints) -> list[Batch]:
        return pack(lengths, chosen, self.grid)

    def full(self, lengths: Ints, chosen: Ints) -> Batch:
        length = int(self.grid.padded(lengths[chosen]).max())
        return Batch(np.resize(chosen, max(len(chosen), self.grid.token_budget // length)), length)

    def assemble(self, batch: Batch, work: Work) -> Feed:
        return _rows(batch, work, self.pair)

    def smaller(self, batch: Batch, lengths: Ints) -> list[Batch]:
        n = len(batch.pairs)
        if n == 1:
            return []
        return [Batch(half, batch.sequence_length) for half in (batch.pairs[: n // 2], batch.pairs[n // 2 :])]


@dataclass(frozen=True)
class ByItself:
    """Calls of a few pairs, each computed at its exact length, for ``threads`` calls side by side."""

    pair: PairLayout
    threads: int
    pairs_a_call: int

    def pack(self, lengths: Ints, chosen: Ints) -> list[Batch]:
        if not len(chosen):
            return []
        order = chosen[np.argsort(-lengths[chosen], kind="stable")]
        # As many calls for each thread, so that none is idle for long at the end.
        calls = self.threads * -(-len(order) // (self.threads * self.pairs_a_call))
        batches = []
        for together in np.array_split(order, min(calls, len(order))):
            size = max(1, TOKENS_A_CALL // int(lengths[together[0]]))
            batches += [self._batch(together[i : i + size], lengths) for i in range(0, len(together), size)]
        return batches

    def full(self, lengths: Ints, chosen: Ints) -> Batch:
        return self._batch(np.resize(chosen[: self.pairs_a_call], self.pairs_a_call), lengths)

    def assemble(self, batch: Batch, work: Work) -> Feed:
        return _rows(batch, work, self.pair)

    def smaller(self, batch: Batch, lengths: Ints) -> list[Batch]:
        halves = np.array_split(batch.pairs, 2)
        return [self._batch(half, lengths) for half in halves] if len(batch.pairs) > 1 else []

    def _batch(self, pairs: Ints, lengths: Ints) -> Batch:
        return replace(Batch(pairs, int(lengths[pairs].max())), tokens=int(lengths[pairs].sum()))


def _rows(batch: Batch, work: Work, pair: PairLayout) -> Feed:
    """A row a pair, padded on the right: int64, *Shape:* (batch, sequence_length) each."""
    put_together = assemble_few if len(batch.pairs) <= PAIRS_A_CALL else assemble
    ids, mask = put_together(batch, work.pairs, work.first, work.second, pair)
    feed = {"input_ids": ids, "attention_mask": mask}
    return feed | {"token_type_ids": segment_ids(batch, work.pairs, pair)} if pair.segments else feed
