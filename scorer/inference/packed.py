"""The packed layout: pairs laid end to end, a fixed number of tokens and of pairs a call.

Padding is wasted work, and a kernel that is planned for each shape costs time for each shape. So the
pairs of a call follow each other without padding, and every call of a size has the same number of tokens and of pairs.
What the pairs leave over is filled with filler pairs whose answers are dropped. With the same number of rows in every
matrix product, the device takes the same kernel in every call; whether a pair's numbers then do not depend on the
others is measured on the device (:mod:`.verify`).

Sizes: a call has one of at most three numbers of tokens, the budget and its eighth and sixty-fourth, so that a single
row does not cost a full call. Its other two dimensions follow from the length of the pairs themselves: pairs of 2^k to
2^(k+1) - 1 tokens share calls of tokens / 2^k pairs, with places for 2^(k+1) tokens each. No call of such pairs can
have more of them, fillers are never longer than the call's longest pair, and pairs × places, by which the operators
size their memory and choose their kernel, is at most twice the number of tokens. So the other pairs decide on the
number of tokens of a call, and on nothing else of its shape.

The inputs are those of ONNX Runtime's operator PackedMultiHeadAttention (contrib operators,
``docs/ContribOperators.md``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .batches import Batch, Feed, Ints, Work
from .bundle import PairLayout
from .texts import Tokens

SMALLEST = 1024
"""Tokens of the smallest call: fewer cost as much."""
_FRACTIONS = (1, 8, 64)
_ENOUGH = 0.75
"""A call is worth its size when its pairs fill so much of it; otherwise the next smaller size is taken."""

Int32 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Packed:
    """Calls of the packed layout.

    Args:
        token_budget: tokens of the largest call; rounded down to a power of two.
        max_length: tokens of the longest pair.
        pair: where a pair has which special tokens.
    """

    token_budget: int
    max_length: int
    pair: PairLayout

    @property
    def sizes(self) -> tuple[int, ...]:
        """Tokens a call, largest first. Each holds the longest pair."""
        least = max(SMALLEST, 1 << (self.max_length - 1).bit_length())
        largest = max(least, 1 << (self.token_budget.bit_length() - 1))
        return tuple(sorted({max(least, largest // fraction) for fraction in _FRACTIONS}, reverse=True))

    def pack(self, lengths: Ints, chosen: Ints) -> list[Batch]:
        order = chosen[np.lexsort((chosen, -lengths[chosen]))]
        batches: list[Batch] = []
        for group in np.split(order, np.flatnonzero(np.diff(_classes(lengths[order]))) + 1):
            if len(group):
                batches += self._cover(lengths, group, self.sizes)
        return batches

    def full(self, lengths: Ints, chosen: Ints) -> Batch:
        size = self.sizes[0]
        classes = _classes(lengths[chosen])
        chosen = chosen[classes == classes[0]]
        return self._batch(lengths, np.resize(chosen, max(len(chosen), size // self._shortest(lengths, chosen))), size)

    def assemble(self, batch: Batch, work: Work) -> Feed:
        pairs = work.pairs
        lengths = _with_fillers(work.lengths[batch.pairs], batch)
        first, second = pairs.first_length[batch.pairs], pairs.second_length[batch.pairs]
        starts = np.zeros(batch.rows + 1, np.int64)
        np.cumsum(lengths, out=starts[1:])
        ids = np.full(batch.tokens, self.pair.prefix[0], np.int32)
        at = starts[: len(batch.pairs)].copy()
        for tokens, texts, used, before in (
            (work.first, pairs.first[batch.pairs], first, self.pair.prefix),
            (work.second, pairs.second[batch.pairs], second, self.pair.separator),
        ):
            at = _special(ids, at, before)
            _copy(ids, at, tokens, texts, used)
            at = at + used
        _special(ids, at, self.pair.suffix)
        feed = {"input_ids": ids, **places(lengths, starts, batch)}
        return feed | {"token_type_ids": _segments(at - second, starts[1:], batch)} if self.pair.segments else feed

    def smaller(self, batch: Batch, lengths: Ints) -> list[Batch]:
        sizes = tuple(size for size in self.sizes if size < batch.tokens)
        return self._cover(lengths, batch.pairs, sizes) if sizes else []

    def _cover(self, lengths: Ints, group: Ints, sizes: tuple[int, ...]) -> list[Batch]:
        """Batches of pairs of one class, longest first."""
        batches: list[Batch] = []
        left = int(lengths[group].sum())
        while len(group):
            size = next((size for size in sizes if left >= _ENOUGH * size), sizes[-1])
            batches.append(self._batch(lengths, group, size))
            left -= int(lengths[batches[-1].pairs].sum())
            group = group[len(batches[-1].pairs) :]
        return batches

    def _batch(self, lengths: Ints, group: Ints, size: int) -> Batch:
        """A call of a size with as many of the first pairs as fit, and at least one token for each filler."""
        shortest = self._shortest(lengths, group)
        rows = size // shortest
        part = group[:rows]
        used = np.cumsum(lengths[part]) + (rows - np.arange(1, len(part) + 1))
        part = part[: int(np.searchsorted(used, size, side="right"))]
        return Batch(part, min(2 * shortest, self.max_length), rows, size)

    @staticmethod
    def _shortest(lengths: Ints, group: Ints) -> int:
        """The power of two that no pair of a group is shorter than."""
        return 1 << (int(lengths[group].min()).bit_length() - 1)


def _classes(lengths: Ints) -> Ints:
    """k of each length from 2^k to 2^(k+1) - 1. *Shape:* (n,) → (n,)."""
    return np.floor(np.log2(lengths)).astype(np.int64)


def places(lengths: Ints, starts: Ints, batch: Batch) -> dict[str, Int32]:
    """Where the tokens of a call stand, as the packed operators want it.

    Args:
        lengths: int64, *Shape:* (rows,), tokens of each pair of the call, fillers included.
        starts: int64, *Shape:* (rows + 1,), where each begins; the last is the number of tokens.

    Returns:
        ``position_ids``: int32, *Shape:* (tokens,), of each token within its pair, from 0. ``token_offset``: int32,
        *Shape:* (rows, longest), see :func:`offsets`. ``cumulative_sequence_length``: int32, *Shape:* (rows + 1,).
    """
    return {
        "position_ids": np.arange(batch.tokens, dtype=np.int32) - np.repeat(starts[:-1].astype(np.int32), lengths),
        "token_offset": offsets(batch.rows, batch.sequence_length),
        "cumulative_sequence_length": starts.astype(np.int32),
    }


@lru_cache(maxsize=64)
def offsets(rows: int, longest: int) -> Int32:
    """The operator's ``token_offset``, int32, *Shape:* (rows, longest): the same for all calls of a shape.

    It would say where each token stands in a padded batch. The kernel that is chosen here takes the lengths from
    ``cumulative_sequence_length`` and from this one its shape alone; another kernel would give other numbers, which
    the verification on the device would see.
    """
    made = np.arange(rows * longest, dtype=np.int32).reshape(rows, longest)
    made.flags.writeable = False
    return made


def _with_fillers(lengths: Ints, batch: Batch) -> Ints:
    """The lengths of all pairs of a call: fillers share what is left over. *Shape:* (pairs,) → (rows,)."""
    fillers = batch.rows - len(batch.pairs)
    if not fillers:
        return lengths
    each, more = divmod(batch.tokens - int(lengths.sum()), fillers)
    return np.concatenate([lengths, np.full(more, each + 1), np.full(fillers - more, each)])


def _segments(begin: Ints, end: Ints, batch: Batch) -> Int32:
    """Segment ids: 1 from the second text of each pair to its end, 0 elsewhere. int32, *Shape:* (tokens,).

    Args:
        begin: int64, *Shape:* (pairs,), where the second text of each pair begins.
        end: int64, *Shape:* (rows,), where each pair of the call ends.
    """
    change = np.zeros(batch.tokens + 1, np.int32)
    np.add.at(change, begin, 1)
    np.add.at(change, end[: len(begin)], -1)
    return np.cumsum(change[:-1], dtype=np.int32)


def _special(ids: Int32, at: Ints, tokens: tuple[int, ...]) -> Ints:
    """Write special tokens at each place; where to go on."""
    for i, token in enumerate(tokens):
        ids[at + i] = token
    return at + len(tokens)


def _copy(ids: Int32, at: Ints, tokens: Tokens, texts: Ints, used: Ints) -> None:
    """Write the first ``used[i]`` tokens of text ``texts[i]`` at ``at[i]``."""
    before = np.cumsum(used) - used
    within = np.arange(int(used.sum()))
    there, here = (np.repeat(begins - before, used) + within for begins in (at, tokens.offsets[texts]))
    ids[there] = tokens.ids[here]
