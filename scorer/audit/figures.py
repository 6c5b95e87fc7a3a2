"""The figures of every group of a run, from what the scan counted and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..metric.verdict import FINE
from ..scoring.counts import OTHER_PREDICATES
from ..stats.intervals import rate
from . import queries
from .confidences import Confidences
from .document import BySize, Duplicates, GroupFigures, Predicate, Rate
from .effects import RunRates
from .gates import describe
from .grouping import Grouping
from .scan import FACT_CLASSES, LENGTH_CLASSES, Classes, ScannedRun
from .states import Counts, labels

MOST_PREDICATES = 200
MOST_PREDICATES_OF_GROUP = 20
SHOWN_FROM = 1.2
"""A design effect above this is shown to people."""


def group_figures(
    rates: RunRates, grouping: Grouping, confidences: Confidences, before: Mapping[str, float]
) -> list[GroupFigures]:
    """The figures of one grouping's groups, by code. ``change`` is left null, and no predicate is marked.

    Args:
        before: omission rates of predicates in the baseline, which are shown for all rows.
    """
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
        predicates, left_out = facts.predicates(code, before if not grouping else {})
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

    def predicates(self, group: int, before: Mapping[str, float]) -> tuple[list[Predicate], int]:
        """The predicates of a group by falling omission rate, and how many more there are."""
        checked, omitted = self.checked[group], self.omitted[group]
        there = np.flatnonzero(checked)
        ranked = sorted(there.tolist(), key=lambda p: (-omitted[p] / checked[p], -checked[p], self.names[p]))
        found = [
            Predicate(
                predicate=self.names[p],
                omission=rate(omitted[p], checked[p]),
                backoff=self.shares[p],
                before=before.get(self.names[p]),
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
