"""The rows of least confidence, chosen while the rows pass by: for the samples that people read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..metric.verdict import FINE
from ..scoring.places import Places
from .key_parts import Keyed
from .matching import Ints, Matched
from .scan import ScannedRun
from .states import BLANK

OK = 0


class Least:
    """Of all rows given, the ``most`` of least confidence; ties are broken by further numbers, in their order."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: tuple[npt.NDArray[Any], ...] | None = None

    def add(self, confidence: npt.NDArray[np.float32], *ties: npt.NDArray[Any]) -> None:
        """Consider rows; NaN counts as 0. *Shape:* (n,) each; the last of ``ties`` is what :meth:`found` gives."""
        if not len(confidence) or not self._most:
            return
        rows: tuple[npt.NDArray[Any], ...] = (np.nan_to_num(confidence, nan=0.0), *ties)
        if len(confidence) > self._most:  # a full sort of what may be a million rows is not needed
            limit = np.partition(rows[0], self._most - 1)[self._most - 1]
            rows = tuple(one[rows[0] <= limit] for one in rows)
        if self._held is not None:
            rows = tuple(np.concatenate(pair) for pair in zip(self._held, rows, strict=True))
        order = np.lexsort(rows[::-1])[: self._most]
        self._held = tuple(one[order] for one in rows)

    def found(self, *which: int) -> list[list[int]]:
        """Some of the numbers of ``ties`` by position, of the rows in order."""
        if self._held is None:
            return [[] for _ in which]
        return [self._held[1 + one].tolist() for one in which]


class WorstRows:
    """A sample per kind: the rows of least confidence, each key once; ties by key, so that it is always the same.

    Kinds: the FINE labels that are not OK (rows with a blank text are a kind of their own), and each kind of error.
    """

    def __init__(self, run: ScannedRun, most: int) -> None:
        self._run = run
        labels = [name for code, name in enumerate(FINE) if code != OK]
        self._kinds = {name: Least(most) for name in (*labels, "empty_text", *map("error:{}".format, run.errors.names))}

    def add(self, part: Keyed, ids: Ints) -> None:
        """Consider the rows of a part. ``ids``: numbers of their keys."""
        run = self._run
        state, error = run.state[part.rows], run.error[part.rows]
        fine, blank = run.fine(part.rows), BLANK[state]
        masks = {name: (fine == code) & ~blank for code, name in enumerate(FINE) if code != OK}
        masks["empty_text"] = blank
        masks |= {f"error:{name}": error == code for code, name in enumerate(run.errors.names)}
        for kind, mask in masks.items():
            chosen = np.flatnonzero(mask)
            if len(chosen):
                chosen = chosen[np.unique(ids[chosen], return_index=True)[1]]
                rows, keys = part.rows[chosen], part.keys[chosen]
                self._kinds[kind].add(run.confidence[rows], keys[:, 0], keys[:, 1], rows)

    def found(self) -> dict[str, list[int]]:
        """Rows by kind."""
        return {kind: least.found(2)[0] for kind, least in self._kinds.items()}


class WorseRows:
    """Rows that got worse: their numbers, and some of each kind to read.

    A kept row *flipped* when its label went from OK to another. An added row that fails is compared with the row at
    the same place of the baseline: one that was OK may have been *rewritten*, others are *new*.

    ``flipped``, ``added_failing``: how many so far.
    """

    def __init__(self, before: ScannedRun, after: ScannedRun, most: int) -> None:
        self._before, self._after = before, after
        self._kinds = tuple(Least(-(-most // 3)) for _ in range(3))
        self.flipped = self.added_failing = 0

    def add(self, was: Ints, now: Ints, matched: Matched) -> None:
        """Consider the rows of a part. ``was``, ``now``: their numbers in the whole; ``matched``: within the part."""
        before, after, places = self._before, self._after, self._after.output.places
        kept = was[matched.before], now[matched.after]
        changed = (before.fine(kept[0]) == OK) & (after.fine(kept[1]) > OK)
        sources, flipped = (rows[changed] for rows in kept)
        fresh = now[matched.added & (after.fine(now) > OK)]
        there = _counterparts(places, before.output.places, fresh)
        was_ok = np.zeros(len(fresh), bool)
        was_ok[there >= 0] = before.fine(there[there >= 0]) == OK
        kinds = (flipped, sources), (fresh[was_ok], there[was_ok]), (fresh[~was_ok], there[~was_ok])
        for least, (rows, earlier) in zip(self._kinds, kinds, strict=True):
            least.add(after.confidence[rows], rows, earlier)
        self.flipped += len(flipped)
        self.added_failing += len(fresh)

    def found(self) -> list[tuple[int, int, bool]]:
        """Row, row of the baseline (-1: none), and whether it flipped."""
        chosen = []
        for number, least in enumerate(self._kinds):
            rows, earlier = least.found(0, 1)
            chosen += [(row, place, number == 0) for row, place in zip(rows, earlier, strict=True)]
        return chosen


def _counterparts(places: Places, other: Places, rows: Ints) -> Ints:
    return places.counterparts(other, rows) if len(rows) else rows
