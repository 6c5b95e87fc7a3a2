"""The figures of every group of a run, from the counts in the database, and how they changed since the baseline.

**A rate** is tested once: rows with the same facts in both runs are pairs, the other added and removed rows two
samples; all rows are tested within the groups of a grouping. Where fewer than half as many were removed as added, these
are compared with all of the baseline's rows of the group, and vice versa. The interval of a difference takes rows that
both runs have as fixed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from ..errors import UsageError
from ..metric.verdict import FINE
from ..scoring.output_columns import by_value, spelled
from ..scoring.summary import OTHER_PREDICATES
from ..stats.intervals import ClusterSums, PairedCounts, Sample, combined, correlation, interval_of_difference, rate
from ..stats.paired import paired_rate
from ..stats.significance import benjamini_hochberg, compare_strata
from . import queries
from .database import Grouping, Ints
from .document import (
    ADDED_RATES,
    RATES,
    AddedRate,
    Change,
    ConfidenceChange,
    GroupComparison,
    GroupFigures,
    Predicate,
    Rate,
    RateChange,
    Test,
)
from .mix import add_mix, shared_inputs
from .scan import FINE_OF, LEFT_OUT, Bools, ScannedRun, rate_states

LEVEL = 0.05
MOST_PREDICATES, MOST_PREDICATES_OF_GROUP = 200, 20
_FIRST = "not_ok_rate"
Samples = list[dict[str, Sample]]
"""Sample of each group and rate: the rows that count for it, the hits, and their design effect."""


class RunRates:
    """The rates of a run by group, with their design effects."""

    def __init__(self, run: ScannedRun) -> None:
        self.run, self.masks = run, rate_states(run.output.sides, run.contradictions_known)
        self._of_all = cache(lambda grouping: queries.clusters(run, grouping, self.masks))
        self.samples = cache(self._samples)

    def _samples(self, grouping: Grouping, rows: queries.RowSubset = "all") -> Samples:
        """The samples of all rows, or of some of them, which takes matched runs; the rows of an input are as correlated
        in some of the rows as in all."""
        of_all = {name: correlation(groups[0]) for name, groups in self._of_all(()).items()}
        within = correlations(self._of_all(grouping), of_all)
        sums = self._of_all(grouping) if rows == "all" else queries.clusters(self.run, grouping, self.masks, rows)
        return [
            {
                name: Sample(groups[group].hits, groups[group].rows, groups[group].effect(group_correlations[name]))
                for name, groups in sums.items()
            }
            for group, group_correlations in enumerate(within)
        ]


def correlations(
    sums: Mapping[str, Sequence[ClusterSums]], of_all: Mapping[str, float | None]
) -> list[dict[str, float]]:
    """Correlation of rows that share an input in each group, by rate.

    Few inputs give a poor estimate, and a value that is too small makes false alarms, so the mean of all groups by rows
    is a lower limit. Where no group has an estimate (few inputs, or no row differs), the limit is the mean for the
    not_OK rate, then the estimate of all rows, then 0.

    Args:
        sums: sums over the inputs of each group, by rate.
        of_all: estimates of all rows, by rate.
    """
    estimates = {name: [correlation(group) for group in groups] for name, groups in sums.items()}
    mean, least = {}, {}
    for name, groups in sums.items():
        estimated = [
            (value, group.rows) for value, group in zip(estimates[name], groups, strict=True) if value is not None
        ]
        mean[name] = (
            sum(value * rows for value, rows in estimated) / sum(rows for _, rows in estimated) if estimated else None
        )
        fallbacks = (mean[name], mean[_FIRST], of_all.get(name), of_all.get(_FIRST))
        least[name] = next((estimate for estimate in fallbacks if estimate is not None), 0.0)
    number = len(sums[_FIRST])
    return [{name: max(estimates[name][group] or 0.0, least[name]) for name in sums} for group in range(number)]


def group_figures(rates: RunRates, grouping: Grouping) -> list[GroupFigures]:
    """The figures of one grouping's groups, by code. ``change`` is left null, and no predicate is marked."""
    run, facts, counts = rates.run, FactTables(rates.run, grouping), queries.row_counts(rates.run, grouping)
    samples, confidences = rates.samples(grouping), queries.confidences(run, grouping)
    figures = []
    for code, group in enumerate(run.database.groups[grouping].groups()):
        by_label = [int(counts.states[code][label == FINE_OF].sum()) for label in range(len(FINE))]
        predicates, left_out = facts.predicates(code)
        reused = int(counts.reused[code])
        figures.append(
            GroupFigures(
                group=group,
                grouping=list(grouping),
                rows=int(counts.states[code].sum()),
                scored=sum(by_label) - reused,
                reused=reused,
                fine=dict(zip(FINE, by_label, strict=True)),
                rough={"OK": by_label[0], "not_OK": sum(by_label[1:])},
                errors=_named(counts.errors[code], run.errors),
                notes=_named(counts.notes[code], run.notes),
                not_ok_by_note=_named(counts.not_ok_by_notes[code], run.notes),
                rates={name: sample.rate for name, sample in samples[code].items()},
                design_effects={name: sample.effect for name, sample in samples[code].items()},
                left_out=rate(int(counts.states[code][LEFT_OUT].sum()), int(counts.states[code].sum()))
                if run.contradictions_known
                else None,
                backoff=facts.missed(code),
                confidence=confidences[code],
                predicates=predicates,
                predicates_left_out=left_out,
            )
        )
    return figures


class FactTables:
    """Facts of a grouping by group and predicate.

    Attributes:
        shares: share of each predicate's facts without a template in the whole run; ``None`` where it was not counted.
    """

    def __init__(self, run: ScannedRun, grouping: Grouping) -> None:
        self.codes, self.names = run.predicates, list(run.predicates)
        self.most = MOST_PREDICATES_OF_GROUP if grouping else MOST_PREDICATES
        self.all, self.checked, self.omitted, self.contradicted = queries.facts(run, grouping)
        self.contradictions_known = run.contradictions_known
        counted = run.output.summary.counts.facts.by_predicate
        counted_shares = {name: counts.backoff / counts.all if counts.all else 0.0 for name, counts in counted.items()}
        self.shares = [counted_shares.get(name, counted_shares.get(OTHER_PREDICATES)) for name in self.names]
        self.known = run.facts is not None and None not in self.shares
        self.weights = np.array([share or 0.0 for share in self.shares])

    def missed(self, group: int) -> Rate | None:
        """Facts of a group without a template."""
        if not self.known:
            return None
        facts = self.all[group]
        return rate(round(float((facts * self.weights).sum())), int(facts.sum()))

    def omission(self, group: int, predicate: str) -> Rate | None:
        code = self.codes.get(predicate)
        if code is None or not self.checked[group, code]:
            return None
        return rate(self.omitted[group, code], self.checked[group, code])

    def predicates(self, group: int) -> tuple[list[Predicate], int]:
        """The predicates of a group by falling omission rate, and the number of those left out."""
        checked, omitted, wrong = self.checked[group], self.omitted[group], self.contradicted[group]
        occurring = np.flatnonzero(checked).tolist()
        ranked = sorted(occurring, key=lambda p: (-omitted[p] / checked[p], -checked[p], self.names[p]))
        predicates = [
            Predicate(predicate=self.names[p], omission=rate(omitted[p], checked[p]),
                      contradicted=rate(wrong[p], checked[p]) if self.contradictions_known else None,
                      backoff=self.shares[p], before=None, suspect=False)
            for p in ranked[: self.most]
        ]  # fmt: skip
        return predicates, len(ranked) - len(predicates)


def _named(counts: Ints, names: Iterable[str]) -> dict[str, int]:
    """Counts by name, most frequent first, without those that are 0. Joined notes count singly. *Shape:* (names,)."""
    count_of: Counter[str] = Counter()
    for joined, count in zip(names, counts.tolist(), strict=True):
        for name in joined.split("+"):
            count_of[name] += count
    return {name: count for name, count in sorted(count_of.items(), key=lambda item: (-item[1], item[0])) if count}


class Sides(NamedTuple):
    """Samples of a group in both runs."""

    baseline: Sample
    """All rows of the baseline."""
    current: Sample
    """All rows of this run."""
    removed: Sample
    """Rows of the baseline only."""
    added: Sample
    """Rows of this run only."""
    removed_unpaired: Sample
    """Rows of the baseline only that are in no rewritten pair."""
    added_unpaired: Sample
    """Rows of this run only that are in no rewritten pair."""


def _side_samples(before: RunRates, after: RunRates, grouping: Grouping) -> list[Samples]:
    """The samples of a grouping's groups, in the order of :class:`Sides`."""
    return [run.samples(grouping, rows) for rows in ("all", "moved", "single") for run in (before, after)]


def _parts_of(all_rows: Sides, samples: Sequence[Samples], name: str) -> list[Sides]:
    """All rows divided by group. Where groups share inputs, the design effect of all rows exceeds that of each group;
    the effects of the groups are raised by the same factor."""
    groups = [Sides(*(side[code][name] for side in samples)) for code in range(len(samples[0]))]
    factor = shared_inputs(all_rows.current.effect, [(sides.current.n, sides.current.effect) for sides in groups])
    return [Sides(*(replace(side, effect=side.effect * factor) for side in sides)) for sides in groups]


def add_new_rows(rates: RunRates, figures: Mapping[Grouping, Sequence[GroupFigures]], has_baseline: bool) -> None:
    """Fill ``new`` of the groups. With a baseline, the runs must be matched already."""
    for grouping, groups in figures.items():
        for group, states in zip(groups, queries.new(rates.run, grouping, has_baseline), strict=True):
            hits = {name: int(states[hit].sum()) for name, (_, hit) in rates.masks.items()}
            group.new = {"rows": int(states.sum()), **hits}


def compare_runs(
    before: RunRates, after: RunRates, figures: Mapping[Grouping, Sequence[GroupFigures]], by: Sequence[Grouping]
) -> None:
    """Match two runs, and fill ``change`` of their groups.

    Args:
        by: groupings that are shown, and tested together; the groups of the first one are the strata of all rows.
    """
    queries.match(before.run, after.run)
    first = by[0] if by else None
    for grouping, groups in figures.items():
        _add_changes(before, after, grouping, groups, first if not grouping else None)
    if first is not None:
        add_mix(figures[()][0], figures[first])
    _correct([group for grouping in dict.fromkeys([(), *by]) for group in figures[grouping]])


def _add_changes(
    before: RunRates,
    after: RunRates,
    grouping: Grouping,
    groups: Sequence[GroupFigures],
    strata: Grouping | None = None,
) -> None:
    """Fill ``change`` of a grouping's groups of two runs that are matched; q-values come later, by :func:`_correct`.

    Args:
        strata: for all rows, a grouping: the test is within its groups; by default all rows are one stratum.
    """
    baseline, current = before.run, after.run
    kept_counts, rewritten_counts = queries.kept(current, grouping), queries.rewritten(current, grouping)
    removed, added = (queries.moved(run, grouping).sum(axis=1) for run in (baseline, current))
    states_before = queries.row_counts(baseline, grouping).states
    confidences, buckets = (
        queries.confidences(baseline, grouping),
        queries.confidence_buckets(baseline, current, grouping),
    )
    facts_before = FactTables(baseline, grouping)
    pair_sums = queries.clusters_of_pairs(current, grouping, before.masks, after.masks)
    samples = _side_samples(before, after, grouping)
    strata_samples = _side_samples(before, after, strata) if strata is not None else None
    changed = (FINE_OF[:, None] != FINE_OF) & (FINE_OF[:, None] >= 0) & (FINE_OF >= 0)
    for code, group in enumerate(groups):
        for predicate in group.predicates:
            predicate.before = facts_before.omission(code, predicate.predicate)
        rates, added_rates = {}, {}
        for name in RATES:
            pairs, kept_pairs = (
                as_pairs(counts[code], before.masks[name], after.masks[name])
                for counts in (rewritten_counts, kept_counts)
            )
            sums = pair_sums[name][code]
            pairs = replace(pairs, effect=sums.effect(correlation(sums, pairs.gained + pairs.lost) or 0.0))
            sides = Sides(*(of_side[code][name] for of_side in samples))
            parts = [sides] if strata_samples is None else _parts_of(sides, strata_samples, name)
            rates[name] = rate_change(sides, parts, pairs, kept_pairs)
            added_rates[f"added_{name}"] = added_rate(sides, parts, pairs)
        group.change = Change(
            rows_before=int(states_before[code].sum()),
            added=int(added[code]),
            removed=int(removed[code]),
            kept=int(kept_counts[code].sum()),
            rewritten=int(rewritten_counts[code].sum()),
            flips=int(kept_counts[code][changed].sum()),
            backoff_before=facts_before.missed(code),
            rates=rates,
            added_rates={name: added_rates[name] for name in ADDED_RATES},
            confidence=ConfidenceChange(before=confidences[code], psi=stability_index(*buckets[code])),
        )


def _correct(groups: Sequence[GroupFigures]) -> None:
    """Correct the p-values of all tests of an audit together, and mark the significant ones.

    Tests of contradicted facts are a family of their own: they are about the kind of an omission, and must not hide
    that omissions increased.
    """
    changes = [group.change.rates for group in groups if group.change is not None]
    for names in ([name for name in RATES if name != "contradicted_rate"], ["contradicted_rate"]):
        tests = [test for rates in changes for name in names if (test := rates[name].test) is not None]
        for test, q in zip(tests, benjamini_hochberg([test.p for test in tests]).tolist(), strict=True):
            test.q, test.significant = q, q < LEVEL


def as_pairs(counts: Ints, before: tuple[Bools, Bools], after: tuple[Bools, Bools]) -> PairedCounts:
    """Pairs of a rate, from counts of pairs by both states.

    Args:
        counts: *Shape:* (STATES, STATES).
        before, after: states that count for the rate, and states that are hits, in each run.
    """
    (counted0, hit0), (counted1, hit1) = before, after
    both_hit, lost_hit, gained_hit, neither_hit = (
        int(counts[np.ix_(earlier, later)].sum())
        for earlier in (hit0, counted0 & ~hit0)
        for later in (hit1, counted1 & ~hit1)
    )
    return PairedCounts(both_hit, gained_hit, lost_hit, neither_hit)


def rate_change(sides: Sides, parts: Sequence[Sides], pairs: PairedCounts, kept_pairs: PairedCounts) -> RateChange:
    """A rate of a group in both runs, with its test; ``q`` is not yet corrected.

    Args:
        sides: all rows of the group.
        parts: the same rows in the strata of the test.
        pairs: rewritten pairs.
        kept_pairs: rows in both runs, as pairs.
    """
    before, after = sides.baseline, sides.current
    change = RateChange(before=before.rate, after=after.rate, difference=None, low=None, high=None, test=None)
    strata = list(_tested_sides(parts))
    changed = kept_pairs if kept_pairs.gained + kept_pairs.lost else PairedCounts()  # only where the scoring did
    all_pairs = pairs.plus(changed)
    if tested := compare_strata(all_pairs, strata):
        n1, n0 = (all_pairs.n + sum(sample.n for sample in side) for side in zip(*strata, strict=True))
        change.test = Test(n_before=n0, n_after=n1, statistic=tested.z, p=tested.p, q=tested.p, significant=False)
    if change.before.value is not None and change.after.value is not None:
        change.difference = change.after.value - change.before.value
        moved = kept_pairs.gained + kept_pairs.lost - (kept_pairs.gained - kept_pairs.lost) ** 2 / max(kept_pairs.n, 1)
        variance = moved / (before.n * after.n)
        change.low, change.high = _ends(change.difference, before.n, after.n, sides, pairs, variance)
    return change


def _tested_sides(parts: Sequence[Sides]) -> Iterator[tuple[Sample, Sample]]:
    """(later, earlier) of each stratum: rows in one run only, or all of a side that has few of them."""
    for side in parts:
        if 2 * side.removed_unpaired.n < side.added_unpaired.n:
            yield side.added_unpaired, side.baseline
        elif 2 * side.added_unpaired.n < side.removed_unpaired.n:
            yield side.current, side.removed_unpaired
        else:
            yield side.added_unpaired, side.removed_unpaired


def added_rate(sides: Sides, parts: Sequence[Sides], pairs: PairedCounts) -> AddedRate:
    """A rate of the added rows of a group; arguments as of :func:`rate_change`."""
    removed, added = sides.removed, sides.added
    replaced = 2 * removed.n >= added.n
    before = removed if replaced else sides.baseline
    result = AddedRate(added=added.rate, before=before.rate, compared_with="removed" if replaced else "baseline",
                      low=None, high=None, p=None)  # fmt: skip
    if added.n and before.n:
        if replaced:
            strata = [
                (side.added_unpaired, side.baseline)
                if 2 * side.removed_unpaired.n < side.added_unpaired.n
                else (side.added_unpaired, side.removed_unpaired)
                for side in parts
            ]
            tested = compare_strata(pairs, strata)
            difference = added.count / added.n - removed.count / removed.n
            result.low, result.high = _ends(difference, removed.n, added.n, sides, pairs)
        else:
            tested = compare_strata(PairedCounts(), [(side.added, side.baseline) for side in parts])
            result.low, result.high = interval_of_difference(result.added, result.before)
        result.p = tested.p_rise if tested is not None else None
    return result


def _ends(
    difference: float, n0: int, n1: int, sides: Sides, pairs: PairedCounts, variance: float = 0.0
) -> tuple[float, float]:
    """The interval of a difference between rates of ``n0`` and ``n1`` rows, some of which are in both runs."""
    removed, added = sides.removed_unpaired, sides.added_unpaired
    samples = [(added.n / n1, added.rate), (-removed.n / n0, removed.rate)]
    return combined(difference, samples, pairs, (pairs.n / n1, pairs.n / n0), variance)


def compare_groups(
    rates: RunRates, grouping: Grouping, groups: Sequence[GroupFigures], requested: tuple[str, str] | None
) -> GroupComparison | None:
    """Two groups over the inputs that both have a text for: the requested ones, or the two largest; ``None`` where
    there are no two, they share no input, or a third has as many rows as the second.

    Raises:
        UsageError: no group has a requested value, or the grouping is not by one column.
    """
    if requested is None:
        largest = sorted(range(len(groups)), key=lambda code: -groups[code].rows)
        if len(largest) > 2 and groups[largest[1]].rows == groups[largest[2]].rows:
            return None
        codes = sorted(largest[:2], key=lambda code: [value or "" for value in groups[code].group.values()])
    elif len(grouping) != 1:
        raise UsageError("--compare names two values of one column; name the column with --by")
    else:
        values = [spelled(group.group[grouping[0]]) for group in groups]
        codes_by_value = {by_value(value): code for code, value in enumerate(values)}
        if missing := [value for value in requested if by_value(value) not in codes_by_value]:
            existing = ", ".join(sorted(values)[:20])
            raise UsageError(f"--compare: no row has {grouping[0]}={missing[0]}; there is {existing}")
        codes = [codes_by_value[by_value(value)] for value in requested]
    if len(codes) < 2:
        return None
    first, second = codes
    counts = queries.paired(rates.run, grouping, second, first)  # pairs have the later half first
    pairs = {name: as_pairs(counts, rates.masks[name], rates.masks[name]) for name in RATES}
    rates_of_both = {name: paired_rate(of_rate) for name, of_rate in pairs.items() if of_rate.n}
    total = int(counts.sum())
    sides = groups[first].group, groups[second].group
    return GroupComparison(first=sides[0], second=sides[1], pairs=total, rates=rates_of_both) if total else None


def stability_index(before: Ints, after: Ints) -> float | None:
    """Population stability index: Σ (a - b) · ln(a / b) over the shares of both runs in each bucket that has rows, with
    half a row more. By custom, below 0.1 is not a shift and above 0.25 a large one. *Shape:* (buckets,) each."""
    if not before.sum() or not after.sum():
        return None
    used = (before > 0) | (after > 0)
    b, a = ((counts[used] + 0.5) / (counts[used] + 0.5).sum() for counts in (before, after))
    return float(((a - b) * np.log(a / b)).sum())
