"""Batching: which pairs of a window share a call of the model, and the inputs of each call.

A layout decides by the lengths of the pairs and its own settings alone, so that the same plan gives the same calls.

:class:`Padded`: a row a pair, padded to the next length on a small grid of shapes. A batch holds pairs of one padded
length only: the other pairs never change the shape that a pair is computed in, few shapes occur, and padding is bounded
by the grid's step.

:class:`Packed` (fp16 on a GPU): pairs laid end to end, a fixed number of tokens and of pairs a call. Padding is wasted
work, and a kernel that is planned for each shape costs time for each shape. Unused tokens belong to filler pairs,
and the logits of these are dropped. With the same number of rows in every matrix product, the device takes the same
kernel in every call; whether a pair's numbers then do not depend on the others is measured (:mod:`.verification`).
A call has one of at most three numbers of tokens, the budget and its eighth and sixty-fourth, so that a single row does
not cost a full call. Its other two dimensions follow from the length of the pairs themselves: pairs of 2^k to
2^(k+1) - 1 tokens share calls of tokens / 2^k pairs, with places for 2^(k+1) tokens each. No call of such pairs can
have more of them, fillers are never longer than the call's longest pair, and pairs × places, by which the operators
size their memory and choose their kernel, is at most twice the number of tokens. The inputs are those of ONNX Runtime's
operator PackedMultiHeadAttention (``docs/ContribOperators.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..status import SCORED
from .bundle import PairLayout
from .tokenizer import Tokens

SMALLEST = 1024
"""Tokens of the smallest packed call: fewer cost as much."""
_FRACTIONS = (1, 8, 64)
_ENOUGH = 0.75
"""A packed call is worth its size when its pairs fill so much of it; otherwise the next smaller size is taken."""
Int32 = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Feed = dict[str, npt.NDArray[Any]]
"""Inputs of a call of the model, by name."""


@dataclass(frozen=True)
class Batch:
    """Pairs of one call."""

    pairs: npt.NDArray[np.int64]
    """Positions of the pairs, *Shape:* (batch,); a pair may occur more than once."""
    sequence_length: int
    """Tokens of the longest pair, padding included."""
    rows: int
    """Number of pairs, fillers included."""
    tokens: int
    """Tokens that the device computes, padding and fillers included."""


@dataclass
class Pairs:
    """Distinct pairs of texts, and the position of each requested pair among them."""

    first: npt.NDArray[np.int64]
    """Positions of the first texts in their token table, *Shape:* (pairs,)."""
    second: npt.NDArray[np.int64]
    """Positions of the second texts in their token table, *Shape:* (pairs,)."""
    inverse: npt.NDArray[np.int64]
    """Position of each requested pair among the distinct ones, *Shape:* (requested,)."""
    first_length: npt.NDArray[np.int64]
    """Tokens used of each first text, *Shape:* (pairs,)."""
    second_length: npt.NDArray[np.int64]
    """Tokens used of each second text, *Shape:* (pairs,)."""


@dataclass
class EncodedPairs:
    """A window of encoded pairs."""

    pairs: Pairs
    first: Tokens
    """Tokens of the texts that come first in a pair."""
    second: Tokens
    """Tokens of the texts that come second."""
    status: npt.NDArray[np.int8]
    """Status of each distinct pair (:mod:`scorer.status`), *Shape:* (pairs,)."""
    truncated: npt.NDArray[np.bool_]
    """Distinct pairs that were cut to the model's maximum, *Shape:* (pairs,)."""
    batches: list[Batch]
    """Calls that compute the pairs."""
    lengths: npt.NDArray[np.int64]
    """Tokens of each distinct pair, special ones included, *Shape:* (pairs,)."""
    always_exact: npt.NDArray[np.bool_] | None = None
    """Distinct pairs that run in fp32 with ``exact`` in any case, since their label depends on more than the highest
    class. *Shape:* (pairs,)."""
    recomputed: int = 0
    """Pairs that ran in fp32 too; complete once the window has run."""
    computed_tokens: int = 0
    """Tokens of the batches that the device has computed so far, padding included."""

    @property
    def real_tokens(self) -> int:
        """Tokens of the pairs to compute, padding not included."""
        return int(self.lengths[self.status == SCORED].sum())

    @property
    def padded_tokens(self) -> int:
        """Tokens that the device computes, padding included."""
        return sum(batch.tokens for batch in self.batches)


def distinct_pairs(
    premise: npt.NDArray[np.int32], hypothesis: npt.NDArray[np.int32], first: Tokens, second: Tokens
) -> Pairs:
    """Deduplicate pairs by the ids of their texts. ``premise``, ``hypothesis``: int32, *Shape:* (requested,)."""
    keys = premise.astype(np.int64) << 32 | hypothesis.astype(np.int64)
    distinct, inverse = np.unique(keys, return_inverse=True)
    a, b = distinct >> 32, distinct & 0xFFFFFFFF
    return Pairs(a, b, inverse.reshape(-1), np.diff(first.offsets)[a], np.diff(second.offsets)[b])


def cut_to_fit(pairs: Pairs, room: int, too_long: npt.NDArray[np.bool_]) -> None:
    """Shorten the pairs that are too long to ``room`` tokens, as the tokenizers' strategy *longest first* does.

    Tokens are removed from the end of the longer text until both are equally long, then from both.

    Args:
        too_long: bool, *Shape:* (pairs,).
    """
    a, b = pairs.first_length[too_long], pairs.second_length[too_long]
    shorter = np.minimum(np.minimum(a, b), room // 2)
    pairs.first_length[too_long] = np.where(a <= b, shorter, room - shorter)
    pairs.second_length[too_long] = np.where(a <= b, room - shorter, shorter)


@dataclass(frozen=True)
class Padded:
    """Rows of one padded length, the longest first so that memory is sized once.

    In both layouts ``lengths`` is int64, *Shape:* (pairs,), tokens of every pair of a window, and ``positions`` int64,
    *Shape:* (n,), positions of the pairs to compute, in which a pair may occur more than once.
    """

    token_budget: int
    """Tokens a batch, padding included; a single pair may be longer."""
    max_length: int
    """Tokens of the longest pair."""
    pair: PairLayout
    """Special tokens of a pair."""
    step: int = 8
    """Padded lengths are multiples of this."""
    few_lengths: bool = False
    """Whether padded lengths are powers of two from 32 instead, for devices on which each new shape costs time."""

    def padded(self, lengths: Ints) -> Ints:
        """The padded length of each pair. *Shape:* (pairs,) → (pairs,)."""
        if self.few_lengths:
            doubled = 1 << np.ceil(np.log2(np.maximum(lengths, 32))).astype(np.int64)
            return np.minimum(doubled, self.max_length)
        return np.minimum(-(-lengths // self.step) * self.step, self.max_length)

    def pack(self, lengths: Ints, positions: Ints) -> list[Batch]:
        """Batches that cover the pairs, longest first; the pairs of a batch are a power of two, for few shapes."""
        padded = self.padded(lengths[positions])
        order = np.lexsort((positions, -padded))
        batches = []
        boundaries = np.flatnonzero(np.diff(padded[order])) + 1
        for group in np.split(order, boundaries):
            while len(group):
                sequence_length = int(padded[group[0]])
                fitting = min(len(group), max(1, self.token_budget // sequence_length))
                size = 1 << (fitting.bit_length() - 1)
                batches.append(Batch(positions[group[:size]], sequence_length, size, size * sequence_length))
                group = group[size:]
        return batches

    def full(self, lengths: Ints, positions: Ints) -> Batch:
        """A batch as full as the budget allows, with the pairs repeated."""
        length = int(self.padded(lengths[positions]).max())
        rows = max(len(positions), self.token_budget // length)
        return Batch(np.resize(positions, rows), length, rows, rows * length)

    def assemble(self, batch: Batch, encoded: EncodedPairs) -> Feed:
        """A row a pair, padded on the right: int64, *Shape:* (batch, sequence_length) each."""
        n, length = len(batch.pairs), batch.sequence_length
        ids = np.full((n, length), self.pair.pad_id, np.int64)
        starts = np.arange(n) * length
        seconds = _write(ids.reshape(-1), starts, batch, encoded, self.pair) - starts
        columns, ends = np.arange(length), encoded.lengths[batch.pairs]
        real = columns < ends[:, None]
        feed = {"input_ids": ids, "attention_mask": real.astype(np.int64)}
        if self.pair.segments:
            feed["token_type_ids"] = (real & (columns >= seconds[:, None])).astype(np.int64)
        return feed

    def smaller(self, batch: Batch, lengths: Ints) -> list[Batch]:
        """Batches with fewer tokens for the same pairs; empty where there is no smaller one."""
        n = len(batch.pairs)
        if n == 1:
            return []
        length, halves = batch.sequence_length, (batch.pairs[: n // 2], batch.pairs[n // 2 :])
        return [Batch(half, length, len(half), len(half) * length) for half in halves]


@dataclass(frozen=True)
class Packed:
    """Pairs end to end, in calls of a few sizes."""

    token_budget: int
    """Tokens of the largest call, before rounding down to a power of two."""
    max_length: int
    pair: PairLayout

    @property
    def sizes(self) -> tuple[int, ...]:
        """Tokens a call, largest first. Each holds the longest pair."""
        least = max(SMALLEST, 1 << (self.max_length - 1).bit_length())
        largest = max(least, 1 << (self.token_budget.bit_length() - 1))
        return tuple(sorted({max(least, largest // fraction) for fraction in _FRACTIONS}, reverse=True))

    def pack(self, lengths: Ints, positions: Ints) -> list[Batch]:
        """As :meth:`Padded.pack`."""
        order = positions[np.lexsort((positions, -lengths[positions]))]
        batches: list[Batch] = []
        for group in np.split(order, np.flatnonzero(np.diff(_classes(lengths[order]))) + 1):
            if len(group):
                batches += self._cover(lengths, group, self.sizes)
        return batches

    def full(self, lengths: Ints, positions: Ints) -> Batch:
        """As :meth:`Padded.full`, with only the pairs that share calls with the first one."""
        size = self.sizes[0]
        classes = _classes(lengths[positions])
        positions = positions[classes == classes[0]]
        return self._batch(
            lengths, np.resize(positions, max(len(positions), size // self._shortest(lengths, positions))), size
        )

    def assemble(self, batch: Batch, encoded: EncodedPairs) -> Feed:
        """Pairs end to end: int32, *Shape:* (tokens,), and :func:`places`."""
        lengths = encoded.lengths[batch.pairs]
        if fillers := batch.rows - len(batch.pairs):  # they share the unused tokens
            shorter, longer_fillers = divmod(batch.tokens - int(lengths.sum()), fillers)
            filler_lengths = [np.full(longer_fillers, shorter + 1), np.full(fillers - longer_fillers, shorter)]
            lengths = np.concatenate([lengths, *filler_lengths])
        starts = np.zeros(batch.rows + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        ids = np.full(batch.tokens, self.pair.prefix[0], np.int32)
        seconds = _write(ids, starts[: len(batch.pairs)], batch, encoded, self.pair)
        feed = {"input_ids": ids, **places(lengths, starts, batch)}
        if self.pair.segments:
            change = np.zeros(batch.tokens + 1, np.int32)
            np.add.at(change, seconds, 1)
            np.add.at(change, starts[1 : len(seconds) + 1], -1)
            feed["token_type_ids"] = np.cumsum(change[:-1], dtype=np.int32)
        return feed

    def smaller(self, batch: Batch, lengths: Ints) -> list[Batch]:
        """As :meth:`Padded.smaller`."""
        sizes = tuple(size for size in self.sizes if size < batch.tokens)
        return self._cover(lengths, batch.pairs, sizes) if sizes else []

    def _cover(self, lengths: Ints, group: Ints, sizes: tuple[int, ...]) -> list[Batch]:
        """Batches of pairs of one class, longest first."""
        batches: list[Batch] = []
        remaining = int(lengths[group].sum())
        while len(group):
            size = next((size for size in sizes if remaining >= _ENOUGH * size), sizes[-1])
            batches.append(self._batch(lengths, group, size))
            remaining -= int(lengths[batches[-1].pairs].sum())
            group = group[len(batches[-1].pairs) :]
        return batches

    def _batch(self, lengths: Ints, group: Ints, size: int) -> Batch:
        """A call of a size with as many of the first pairs as fit, and at least one token for each filler."""
        shortest = self._shortest(lengths, group)
        rows = size // shortest
        pairs = group[:rows]
        used = np.cumsum(lengths[pairs]) + (rows - np.arange(1, len(pairs) + 1))
        pairs = pairs[: int(np.searchsorted(used, size, side="right"))]
        return Batch(pairs, min(2 * shortest, self.max_length), rows, size)

    @staticmethod
    def _shortest(lengths: Ints, group: Ints) -> int:
        """The power of two that no pair of a group is shorter than."""
        return 1 << (int(lengths[group].min()).bit_length() - 1)


Layout = Padded | Packed
"""Arrangement of pairs in calls."""


def _classes(lengths: Ints) -> Ints:
    """k of each length from 2^k to 2^(k+1) - 1. *Shape:* (n,) → (n,)."""
    return np.floor(np.log2(lengths)).astype(np.int64)


def places(lengths: Ints, starts: Ints, batch: Batch) -> dict[str, Int32]:
    """Positions of the tokens of a call, as the packed operators take them.

    Args:
        lengths: int64, *Shape:* (rows,), tokens of each pair of the call, fillers included.
        starts: int64, *Shape:* (rows + 1,), first token of each pair; the last is the number of tokens.

    Returns:
        ``position_ids``: int32, *Shape:* (tokens,), position of each token within its pair, from 0.
        ``token_offset``: int32, *Shape:* (rows, longest), see :func:`_offsets`.
        ``cumulative_sequence_length``: int32, *Shape:* (rows + 1,).
    """
    return {
        "position_ids": np.arange(batch.tokens, dtype=np.int32) - np.repeat(starts[:-1].astype(np.int32), lengths),
        "token_offset": _offsets(batch.rows, batch.sequence_length),
        "cumulative_sequence_length": starts.astype(np.int32),
    }


@lru_cache(maxsize=64)
def _offsets(rows: int, longest: int) -> Int32:
    """Position of each token in a padded batch: the same for all calls of a shape, since the kernel that is used here
    reads the shape alone. Another kernel would give other numbers, which the verification detects."""
    return np.arange(rows * longest, dtype=np.int32).reshape(rows, longest)


def _write(ids: npt.NDArray[Any], starts: Ints, batch: Batch, encoded: EncodedPairs, pair: PairLayout) -> Ints:
    """Write each pair of a batch into a flat array from its start; returns the starts of the second texts."""
    pairs, positions = encoded.pairs, batch.pairs
    first_starts = starts + len(pair.prefix)
    separators = _write_texts(ids, first_starts, encoded.first, pairs.first[positions], pairs.first_length[positions])
    second_starts = separators + len(pair.separator)
    suffixes = _write_texts(ids, second_starts, encoded.second, pairs.second[positions], pairs.second_length[positions])
    for offsets, special in ((starts, pair.prefix), (separators, pair.separator), (suffixes, pair.suffix)):
        for i, token in enumerate(special):
            ids[offsets + i] = token
    return second_starts


def _write_texts(ids: npt.NDArray[Any], starts: Ints, tokens: Tokens, texts: Ints, used: Ints) -> Ints:
    """Write the first ``used[i]`` tokens of text ``texts[i]`` at ``starts[i]``; returns the end of each."""
    before = np.cumsum(used) - used
    within = np.arange(int(used.sum()))
    targets, sources = (
        np.repeat(first_tokens - before, used) + within for first_tokens in (starts, tokens.offsets[texts])
    )
    ids[targets] = tokens.ids[sources]
    return starts + used


def fixed_shapes(positions: Ints, padded: Ints, size: int) -> list[Batch]:
    """Calls of exactly ``size`` pairs of one padded length each. A call that would be short repeats its last pair.

    Args:
        positions: int64, *Shape:* (n,), positions of the pairs to compute.
        padded: int64, *Shape:* (pairs,), padded length of every pair of a window.
        size: pairs a call.
    """
    calls = []
    lengths = padded[positions]
    for length in np.unique(lengths)[::-1].tolist():
        group = positions[lengths == length]
        for start in range(0, len(group), size):
            pairs = group[start : start + size]
            calls.append(
                Batch(np.concatenate([pairs, np.repeat(pairs[-1:], size - len(pairs))]), length, size, size * length)
            )
    return calls
