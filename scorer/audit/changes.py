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
import numpy.typing as npt

from ..stats.intervals import combined, rate
from .document import RATES, Change, ConfidenceChange, GroupFigures, Rate, RateChange, Test
from .figures import FactTables, Policy, Slices, confidence_of, rate_masks
from .grouping import GroupCodes, Grouping
from .matching import Ints, match
from .scan import ScannedRun
from .significance import benjamini_hochberg, kolmogorov_smirnov, mcnemar, stability_index, two_proportions

LEVEL = 0.05
Counts = npt.NDArray[np.int64]


def add_changes(
    before: ScannedRun,
    after: ScannedRun,
    ids: tuple[Ints, Ints],
    grouping: Grouping,
    codes: GroupCodes,
    groups: list[GroupFigures],
    errors: Policy,
    backoff: Callable[[str], float | None],
) -> None:
    """Fill ``change`` of a grouping's groups; q-values come later, by :func:`correct`.

    Args:
        ids: of the keys of both runs' rows.
        backoff: share of a predicate's facts without a template, in the baseline.
    """
    _Comparison(before, after, ids, grouping, codes, errors).fill(groups)
    facts = FactTables(before, grouping, len(codes), backoff)
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
class _Samples:
    """Rows of a group, by number: added, removed and kept, in the numbering of this run or of the baseline."""

    added: Ints
    removed: Ints
    kept_before: Ints
    kept_after: Ints

    def compared(self) -> tuple[list[Ints], list[Ints]] | None:
        """Two disjoint samples, as rows of (baseline, this run) each: the reference, and what is compared with it."""
        came, went, none = len(self.added), len(self.removed), np.empty(0, np.int64)
        if not came + went:
            return None
        if 2 * went < came:
            reference = [np.concatenate([self.kept_before, self.removed]), none]
            return (reference, [none, self.added]) if len(reference[0]) else None
        if 2 * came < went:
            rest = [none, np.concatenate([self.kept_after, self.added])]
            return ([self.removed, none], rest) if len(rest[1]) else None
        return [self.removed, none], [none, self.added]


class _Comparison:
    """The state of comparing one grouping."""

    def __init__(
        self,
        before: ScannedRun,
        after: ScannedRun,
        ids: tuple[Ints, Ints],
        grouping: Grouping,
        codes: GroupCodes,
        errors: Policy,
    ) -> None:
        self.before, self.after, count = before, after, len(codes)
        groups = before.groups[grouping], after.groups[grouping]
        self.matched = match(ids[0] * count + groups[0], ids[1] * count + groups[1], (before.fine, after.fine))
        self.masks = rate_masks(before, errors), rate_masks(after, errors)
        self.rows = Slices.of(groups[0], count), Slices.of(groups[1], count)
        self.pairs = Slices.of(groups[1][self.matched.after], count)

    def fill(self, groups: list[GroupFigures]) -> None:
        """Set ``change`` of each group."""
        for code, group in enumerate(groups):
            earlier, current, pairs = self.rows[0][code], self.rows[1][code], self.pairs[code]
            samples = _Samples(
                current[self.matched.added[current]],
                earlier[self.matched.removed[earlier]],
                self.matched.before[pairs],
                self.matched.after[pairs],
            )
            was, now = self.before.fine[samples.kept_before], self.after.fine[samples.kept_after]
            group["change"] = Change(
                rows_before=len(earlier),
                added=len(samples.added),
                removed=len(samples.removed),
                kept=len(pairs),
                flips=int(((was != now) & (was >= 0) & (now >= 0)).sum()),
                backoff_before=None,
                rates={name: self._rate(name, samples, earlier, group["rates"][name]) for name in RATES},
                confidence=self._confidence(samples, earlier, current),
            )

    def _rate(self, name: str, samples: _Samples, earlier: Ints, after: Rate) -> RateChange:
        (counted0, hit0), (counted1, hit1) = self.masks[0][name], self.masks[1][name]
        before = rate(int(hit0[earlier].sum()), int(counted0[earlier].sum()))
        tests = []
        both = counted0[samples.kept_before] & counted1[samples.kept_after]
        was, now = hit0[samples.kept_before][both], hit1[samples.kept_after][both]
        lost, gained = int((was & ~now).sum()), int((now & ~was).sum())
        if lost + gained:
            statistic, p = mcnemar(lost, gained)
            tests.append(_test("mcnemar", len(was), len(was), statistic, p))
        compared = samples.compared()
        if compared is not None:
            sides = []
            for old, new in compared:
                hits = int(hit0[old].sum() + hit1[new].sum())
                sides.append((hits, int(counted0[old].sum() + counted1[new].sum())))
            (other, m), (count, n) = sides
            if n and m:
                which, statistic, p = two_proportions(count, n, other, m)
                tests.append(_test(which, m, n, statistic, p))
        change = RateChange(
            before=before, after=after, difference=None, low=None, high=None, tests=tests, significant=False
        )
        if before["value"] is not None and after["value"] is not None:
            n0, n1 = before["n"], after["n"]
            difference = change["difference"] = after["value"] - before["value"]
            came = int(hit1[samples.added].sum()), int(counted1[samples.added].sum())
            went = int(hit0[samples.removed].sum()), int(counted0[samples.removed].sum())
            change["low"], change["high"] = combined(
                difference,
                [(came[1] / n1, *came), (-went[1] / n0, *went)],
                (lost + gained - (gained - lost) ** 2 / max(len(was), 1)) / (n0 * n1),
            )
        return change

    def _confidence(self, samples: _Samples, earlier: Ints, current: Ints) -> ConfidenceChange:
        c0, c1 = self.before.confidence, self.after.confidence
        change = ConfidenceChange(
            before=confidence_of(c0[earlier]),
            psi=stability_index(_known(c0[earlier]), _known(c1[current])),
            ks=None,
            tests=[],
            significant=False,
        )
        compared = samples.compared()
        if compared is not None:
            reference, new = (_known(np.concatenate([c0[old], c1[now]])) for old, now in compared)
            if len(reference) and len(new):
                distance, p = kolmogorov_smirnov(reference, new)
                change["ks"] = distance
                change["tests"].append(_test("kolmogorov_smirnov", len(reference), len(new), distance, p))
        return change


def _known(values: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    return values[~np.isnan(values)]


def _test(name: str, before: int, after: int, statistic: float, p: float) -> Test:
    return Test(name=name, n_before=before, n_after=after, statistic=statistic, p=p, q=p, significant=False)
