"""Which rows are in both runs: multisets of row keys, matched by sorting, never by a dictionary of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Labels = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Matched:
    """Rows of two runs. ``before``, ``after``: int64, *Shape:* (kept,), the rows that match.
    ``removed``, ``added``: bool, *Shape:* (rows of that run,)."""

    before: Ints
    after: Ints
    removed: npt.NDArray[np.bool_]
    added: npt.NDArray[np.bool_]


def key_ids(before: Keys, after: Keys) -> tuple[Ints, Ints]:
    """Small numbers for keys, the same for the same key: from uint64, *Shape:* (rows, 2) each, to (rows,) each."""
    high, low = (np.concatenate([before[:, half], after[:, half]]) for half in (0, 1))
    order = np.argsort(high, kind="stable")
    if _torn(high[order], low[order]):
        order = np.lexsort((low, high))
    high, low = high[order], low[order]
    starts = np.ones(len(order), bool)
    starts[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    ids = np.empty(len(order), np.int64)
    ids[order] = np.cumsum(starts) - 1
    return ids[: len(before)], ids[len(before) :]


def _torn(high: npt.NDArray[np.uint64], low: npt.NDArray[np.uint64]) -> bool:
    """Whether different keys share their first half, so that sorting by it may not bring equal keys together."""
    return bool(((high[1:] == high[:-1]) & (low[1:] != low[:-1])).any())


def match(before: Ints, after: Ints, labels: tuple[Labels, Labels] | None = None) -> Matched:
    """Match two multisets of numbers: of each number, as many as both have.

    Args:
        labels: of the rows of both runs, at least -1. Equal numbers with equal labels are matched first, so that a
            number that several rows have, with several labels, counts as little as possible as changed.
    """
    if labels is None:
        return _match(before, after)
    width = 1 + max((int(side.max()) + 1 for side in labels if len(side)), default=0)
    first = _match(*(numbers * width + side + 1 for numbers, side in zip((before, after), labels, strict=True)))
    removed, added = np.flatnonzero(first.removed), np.flatnonzero(first.added)
    rest = _match(before[removed], after[added])
    first.removed[removed[rest.before]] = False
    first.added[added[rest.after]] = False
    return Matched(
        np.concatenate([first.before, removed[rest.before]]),
        np.concatenate([first.after, added[rest.after]]),
        first.removed,
        first.added,
    )


def _match(before: Ints, after: Ints) -> Matched:
    n = len(before)
    both = np.concatenate([before, after])
    order = np.argsort(both, kind="stable")  # in each run of equal numbers, those of before come first
    values = both[order]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])) if len(values) else np.empty(0, int)
    lengths = np.diff(np.append(starts, len(values)))
    earlier = order < n
    of_before = np.add.reduceat(earlier, starts, dtype=np.int64) if len(starts) else starts
    common = np.minimum(of_before, lengths - of_before)
    place = np.arange(len(values)) - np.repeat(starts, lengths)
    place -= np.where(earlier, 0, np.repeat(of_before, lengths))
    kept = place < np.repeat(common, lengths)
    removed, added = np.ones(n, bool), np.ones(len(after), bool)
    pairs = order[kept & earlier], order[kept & ~earlier] - n
    removed[pairs[0]] = False
    added[pairs[1]] = False
    return Matched(pairs[0], pairs[1], removed, added)


def repeats(ids: Ints, groups: Ints, count: int) -> tuple[Ints, Ints]:
    """Distinct keys, and rows of the most frequent key, of each group. *Shape:* (count,) each."""
    pairs, rows = np.unique(ids * count + groups, return_counts=True)
    owner = pairs % count
    most = np.zeros(count, np.int64)
    np.maximum.at(most, owner, rows)
    return np.bincount(owner, minlength=count), most
