"""The figures of every group of a run, from what the scan counted and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..metric.verdict import FINE
from ..scoring.summary import OTHER_PREDICATES
from ..stats.design_effect import ClusterSums, correlation
from ..stats.intervals import rate
from ..stats.mantel_haenszel import Sample
from . import queries
from .database import Grouping, Ints
from .document import BySize, Duplicates, GroupFigures, Predicate, Rate
from .gates import describe
from .queries import Confidences
from .scan import FACT_CLASSES, LENGTH_CLASSES, Classes, Counts, Policy, ScannedRun, labels

MOST_PREDICATES = 200
MOST_PREDICATES_OF_GROUP = 20
SHOWN_FROM = 1.2
"""A design effect above this is shown to people."""


_FIRST = "not_ok_rate"

Sums = Mapping[str, Sequence[ClusterSums]]
"""By rate: of each group."""
Samples = list[dict[str, Sample]]
"""Of each group: by rate, the rows that count for it, the hits, and their design effect."""


def cluster_sums(found: Mapping[str, Ints]) -> Sums:
    """From a query of sums. int64, *Shape:* (groups, 6) each."""
    return {name: [ClusterSums(*sums) for sums in one.tolist()] for name, one in found.items()}


class RunRates:
    """The rates of a run by group, with their design effects."""

    def __init__(self, run: ScannedRun, errors: Policy) -> None:
        self.run, self.masks = run, run.rate_states(errors)
        self._sums: dict[Grouping, Sums] = {}

    def samples(self, grouping: Grouping, rows: queries.Rows = "all") -> Samples:
        """Of all rows, or of some whose inputs are correlated as those of all rows are."""
        within = correlations(self._of_all(grouping), {name: one[0] for name, one in self._of_all(()).items()})
        sums = self._of_all(grouping) if rows == "all" else self._sums_of(grouping, rows)
        return [
            {
                name: Sample(one[group].hits, one[group].rows, one[group].effect(known[name]))
                for name, one in sums.items()
            }
            for group, known in enumerate(within)
        ]

    def _of_all(self, grouping: Grouping) -> Sums:
        if grouping not in self._sums:
            self._sums[grouping] = self._sums_of(grouping, "all")
        return self._sums[grouping]

    def _sums_of(self, grouping: Grouping, rows: queries.Rows) -> Sums:
        return cluster_sums(queries.clusters(self.run, grouping, self.masks, rows))


def correlations(sums: Sums, everything: Mapping[str, ClusterSums]) -> list[dict[str, float]]:
    """How rows that share an input are correlated in each group, by rate.

    Few inputs estimate this badly, and too small a value makes false alarms: it is taken to be at least the mean of all
    groups. Where a group cannot tell (few inputs, or no row differs) that mean is taken, then the one of the not_OK
    rate, then what all rows say; where these cannot tell either, 0.

    Args:
        sums: by rate, of each group. everything: by rate, of all rows.
    """
    of_all = {name: correlation(one) for name, one in everything.items()}
    own = {name: [correlation(one) for one in groups] for name, groups in sums.items()}
    mean = {name: _mean(own[name], groups) for name, groups in sums.items()}
    found: list[dict[str, float]] = []
    for group in range(len(sums[_FIRST])):
        known = {}
        for name in sums:
            others = (mean[name], mean[_FIRST], of_all.get(name), of_all.get(_FIRST))
            least = next((one for one in others if one is not None), 0.0)
            known[name] = max(own[name][group] or 0.0, least)
        found.append(known)
    return found


def _mean(values: Sequence[float | None], groups: Sequence[ClusterSums]) -> float | None:
    """Of the groups that can tell, by rows."""
    told = [(value, one.rows) for value, one in zip(values, groups, strict=True) if value is not None]
    return sum(value * rows for value, rows in told) / sum(rows for _, rows in told) if told else None


def group_figures(rates: RunRates, grouping: Grouping, confidences: Confidences) -> list[GroupFigures]:
    """The figures of one grouping's groups, by code. ``change`` is left null, and no predicate is marked."""
    run = rates.run
    states = queries.states(run, grouping)
    errors, notes = queries.errors(run, grouping), queries.notes(run, grouping)
    reused = queries.reused(run, grouping).tolist()
    by_facts, by_length = queries.by_facts(run, grouping), queries.by_length(run, grouping)
    repeats = queries.repeats(run, grouping)
    samples = rates.samples(grouping)
    facts = FactTables(run, grouping)
    found = []
    for code, group in enumerate(run.database.groups[grouping].groups()):
        by_label, rows = labels(states[code]), int(states[code].sum())
        shares = {name: rate(one.count, one.n, one.effect) for name, one in samples[code].items()}
        effects = {name: one.effect for name, one in samples[code].items()}
        predicates, left_out = facts.predicates(code)
        distinct = int(repeats.distinct[code])
        found.append(
            GroupFigures(
                group=group,
                grouping=list(grouping),
                rows=rows,
                scored=sum(by_label) - reused[code],
                reused=reused[code],
                fine=dict(zip(FINE, by_label, strict=True)),
                rough={"OK": by_label[0], "not_OK": sum(by_label) - by_label[0]},
                errors=_named(errors[code], run.errors.names),
                notes=_named(notes[code], run.notes.names),
                rates=shares,
                labels={
                    name: rate(n, shares["not_ok_rate"].n, effects["not_ok_rate"])
                    for name, n in zip(FINE, by_label, strict=True)
                },
                design_effects=effects,
                backoff=facts.missed(code),
                confidence=confidences.distribution(code),
                predicates=predicates,
                predicates_left_out=left_out,
                by_facts=_by_size(run, FACT_CLASSES, by_facts[code]),
                by_length=_by_size(run, LENGTH_CLASSES, by_length[code]) if run.has_text else [],
                duplicates=Duplicates(
                    rows=rows, distinct=distinct, repeated=rows - distinct, most=int(repeats.most[code])
                ),
                change=None,
            )
        )
    return found


def effect_notes(groups: Sequence[GroupFigures]) -> list[str]:
    """The design effect of the not_OK rate where it is worth a sentence: of all rows, and the largest of any group."""
    shown = [*groups[:1], *sorted(groups[1:], key=lambda group: -group.design_effects["not_ok_rate"])[:1]]
    return [
        f"{describe(group.group)}: rows share inputs or are duplicates; they say as much about the not_OK rate as "
        f"{group.rows / effect:,.0f} independent rows would (design effect {effect:.1f}), which the intervals and "
        "tests take into account"
        for group in shown
        if (effect := group.design_effects["not_ok_rate"]) > SHOWN_FROM
    ]


class FactTables:
    """Facts of a grouping by group and predicate, and how they are shown.

    ``shares``: of each predicate's facts, without a template, as the run counted them; ``None`` where it did not.
    """

    def __init__(self, run: ScannedRun, grouping: Grouping) -> None:
        self.names, self.most = run.predicates.names, MOST_PREDICATES_OF_GROUP if grouping else MOST_PREDICATES
        self.codes = {name: code for code, name in enumerate(self.names)}
        self.all, self.checked, self.omitted = queries.facts(run, grouping)
        counted = run.output.summary.counts.facts.by_predicate
        known = {name: one.backoff / one.all if one.all else 0.0 for name, one in counted.items()}
        self.shares = [known.get(name, known.get(OTHER_PREDICATES)) for name in self.names]
        self.known = run.has_facts and None not in self.shares
        self.weights = np.array([one or 0.0 for one in self.shares])

    def missed(self, group: int) -> Rate | None:
        """Facts of a group without a template; ``None`` where the run did not count them by predicate."""
        if not self.known:
            return None
        facts = self.all[group]
        return rate(round(float((facts * self.weights).sum())), int(facts.sum()))

    def omission(self, group: int, predicate: str) -> Rate | None:
        """The omission rate of a predicate in a group; ``None`` where it was not checked."""
        code = self.codes.get(predicate)
        if code is None or not self.checked[group, code]:
            return None
        return rate(self.omitted[group, code], self.checked[group, code])

    def predicates(self, group: int) -> tuple[list[Predicate], int]:
        """The predicates of a group by falling omission rate, and how many more there are."""
        checked, omitted = self.checked[group], self.omitted[group]
        there = np.flatnonzero(checked)
        ranked = sorted(there.tolist(), key=lambda p: (-omitted[p] / checked[p], -checked[p], self.names[p]))
        found = [
            Predicate(
                predicate=self.names[p],
                omission=rate(omitted[p], checked[p]),
                backoff=self.shares[p],
                before=None,
                suspect=False,
            )
            for p in ranked[: self.most]
        ]
        return found, len(ranked) - len(found)


def _named(counts: Counts, names: Sequence[str]) -> dict[str, int]:
    """Counts by name, most frequent first; what does not occur is left out. Each of joined notes counts. *Shape:*
    (names,)."""
    found: dict[str, int] = {}
    for joined, count in zip(names, counts.tolist(), strict=True):
        for name in joined.split("+"):
            found[name] = found.get(name, 0) + count
    return {name: found[name] for name in sorted(found, key=lambda name: (-found[name], name)) if found[name]}


def _by_size(run: ScannedRun, classes: Classes, counts: Counts) -> list[BySize]:
    """Classes of labelled rows that have any. ``counts``: by class and FINE label."""
    found = []
    for (least, most), by_label in zip(classes, counts, strict=True):
        n = int(by_label.sum())
        omission = rate(int(by_label[1] + by_label[3]), n) if run.omissions_checked else rate(0, 0)
        hallucination = rate(int(by_label[2] + by_label[3]), n)
        found.append(BySize(least=least, most=most, rows=n, omission=omission, hallucination=hallucination))
    return [one for one in found if one.rows]
