"""A run joined with its baseline by row key, a part of the keys at a time.

What is found adds up over the parts, since rows with one key are always in the same one. Memory: two bytes a row (one
for each grouping, of both runs), and what :mod:`.key_parts` holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .candidates import WorseRows, WorstRows
from .grouping import Grouping
from .key_parts import Keyed, key_parts
from .matching import Ints, Matched, key_ids, match, repeats
from .scan import ScannedRun
from .states import STATES

MOST_FLIPS_MEASURED = 20_000
_NOTHING = Keyed(np.empty(0, np.int64), np.empty((0, 2), np.uint64))


@dataclass(frozen=True)
class Repeats:
    """How often keys occur in each group. int64, *Shape:* (groups,) each: ``distinct`` keys, and rows of the ``most``
    frequent one."""

    distinct: Ints
    most: Ints


@dataclass(frozen=True)
class GroupMatches:
    """How the rows of two runs match within the groups of a grouping.

    ``added``, ``removed``: int64, *Shape:* (groups, STATES), rows by state. ``kept``: int64, *Shape:* (groups, STATES,
    STATES), pairs by the states in the baseline and in this run. ``is_added``, ``is_removed``: bool, *Shape:* (rows of
    that run,).
    """

    added: Ints
    removed: Ints
    kept: Ints
    is_added: npt.NDArray[np.bool_]
    is_removed: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Flipped:
    """Kept rows whose FINE label differs. ``count``: all; ``pairs``: (row, row of the baseline), the first
    :data:`MOST_FLIPS_MEASURED` by row."""

    count: int
    pairs: list[tuple[int, int]]


@dataclass(frozen=True)
class Compared:
    """What a baseline adds. ``groups``: by grouping. ``worse``: rows that got worse, see :class:`.WorseRows`."""

    groups: dict[Grouping, GroupMatches]
    flipped: Flipped
    worse: WorseRows


@dataclass(frozen=True)
class Joined:
    """``repeats``: by grouping. ``worst``: rows by kind. ``compared``: ``None`` without a baseline."""

    repeats: dict[Grouping, Repeats]
    worst: dict[str, list[int]]
    compared: Compared | None


def join(before: ScannedRun | None, after: ScannedRun, groupings: Mapping[Grouping, int], most: int) -> Joined:
    """Join two runs, or look for the repeats of one.

    Args:
        groupings: numbers of groups; that of all rows is among them.
        most: rows of each sample.

    Raises:
        InputError: a file cannot be read.
    """
    repeated = {grouping: _Repeats(after, grouping, count) for grouping, count in groupings.items()}
    worst = WorstRows(after, most)
    both = _Both(before, after, groupings, most) if before is not None else None
    outputs = [after.output] if before is None else [before.output, after.output]
    for part in key_parts(outputs):
        was, now = part[0] if before is not None else _NOTHING, part[-1]
        ids = key_ids(was.keys, now.keys)
        worst.add(now, ids[1])
        for one in repeated.values():
            one.add(now.rows, ids[1])
        if both is not None:
            both.add(was.rows, now.rows, ids)
    found = {grouping: Repeats(one.distinct, one.most) for grouping, one in repeated.items()}
    return Joined(found, worst.found(), both.found() if both is not None else None)


class _Repeats:
    def __init__(self, run: ScannedRun, grouping: Grouping, count: int) -> None:
        self._groups, self._count = run.groups[grouping], count
        self.distinct, self.most = np.zeros(count, np.int64), np.zeros(count, np.int64)

    def add(self, rows: Ints, ids: Ints) -> None:
        distinct, most = repeats(ids, self._groups[rows].astype(np.int64), self._count)
        self.distinct += distinct
        np.maximum(self.most, most, out=self.most)


class _Both:
    """The state of comparing two runs."""

    def __init__(self, before: ScannedRun, after: ScannedRun, groupings: Mapping[Grouping, int], most: int) -> None:
        self._before, self._after = before, after
        self._groups = {grouping: _Groups(before, after, grouping, count) for grouping, count in groupings.items()}
        self._flipped = np.empty((0, 2), np.int64)
        self._flips = 0
        self._worse = WorseRows(before, after, most)

    def add(self, was: Ints, now: Ints, ids: tuple[Ints, Ints]) -> None:
        matched = {grouping: one.add(was, now, ids) for grouping, one in self._groups.items()}[()]
        self._worse.add(was, now, matched)
        pairs = np.stack([now[matched.after], was[matched.before]], axis=1)
        fine = self._after.fine(pairs[:, 0]), self._before.fine(pairs[:, 1])
        flipped = pairs[(fine[0] != fine[1]) & (fine[0] >= 0) & (fine[1] >= 0)]
        self._flips += len(flipped)
        flipped = np.concatenate([self._flipped, flipped])
        self._flipped = flipped[np.argsort(flipped[:, 0])][:MOST_FLIPS_MEASURED]

    def found(self) -> Compared:
        flipped = Flipped(self._flips, [(now, was) for now, was in self._flipped.tolist()])
        return Compared({grouping: one.found() for grouping, one in self._groups.items()}, flipped, self._worse)


class _Groups:
    """The state of comparing the groups of one grouping."""

    def __init__(self, before: ScannedRun, after: ScannedRun, grouping: Grouping, count: int) -> None:
        self._before, self._after, self._count = before, after, count
        self._codes = before.groups[grouping], after.groups[grouping]
        self._added, self._removed = (np.zeros(count * STATES, np.int64) for _ in range(2))
        self._kept = np.zeros(count * STATES * STATES, np.int64)
        self._is_added, self._is_removed = np.zeros(len(after), bool), np.zeros(len(before), bool)

    def add(self, was: Ints, now: Ints, ids: tuple[Ints, Ints]) -> Matched:
        groups = [codes[rows].astype(np.int64) for codes, rows in zip(self._codes, (was, now), strict=True)]
        numbers = [one * self._count + group for one, group in zip(ids, groups, strict=True)]
        matched = match(numbers[0], numbers[1], (self._before.fine(was), self._after.fine(now)))
        states = self._before.state[was].astype(np.int64), self._after.state[now].astype(np.int64)
        cells = [group * STATES + state for group, state in zip(groups, states, strict=True)]
        self._removed += np.bincount(cells[0][matched.removed], minlength=len(self._removed))
        self._added += np.bincount(cells[1][matched.added], minlength=len(self._added))
        pairs = cells[0][matched.before] * STATES + states[1][matched.after]
        self._kept += np.bincount(pairs, minlength=len(self._kept))
        self._is_removed[was] = matched.removed
        self._is_added[now] = matched.added
        return matched

    def found(self) -> GroupMatches:
        shape = self._count, STATES
        return GroupMatches(
            self._added.reshape(shape),
            self._removed.reshape(shape),
            self._kept.reshape(*shape, STATES),
            self._is_added,
            self._is_removed,
        )
