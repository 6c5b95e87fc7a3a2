"""A run compared with its baseline, group by group: what :mod:`.comparison` needs is counted here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..stats.design_effect import correlation
from ..stats.intervals import Pairs
from ..stats.multiple import benjamini_hochberg
from . import queries
from .comparison import RateCounts, added_rate, rate_change, test
from .confidences import Confidences, Floats
from .document import ADDED_RATES, RATES, Change, ConfidenceChange, GroupFigures, RateChange
from .effects import RunRates, cluster_sums
from .figures import FactTables
from .grouping import Grouping
from .significance import kolmogorov_smirnov, stability_index
from .states import FINE_OF, Counts

LEVEL = 0.05


def add_changes(
    before: RunRates, after: RunRates, grouping: Grouping, confidences: Confidences, groups: list[GroupFigures]
) -> None:
    """Fill ``change`` of a grouping's groups of two runs that are matched; q-values come later, by :func:`correct`.

    Args:
        confidences: of all rows of this run, by its groups.
    """
    _Comparison(before, after, grouping, confidences).fill(groups)


def correct(groups: list[GroupFigures]) -> None:
    """Correct the p-values of all tests of an audit together, and say which are significant."""
    changes = [group.change for group in groups if group.change is not None]
    parts: list[RateChange | ConfidenceChange] = []
    for change in changes:
        parts += [*change.rates.values(), change.confidence]
    tests = [one for part in parts for one in part.tests]
    for one, q in zip(tests, benjamini_hochberg([one.p for one in tests]).tolist(), strict=True):
        one.q = q
        one.significant = q < LEVEL
    for part in parts:
        part.significant = any(one.significant for one in part.tests)


class _Comparison:
    """The state of comparing one grouping."""

    def __init__(self, before: RunRates, after: RunRates, grouping: Grouping, confidences: Confidences) -> None:
        was, now = before.run, after.run
        self.kept, self.rewritten = queries.kept(now, grouping), queries.rewritten(now, grouping)
        self.rows_added, self.rows_removed = queries.added(now, grouping), queries.added(was, grouping)
        self.masks = before.masks, after.masks
        self.rewritten_sums = cluster_sums(queries.clusters_of_pairs(now, grouping, *self.masks))
        self.all = [run.samples(grouping) for run in (before, after)]
        self.moved = [run.samples(grouping, "moved") for run in (before, after)]
        self.single = [run.samples(grouping, "single") for run in (before, after)]
        self.rows_before = queries.states(was, grouping).sum(axis=1)
        self.confidences = queries.confidences(was, grouping), confidences
        self.removed, self.added = (queries.confidences(run, grouping, unmatched=True) for run in (was, now))
        self.facts_before = FactTables(was, grouping)

    def fill(self, groups: list[GroupFigures]) -> None:
        """Set ``change`` of each group."""
        label = FINE_OF[:, None], FINE_OF[None, :]
        flipped = (label[0] != label[1]) & (label[0] >= 0) & (label[1] >= 0)
        for code, group in enumerate(groups):
            kept = self.kept[code]
            counts = {name: self._counts(name, code) for name in RATES}
            group.change = Change(
                rows_before=int(self.rows_before[code]),
                added=int(self.rows_added[code].sum()),
                removed=int(self.rows_removed[code].sum()),
                kept=int(kept.sum()),
                rewritten=int(self.rewritten[code].sum()),
                flips=int(kept[flipped].sum()),
                backoff_before=self.facts_before.missed(code),
                rates={name: rate_change(one) for name, one in counts.items()},
                added_rates={name: added_rate(counts[name.removeprefix("added_")]) for name in ADDED_RATES},
                confidence=self._confidence(code),
            )

    def _counts(self, name: str, code: int) -> RateCounts:
        pairs, sums = self._pairs(name, self.rewritten[code]), self.rewritten_sums[name][code]
        within = correlation(sums, pairs.gained + pairs.lost) or 0.0
        return RateCounts(
            before=self.all[0][code][name],
            after=self.all[1][code][name],
            removed=self.moved[0][code][name],
            added=self.moved[1][code][name],
            gone=self.single[0][code][name],
            fresh=self.single[1][code][name],
            pairs=replace(pairs, effect=sums.effect(within)),
            kept=self._pairs(name, self.kept[code]),
        )

    def _pairs(self, name: str, pairs: Counts) -> Pairs:
        """Pairs by their states before and now, as a rate sees them. *Shape:* (STATES, STATES)."""
        (counted0, hit0), (counted1, hit1) = (masks[name] for masks in self.masks)
        both, lost, gained, neither = (
            int(pairs[np.ix_(one, other)].sum())
            for one in (hit0, counted0 & ~hit0)
            for other in (hit1, counted1 & ~hit1)
        )
        return Pairs(both, gained, lost, neither)

    def _compared(self, code: int) -> tuple[Floats, Floats]:
        """Confidences of two disjoint samples: the reference, and what is compared with it."""
        added, removed = (int(rows[code].sum()) for rows in (self.rows_added, self.rows_removed))
        before, after = (one[code] for one in self.confidences)
        if 2 * removed < added:
            return before, self.added[code]
        return (self.removed[code], after) if 2 * added < removed else (self.removed[code], self.added[code])

    def _confidence(self, code: int) -> ConfidenceChange:
        before, after = self.confidences
        change = ConfidenceChange(
            before=before.distribution(code),
            psi=stability_index(before[code], after[code]),
            ks=None,
            tests=[],
            significant=False,
        )
        reference, new = self._compared(code)
        if len(reference) and len(new):
            change.ks, p = kolmogorov_smirnov(reference, new)
            change.tests.append(test("kolmogorov_smirnov", len(reference), len(new), change.ks, p))
        return change
