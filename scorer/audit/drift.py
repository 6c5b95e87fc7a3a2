"""Drift over weeks: a rate of the new rows of the last nights against the rate of as many nights before them.

A *new* row is neither reused nor in the baseline, so that a text counts in the night in which it appears and not again;
nights are then disjoint samples, which the exact test of :mod:`scorer.stats.significance` compares. Only nights of the
same signature that have rows count. All rows are tested within the groups of the first grouping.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..stats.intervals import PairedCounts, Rate, Sample, interval_of_difference
from ..stats.significance import compare_strata
from .database import Grouping
from .document import Group, GroupFigures, HistoryRow

ROWS = "rows"
"""Key of the number of new rows, next to those of their rates."""


class Drift(NamedTuple):
    """A rate of the new rows of the last nights, compared with the nights before them."""

    now: Rate
    """Rate of the last nights."""
    before: Rate
    """Rate of the nights before them."""
    low: float | None
    """Lower limit of the 95 % interval of the difference."""
    high: float | None
    """Upper limit of the 95 % interval of the difference."""
    nights: int
    """Number of the last nights."""
    nights_before: int
    """Number of the nights before them."""
    p: float | None
    """One-sided p-value: the probability that chance alone gives such an increase; null where one side has no rows."""
    since: str | None
    """The first of the nights up to this one at which ``p`` was below a limit; null where it is not."""


@dataclass(frozen=True)
class NightlyCounts:
    """New rows of the nights of one signature, by night and group."""

    nights: Sequence[str]
    """Ends of the runs, ISO 8601, the oldest first and this one last."""
    counts: Mapping[str, Mapping[tuple[tuple[str, str | None], ...], Mapping[str, int]]]
    """By night and group: the number of new rows (:data:`ROWS`), and of those that count for each rate."""
    strata: Sequence[Group]
    """Groups within which all rows are tested."""

    @classmethod
    def collect(
        cls, history: Iterable[HistoryRow], night: str, signature: str, groups: Sequence[GroupFigures], strata: Grouping
    ) -> NightlyCounts:
        """The new rows of earlier nights and of this one.

        Args:
            groups: all groups of this night.
            strata: the grouping that stratifies the test of all rows.
        """
        counts: dict[str, dict[tuple[tuple[str, str | None], ...], Mapping[str, int]]] = {}
        for row in history:
            if row.signature == signature and row.night < night and row.rows:
                counts.setdefault(row.night, {})[_key(row.group)] = row.new
        counts[night] = {_key(group.group): group.new for group in groups}
        keys = {
            key for by_group in counts.values() for key in by_group if strata and {name for name, _ in key} == {*strata}
        }
        return cls(sorted(counts), counts, [dict(key) for key in sorted(keys, key=str)])

    def drift(self, group: GroupFigures, rate: str, window: int, limit: float | None) -> Drift:
        """The drift of a rate in a group over the last ``window`` nights.

        Args:
            limit: p below which a night counts for ``since``.
        """
        effect = group.design_effects[rate]
        groups = self.strata if not group.group and self.strata else [group.group]
        last = len(self.nights)
        current, before = (
            self._sample(nights, [group.group], rate, effect)[0] for nights in self._windows(last, window)
        )
        p = self._p(last, groups, rate, window, effect)
        since = None
        if limit is not None and p is not None and p < limit:
            while last > 1 and (earlier := self._p(last - 1, groups, rate, window, effect)) is not None:
                if earlier >= limit:
                    break
                last -= 1
            since = self.nights[last - 1]
        later, earlier_nights = self._windows(len(self.nights), window)
        low, high = interval_of_difference(current.rate, before.rate)
        return Drift(current.rate, before.rate, low, high, len(later), len(earlier_nights), p, since)

    def _windows(self, last: int, window: int) -> tuple[Sequence[str], Sequence[str]]:
        """The nights up to the ``last``, and those before them."""
        first = max(0, last - window)
        return self.nights[first:last], self.nights[max(0, first - window) : first]

    def _sample(self, nights: Sequence[str], groups: Iterable[Group], rate: str, effect: float) -> list[Sample]:
        samples = []
        for group in groups:
            counts = [self.counts[night].get(_key(group), {}) for night in nights]
            hits, rows = (sum(by_rate.get(name, 0) for by_rate in counts) for name in (rate, ROWS))
            samples.append(Sample(hits, rows, effect))
        return samples

    def _p(self, last: int, groups: Sequence[Group], rate: str, window: int, effect: float) -> float | None:
        current, before = (self._sample(nights, groups, rate, effect) for nights in self._windows(last, window))
        tested = compare_strata(PairedCounts(), list(zip(current, before, strict=True)))
        return tested.p_rise if tested is not None else None


def _key(group: Group) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(group.items()))
