"""How the pairs of a window lie in the calls of the model: which share a call, and how its inputs are put together.

Whatever a layout decides depends on the lengths of the pairs and on its own settings alone, so that the same plan gives
the same calls.

:class:`Padded`: a row a pair, padded to the next length on a small grid of shapes. That length depends on
the pair alone, and a batch holds pairs of one padded length only: the other pairs of a batch never change the shape
that a pair is computed in, few shapes occur, and padding is bounded by the grid's step.
:class:`scorer.inference.packed.Packed`: pairs laid end to end, a fixed number of tokens and of pairs a call (fp16 on a
GPU).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..status import SCORED
from .bundle import PairLayout
from .texts import Tokens

Ints = npt.NDArray[np.int64]
Feed = dict[str, npt.NDArray[Any]]
"""What a call of the model takes: its inputs by name."""


@dataclass(frozen=True)
class Grid:
    """The shapes that occur. ``step``: padded lengths are its multiples. ``token_budget``: tokens a batch, padding
    included; a single pair may be longer. ``max_length``: the longest pair. ``few_lengths``: padded lengths are powers
    of two from 32 instead, where each shape costs time of its own.
    """

    step: int = 8
    token_budget: int = 4096
    max_length: int = 512
    few_lengths: bool = False

    def padded(self, lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The padded length of each pair. *Shape:* (pairs,) → (pairs,)."""
        if self.few_lengths:
            doubled = 1 << np.ceil(np.log2(np.maximum(lengths, 32))).astype(np.int64)
            return np.minimum(doubled, self.max_length)
        return np.minimum(-(-lengths // self.step) * self.step, self.max_length)

    def with_budget(self, token_budget: int) -> Grid:
        """This grid with another budget."""
        return replace(self, token_budget=token_budget)

    def batch_sizes(self, sequence_length: int) -> Iterator[int]:
        """Batch sizes of a padded length, largest first: powers of two down to one."""
        size = 1 << (max(1, self.token_budget // sequence_length).bit_length() - 1)
        while size:
            yield size
            size >>= 1


@dataclass(frozen=True)
class Batch:
    """Pairs of one call.

    ``pairs``: int64, *Shape:* (batch,), positions of the pairs; one may occur more than once. ``sequence_length``: of
    the longest of them, padding included. ``rows``: pairs that the call has, if it has others after these, which fill
    it up. ``tokens``: that the device computes, if that is not rows × sequence length.
    """

    pairs: npt.NDArray[np.int64]
    sequence_length: int
    rows: int = 0
    tokens: int = 0

    def __post_init__(self) -> None:
        rows = self.rows or len(self.pairs)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "tokens", self.tokens or rows * self.sequence_length)


@dataclass
class Pairs:
    """Distinct pairs of texts, and the place of each asked pair among them.

    ``first``, ``second``: int64, *Shape:* (pairs,), positions of the texts in their token tables. ``inverse``: int64,
    *Shape:* (asked,). ``first_length``, ``second_length``: int64, *Shape:* (pairs,), tokens used of each text.
    """

    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    inverse: npt.NDArray[np.int64]
    first_length: npt.NDArray[np.int64]
    second_length: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)


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


def distinct_pairs(
    premise: npt.NDArray[np.int32], hypothesis: npt.NDArray[np.int32], first: Tokens, second: Tokens
) -> Pairs:
    """Deduplicate pairs by the ids of their texts. ``premise``, ``hypothesis``: int32, *Shape:* (asked,)."""
    keys = premise.astype(np.int64) << 32 | hypothesis.astype(np.int64)
    distinct, inverse = np.unique(keys, return_inverse=True)
    a, b = distinct >> 32, distinct & 0xFFFFFFFF
    return Pairs(a, b, inverse.reshape(-1), first.lengths[a], second.lengths[b])


def cut_to_fit(pairs: Pairs, room: int, chosen: npt.NDArray[np.bool_]) -> None:
    """Shorten the chosen pairs, which are too long, to ``room`` tokens, as the tokenizers' *longest first* does.

    Tokens go from the end of the longer text until the two are equally long, then from both.
    """
    a, b = pairs.first_length[chosen], pairs.second_length[chosen]
    shorter = np.minimum(np.minimum(a, b), room // 2)
    pairs.first_length[chosen] = np.where(a <= b, shorter, room - shorter)
    pairs.second_length[chosen] = np.where(a <= b, room - shorter, shorter)


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
    """Rows of one padded length, the longest first so that memory is sized once."""

    grid: Grid
    pair: PairLayout

    def pack(self, lengths: Ints, chosen: Ints) -> list[Batch]:
        padded = self.grid.padded(lengths[chosen])
        order = np.lexsort((chosen, -padded))
        batches = []
        boundaries = np.flatnonzero(np.diff(padded[order])) + 1
        for group in np.split(order, boundaries):
            if not len(group):
                continue
            sequence_length = int(padded[group[0]])
            start = 0
            for size in self.grid.batch_sizes(sequence_length):
                while len(group) - start >= size:
                    batches.append(Batch(chosen[group[start : start + size]], sequence_length))
                    start += size
        return batches

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


def _rows(batch: Batch, work: Work, pair: PairLayout) -> Feed:
    """A row a pair, padded on the right: int64, *Shape:* (batch, sequence_length) each."""
    ids, mask = assemble(batch, work.pairs, work.first, work.second, pair)
    feed = {"input_ids": ids, "attention_mask": mask}
    return feed | {"token_type_ids": segment_ids(batch, work.pairs, pair)} if pair.segments else feed


def assemble(
    batch: Batch, pairs: Pairs, first: Tokens, second: Tokens, layout: PairLayout
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The model's input: ids and attention mask, int64, *Shape:* (batch, sequence_length), padded on the right."""
    n = len(batch.pairs)
    a, b = pairs.first_length[batch.pairs], pairs.second_length[batch.pairs]
    ids = np.full((n, batch.sequence_length), layout.pad_id, np.int64)
    rows = np.arange(n)
    ids[:, : len(layout.prefix)] = layout.prefix
    _scatter(ids, len(layout.prefix) + np.zeros(n, np.int64), a, first, pairs.first[batch.pairs])
    after = len(layout.prefix) + a
    for i, token in enumerate(layout.separator):
        ids[rows, after + i] = token
    after = after + len(layout.separator)
    _scatter(ids, after, b, second, pairs.second[batch.pairs])
    after = after + b
    for i, token in enumerate(layout.suffix):
        ids[rows, after + i] = token
    total = after + len(layout.suffix)
    mask = (np.arange(batch.sequence_length) < total[:, None]).astype(np.int64)
    return ids, mask


def segment_ids(batch: Batch, pairs: Pairs, layout: PairLayout) -> npt.NDArray[np.int64]:
    """Segment ids of a batch: 0 up to the end of the separator, 1 to the end of the pair, 0 for padding.

    int64, *Shape:* (batch, sequence_length).
    """
    begin = (len(layout.prefix) + len(layout.separator) + pairs.first_length[batch.pairs])[:, None]
    end = begin + (pairs.second_length[batch.pairs] + len(layout.suffix))[:, None]
    columns = np.arange(batch.sequence_length)
    return ((columns >= begin) & (columns < end)).astype(np.int64)


def _scatter(
    ids: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    tokens: Tokens,
    texts: npt.NDArray[np.int64],
) -> None:
    """Write the first ``lengths[i]`` tokens of text ``texts[i]`` into row *i* from column ``start[i]``."""
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    ids[rows, np.repeat(start, lengths) + within] = tokens.ids[np.repeat(tokens.offsets[texts], lengths) + within]
