"""The figures of every group of a run, from the counts in the database, and how they changed since the baseline.

**A rate** is tested once: rows with the same facts in both runs are pairs, the other added and removed rows two
samples. Where fewer than half as many were removed as added, these are compared with all of the baseline's rows of the
group, and vice versa. The interval of a difference takes rows that both runs have as fixed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from ..errors import UsageError
from ..metric.verdict import FINE
from ..scoring.output_columns import by_value, spelled
from ..scoring.summary import OTHER_PREDICATES
from ..stats.intervals import ClusterSums, Pairs, Sample, combined, correlation, interval_of_difference, rate
from ..stats.paired import paired_rate
from ..stats.significance import benjamini_hochberg, compare
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
from .scan import FINE_OF, Bools, ScannedRun, rate_states

LEVEL = 0.05
MOST_PREDICATES, MOST_PREDICATES_OF_GROUP = 200, 20
_FIRST = "not_ok_rate"
Samples = list[dict[str, Sample]]
"""Of each group: by rate, the rows that count for it, the hits, and their design effect."""


class RunRates:
    """The rates of a run by group, with their design effects."""

    def __init__(self, run: ScannedRun) -> None:
        self.run, self.masks = run, rate_states(run.omissions_checked)
        self._of_all = cache(lambda grouping: queries.clusters(run, grouping, self.masks))

    def samples(self, grouping: Grouping, rows: queries.Chosen = "all") -> Samples:
        """Of all rows, or of some whose inputs are correlated as those of all rows are."""
        of_all = {name: correlation(one[0]) for name, one in self._of_all(()).items()}
        within = correlations(self._of_all(grouping), of_all)
        sums = self._of_all(grouping) if rows == "all" else queries.clusters(self.run, grouping, self.masks, rows)
        return [
            {
                name: Sample(one[group].hits, one[group].rows, one[group].effect(known[name]))
                for name, one in sums.items()
            }
            for group, known in enumerate(within)
        ]


def correlations(
    sums: Mapping[str, Sequence[ClusterSums]], of_all: Mapping[str, float | None]
) -> list[dict[str, float]]:
    """How rows that share an input are correlated in each group, by rate; ``of_all``: in all rows.

    Few inputs estimate this badly, and too small a value makes false alarms: it is taken to be at least the mean of all
    groups by rows. Where no group can tell (few inputs, or no row differs), that of the not_OK rate is taken, then what
    all rows say; where these cannot tell either, 0.
    """
    own = {name: [correlation(one) for one in groups] for name, groups in sums.items()}
    mean, least = {}, {}
    for name, groups in sums.items():
        told = [(value, one.rows) for value, one in zip(own[name], groups, strict=True) if value is not None]
        mean[name] = sum(value * rows for value, rows in told) / sum(rows for _, rows in told) if told else None
        others = (mean[name], mean[_FIRST], of_all.get(name), of_all.get(_FIRST))
        least[name] = next((one for one in others if one is not None), 0.0)
    number = len(sums[_FIRST])
    return [{name: max(own[name][group] or 0.0, least[name]) for name in sums} for group in range(number)]


def group_figures(rates: RunRates, grouping: Grouping) -> list[GroupFigures]:
    """The figures of one grouping's groups, by code. ``change`` is left null, and no predicate is marked."""
    run, facts, counts = rates.run, FactTables(rates.run, grouping), queries.row_counts(rates.run, grouping)
    samples, confidences = rates.samples(grouping), queries.confidences(run, grouping)
    found = []
    for code, group in enumerate(run.database.groups[grouping].groups()):
        by_label = [int(counts.states[code][label == FINE_OF].sum()) for label in range(len(FINE))]
        predicates, left_out = facts.predicates(code)
        reused = int(counts.reused[code])
        found.append(
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
                rates={name: one.rate for name, one in samples[code].items()},
                design_effects={name: one.effect for name, one in samples[code].items()},
                backoff=facts.missed(code),
                confidence=confidences[code],
                predicates=predicates,
                predicates_left_out=left_out,
            )
        )
    return found


class FactTables:
    """Facts of a grouping by group and predicate. ``shares``: of each predicate's facts, without a template, as the run
    counted them; ``None`` where it did not."""

    def __init__(self, run: ScannedRun, grouping: Grouping) -> None:
        self.codes, self.names = run.predicates, list(run.predicates)
        self.most = MOST_PREDICATES_OF_GROUP if grouping else MOST_PREDICATES
        self.all, self.checked, self.omitted = queries.facts(run, grouping)
        counted = run.output.summary.counts.facts.by_predicate
        known = {name: one.backoff / one.all if one.all else 0.0 for name, one in counted.items()}
        self.shares = [known.get(name, known.get(OTHER_PREDICATES)) for name in self.names]
        self.known = run.facts is not None and None not in self.shares
        self.weights = np.array([one or 0.0 for one in self.shares])

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
        """The predicates of a group by falling omission rate, and how many more there are."""
        checked, omitted = self.checked[group], self.omitted[group]
        there = np.flatnonzero(checked).tolist()
        ranked = sorted(there, key=lambda p: (-omitted[p] / checked[p], -checked[p], self.names[p]))
        found = [
            Predicate(predicate=self.names[p], omission=rate(omitted[p], checked[p]), backoff=self.shares[p],
                      before=None, suspect=False)
            for p in ranked[: self.most]
        ]  # fmt: skip
        return found, len(ranked) - len(found)


def _named(counts: Ints, names: Iterable[str]) -> dict[str, int]:
    """Counts by name, most frequent first; what does not occur is left out. Each of joined notes counts. *Shape:*
    (names,)."""
    found: Counter[str] = Counter()
    for joined, count in zip(names, counts.tolist(), strict=True):
        for name in joined.split("+"):
            found[name] += count
    return {name: count for name, count in sorted(found.items(), key=lambda one: (-one[1], one[0])) if count}


def add_changes(before: RunRates, after: RunRates, grouping: Grouping, groups: Sequence[GroupFigures]) -> None:
    """Fill ``change`` of a grouping's groups of two runs that are matched; q-values come later, by :func:`correct`."""
    was, now = before.run, after.run
    kept, rewritten = queries.kept(now, grouping), queries.rewritten(now, grouping)
    removed, added = (queries.moved(run, grouping).sum(axis=1) for run in (was, now))
    states_before = queries.row_counts(was, grouping).states
    confidences, buckets = queries.confidences(was, grouping), queries.confidence_buckets(was, now, grouping)
    facts_before = FactTables(was, grouping)
    pair_sums = queries.clusters_of_pairs(now, grouping, before.masks, after.masks)
    samples = [run.samples(grouping, rows) for rows in ("all", "moved", "single") for run in (before, after)]
    changed = (FINE_OF[:, None] != FINE_OF) & (FINE_OF[:, None] >= 0) & (FINE_OF >= 0)
    for code, group in enumerate(groups):
        for one in group.predicates:
            one.before = facts_before.omission(code, one.predicate)
        rates, added_rates = {}, {}
        for name in RATES:
            pairs, same = (_as_pairs(one[code], before.masks[name], after.masks[name]) for one in (rewritten, kept))
            sums = pair_sums[name][code]
            pairs = replace(pairs, effect=sums.effect(correlation(sums, pairs.gained + pairs.lost) or 0.0))
            then, this, went, came, gone, fresh = (one[code][name] for one in samples)
            rates[name] = _rate_change(then, this, gone, fresh, pairs, same)
            added_rates[f"added_{name}"] = _added_rate(then, went, came, gone, fresh, pairs)
        group.change = Change(
            rows_before=int(states_before[code].sum()),
            added=int(added[code]),
            removed=int(removed[code]),
            kept=int(kept[code].sum()),
            rewritten=int(rewritten[code].sum()),
            flips=int(kept[code][changed].sum()),
            backoff_before=facts_before.missed(code),
            rates=rates,
            added_rates={name: added_rates[name] for name in ADDED_RATES},
            confidence=ConfidenceChange(before=confidences[code], psi=stability_index(*buckets[code])),
        )


def correct(groups: Sequence[GroupFigures]) -> None:
    """Correct the p-values of all tests of an audit together, and say which are significant."""
    rates = [one for group in groups if group.change is not None for one in group.change.rates.values()]
    tests = [one.test for one in rates if one.test is not None]
    for one, q in zip(tests, benjamini_hochberg([one.p for one in tests]).tolist(), strict=True):
        one.q, one.significant = q, q < LEVEL


def _as_pairs(counts: Ints, before: tuple[Bools, Bools], now: tuple[Bools, Bools]) -> Pairs:
    """Pairs by their states, *Shape:* (STATES, STATES), as a rate sees them: the states that count, and the hits."""
    (counted0, hit0), (counted1, hit1) = before, now
    both, lost, gained, neither = (
        int(counts[np.ix_(one, other)].sum()) for one in (hit0, counted0 & ~hit0) for other in (hit1, counted1 & ~hit1)
    )
    return Pairs(both, gained, lost, neither)


def _rate_change(before: Sample, after: Sample, gone: Sample, fresh: Sample, pairs: Pairs, kept: Pairs) -> RateChange:
    """``gone``, ``fresh``: of rows in one run only, without the ``pairs`` of rewritten ones; ``kept``: of those in
    both."""
    change = RateChange(before=before.rate, after=after.rate, difference=None, low=None, high=None, test=None)
    now, then = fresh, gone
    if 2 * gone.n < fresh.n:
        then = before
    elif 2 * fresh.n < gone.n:
        now = after
    changed = kept if kept.gained + kept.lost else Pairs()  # only where the scoring did
    both = pairs.plus(changed)
    if tested := compare(both, now, then):
        n0, n1 = then.n + both.n, now.n + both.n
        change.test = Test(n_before=n0, n_after=n1, statistic=tested.z, p=tested.p, q=tested.p, significant=False)
    if change.before.value is not None and change.after.value is not None:
        change.difference = change.after.value - change.before.value
        moved = kept.gained + kept.lost - (kept.gained - kept.lost) ** 2 / max(kept.n, 1)
        variance = moved / (before.n * after.n)
        change.low, change.high = _ends(change.difference, before.n, after.n, gone, fresh, pairs, variance)
    return change


def _added_rate(then: Sample, removed: Sample, added: Sample, gone: Sample, fresh: Sample, pairs: Pairs) -> AddedRate:
    replaced = 2 * removed.n >= added.n
    before = removed if replaced else then
    found = AddedRate(added=added.rate, before=before.rate, compared_with="removed" if replaced else "baseline",
                      low=None, high=None, p=None)  # fmt: skip
    if added.n and before.n:
        if replaced:
            tested = compare(pairs, fresh, then if 2 * gone.n < fresh.n else gone)
            difference = added.count / added.n - removed.count / removed.n
            found.low, found.high = _ends(difference, removed.n, added.n, gone, fresh, pairs)
        else:
            tested = compare(Pairs(), added, then)
            found.low, found.high = interval_of_difference(found.added, found.before)
        found.p = tested.p_rise if tested is not None else None
    return found


def _ends(
    difference: float, n0: int, n1: int, gone: Sample, fresh: Sample, pairs: Pairs, variance: float = 0.0
) -> tuple[float, float]:
    """The interval of a difference between rates of ``n0`` and ``n1`` rows, of which these changed."""
    samples = [(fresh.n / n1, fresh.rate), (-gone.n / n0, gone.rate)]
    return combined(difference, samples, pairs, (pairs.n / n1, pairs.n / n0), variance)


def compare_groups(
    rates: RunRates, grouping: Grouping, groups: Sequence[GroupFigures], named: tuple[str, str] | None
) -> GroupComparison | None:
    """Two groups over the inputs that both have a text for: those that are named, or the two largest; ``None`` where
    there are no two, or they share no input.

    Raises:
        UsageError: no group has a value that is named, or the grouping is not by one column.
    """
    if named is None:
        largest = sorted(range(len(groups)), key=lambda code: -groups[code].rows)[:2]
        chosen = sorted(largest, key=lambda code: [value or "" for value in groups[code].group.values()])
    elif len(grouping) != 1:
        raise UsageError("--compare names two values of one column; name the column with --by")
    else:
        values = [spelled(group.group[grouping[0]]) for group in groups]
        places = {by_value(value): place for place, value in enumerate(values)}
        if missing := [value for value in named if by_value(value) not in places]:
            there = ", ".join(sorted(values)[:20])
            raise UsageError(f"--compare: no row has {grouping[0]}={missing[0]}; there is {there}")
        chosen = [places[by_value(value)] for value in named]
    if len(chosen) < 2:
        return None
    first, second = chosen
    counts = queries.paired(rates.run, grouping, second, first)  # pairs have the later half first
    pairs = {name: _as_pairs(counts, rates.masks[name], rates.masks[name]) for name in RATES}
    found = {name: paired_rate(one) for name, one in pairs.items() if one.n}
    total = int(counts.sum())
    sides = groups[first].group, groups[second].group
    return GroupComparison(first=sides[0], second=sides[1], pairs=total, rates=found) if total else None


def stability_index(before: Ints, after: Ints) -> float | None:
    """Population stability index: Σ (a - b) · ln(a / b) over the shares of both runs in each bucket that has rows, with
    half a row more. By custom, below 0.1 is not a shift and above 0.25 a large one. *Shape:* (buckets,) each."""
    if not before.sum() or not after.sum():
        return None
    used = (before > 0) | (after > 0)
    b, a = ((one[used] + 0.5) / (one[used] + 0.5).sum() for one in (before, after))
    return float(((a - b) * np.log(a / b)).sum())
