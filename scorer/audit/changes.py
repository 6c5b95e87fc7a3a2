"""A run compared with its baseline, group by group.

Rows that are in both runs tell nothing about a change of the data: under equal signatures their labels are the same.
What is tested is

- the kept rows, as pairs, by McNemar's test: they change only when the scoring did;
- the added rows against the removed rows, two disjoint samples. Where fewer than half as many rows were removed as
  added, the added rows are compared with all of the baseline's rows of the group; where fewer than half as many were
  added, the removed rows with all of this run's.

The interval of a difference takes the kept rows as fixed and combines Wilson's limits of the added and of the removed
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..stats.intervals import combined
from . import queries
from .confidences import Confidences
from .document import ADDED_RATES, RATES, AddedRate, Change, ConfidenceChange, GroupFigures, Rate, RateChange, Test
from .figures import FactTables, rate_of
from .grouping import Grouping
from .scan import ScannedRun
from .significance import benjamini_hochberg, kolmogorov_smirnov, mcnemar, rose, stability_index, two_proportions
from .states import FINE_OF, Counts, Policy, rate_states

LEVEL = 0.05


def add_changes(
    before: ScannedRun,
    after: ScannedRun,
    grouping: Grouping,
    confidences: Confidences,
    groups: list[GroupFigures],
    errors: Policy,
    backoff: Callable[[str], float | None],
) -> None:
    """Fill ``change`` of a grouping's groups of two runs that are matched; q-values come later, by :func:`correct`.

    Args:
        confidences: of all rows of this run, by its groups.
        backoff: share of a predicate's facts without a template, in the baseline.
    """
    _Comparison(before, after, grouping, confidences, errors).fill(groups)
    facts = FactTables(before, grouping, backoff)
    for code, group in enumerate(groups):
        if group["change"] is not None:
            group["change"]["backoff_before"] = facts.missed(code)


def correct(groups: list[GroupFigures]) -> None:
    """Correct the p-values of all tests of an audit together, and say which are significant."""
    changes = [group["change"] for group in groups if group["change"] is not None]
    parts = [part for change in changes for part in (*change["rates"].values(), change["confidence"])]
    tests = [test for part in parts for test in part["tests"]]
    for test, q in zip(tests, benjamini_hochberg([test["p"] for test in tests]).tolist(), strict=True):
        test["q"] = q
        test["significant"] = q < LEVEL
    for part in parts:
        part["significant"] = any(test["significant"] for test in part["tests"])


@dataclass(frozen=True)
class _Sample:
    """Rows of a group, in the baseline or in this run. ``states``: int64, *Shape:* (STATES,), rows by state.
    ``confidences``: float32, rising."""

    after: bool
    states: Counts
    confidences: Any

    def __len__(self) -> int:
        return int(self.states.sum())


class _Comparison:
    """The state of comparing one grouping."""

    def __init__(
        self,
        before: ScannedRun,
        after: ScannedRun,
        grouping: Grouping,
        confidences: Confidences,
        errors: Policy,
    ) -> None:
        self.kept = queries.kept(after, grouping)
        self.rows_added, self.rows_removed = queries.added(after, grouping), queries.added(before, grouping)
        self.masks = [rate_states(errors, run.omissions_checked) for run in (before, after)]
        self.states = [queries.states(run, grouping) for run in (before, after)]
        self.confidences = queries.confidences(before, grouping), confidences
        self.removed = queries.confidences(before, grouping, unmatched=True)
        self.added = queries.confidences(after, grouping, unmatched=True)

    def fill(self, groups: list[GroupFigures]) -> None:
        """Set ``change`` of each group."""
        label = FINE_OF[:, None], FINE_OF[None, :]
        flipped = (label[0] != label[1]) & (label[0] >= 0) & (label[1] >= 0)
        for code, group in enumerate(groups):
            kept = self.kept[code]
            group["change"] = Change(
                rows_before=int(self.states[0][code].sum()),
                added=int(self.rows_added[code].sum()),
                removed=int(self.rows_removed[code].sum()),
                kept=int(kept.sum()),
                flips=int(kept[flipped].sum()),
                backoff_before=None,
                rates={name: self._rate(name, code, group["rates"][name]) for name in RATES},
                added_rates={name: self._added(name.removeprefix("added_"), code) for name in ADDED_RATES},
                confidence=self._confidence(code),
            )

    def _added(self, name: str, code: int) -> AddedRate:
        """A rate of the added rows, and whether it is higher than that of the removed rows and of the baseline."""
        masks = self.masks[0][name], self.masks[1][name]
        added = rate_of(masks[1], self.rows_added[code])
        removed, baseline = rate_of(masks[0], self.rows_removed[code]), rate_of(masks[0], self.states[0][code])
        chances = [
            rose(added["count"], added["n"], one["count"], one["n"]) if added["n"] and one["n"] else None
            for one in (removed, baseline)
        ]
        return AddedRate(added=added, removed=removed, baseline=baseline, p_removed=chances[0], p_baseline=chances[1])

    def _compared(self, code: int) -> tuple[_Sample, _Sample] | None:
        """Two disjoint samples: the reference, and what is compared with it."""
        added = _Sample(True, self.rows_added[code], self.added[code])
        removed = _Sample(False, self.rows_removed[code], self.removed[code])
        before, after = (_Sample(bool(i), self.states[i][code], self.confidences[i][code]) for i in (0, 1))
        if not len(added) + len(removed):
            return None
        if 2 * len(removed) < len(added):
            return (before, added) if len(before) else None
        if 2 * len(added) < len(removed):
            return (removed, after) if len(after) else None
        return removed, added

    def _rate(self, name: str, code: int, after: Rate) -> RateChange:
        (counted0, hit0), (counted1, hit1) = masks = [one[name] for one in self.masks]
        kept, added, removed = self.kept[code], self.rows_added[code], self.rows_removed[code]
        before = rate_of(masks[0], self.states[0][code])
        tests = []
        pairs = int(kept[np.ix_(counted0, counted1)].sum())
        lost = int(kept[np.ix_(counted0 & hit0, counted1 & ~hit1)].sum())
        gained = int(kept[np.ix_(counted0 & ~hit0, counted1 & hit1)].sum())
        if lost + gained:
            statistic, p = mcnemar(lost, gained)
            tests.append(_test("mcnemar", pairs, pairs, statistic, p))
        compared = self._compared(code)
        if compared is not None:
            (m, other), (n, count) = (_counts(masks[one.after], one.states) for one in compared)
            if n and m:
                which, statistic, p = two_proportions(count, n, other, m)
                tests.append(_test(which, m, n, statistic, p))
        change = RateChange(
            before=before, after=after, difference=None, low=None, high=None, tests=tests, significant=False
        )
        if before["value"] is not None and after["value"] is not None:
            n0, n1 = before["n"], after["n"]
            difference = change["difference"] = after["value"] - before["value"]
            came, went = _counts(masks[1], added)[::-1], _counts(masks[0], removed)[::-1]
            change["low"], change["high"] = combined(
                difference,
                [(came[1] / n1, *came), (-went[1] / n0, *went)],
                (lost + gained - (gained - lost) ** 2 / max(pairs, 1)) / (n0 * n1),
            )
        return change

    def _confidence(self, code: int) -> ConfidenceChange:
        before, after = self.confidences
        change = ConfidenceChange(
            before=before.distribution(code),
            psi=stability_index(before[code], after[code]),
            ks=None,
            tests=[],
            significant=False,
        )
        compared = self._compared(code)
        if compared is not None:
            reference, new = (one.confidences for one in compared)
            if len(reference) and len(new):
                distance, p = kolmogorov_smirnov(reference, new)
                change["ks"] = distance
                change["tests"].append(_test("kolmogorov_smirnov", len(reference), len(new), distance, p))
        return change


def _counts(masks: Any, states: Counts) -> tuple[int, int]:
    """Rows that count for a rate, and hits."""
    counted, hits = masks
    return int(states[counted].sum()), int(states[hits].sum())


def _test(name: str, before: int, after: int, statistic: float, p: float) -> Test:
    return Test(name=name, n_before=before, n_after=after, statistic=statistic, p=p, q=p, significant=False)
