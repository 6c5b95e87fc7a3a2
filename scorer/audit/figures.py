"""The figures of every group of a run, from the counts in the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..metric.verdict import FINE
from ..scoring.summary import OTHER_PREDICATES
from ..stats.intervals import ClusterSums, Sample, correlation, rate
from . import queries
from .database import Grouping, Ints
from .document import GroupFigures, Predicate, Rate
from .scan import FINE_OF, ScannedRun, rate_states

MOST_PREDICATES, MOST_PREDICATES_OF_GROUP = 200, 20
_FIRST = "not_ok_rate"
Samples = list[dict[str, Sample]]
"""Of each group: by rate, the rows that count for it, the hits, and their design effect."""


class RunRates:
    """The rates of a run by group, with their design effects."""

    def __init__(self, run: ScannedRun) -> None:
        self.run, self.masks = run, rate_states(run.omissions_checked)
        self._sums: dict[Grouping, dict[str, list[ClusterSums]]] = {}

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

    def _of_all(self, grouping: Grouping) -> dict[str, list[ClusterSums]]:
        if grouping not in self._sums:
            self._sums[grouping] = queries.clusters(self.run, grouping, self.masks)
        return self._sums[grouping]


def correlations(
    sums: Mapping[str, Sequence[ClusterSums]], of_all: Mapping[str, float | None]
) -> list[dict[str, float]]:
    """How rows that share an input are correlated in each group, by rate.

    Few inputs estimate this badly, and too small a value makes false alarms: it is taken to be at least the mean of all
    groups. Where a group cannot tell (few inputs, or no row differs) that mean is taken, then the one of the not_OK
    rate, then what all rows say; where these cannot tell either, 0.

    Args:
        sums: by rate, of each group. of_all: by rate, the correlation of all rows.
    """
    own = {name: [correlation(one) for one in groups] for name, groups in sums.items()}
    mean = {name: _mean(own[name], groups) for name, groups in sums.items()}
    least = {}
    for name in sums:
        others = (mean[name], mean[_FIRST], of_all.get(name), of_all.get(_FIRST))
        least[name] = next((one for one in others if one is not None), 0.0)
    groups = range(len(sums[_FIRST]))
    return [{name: max(own[name][group] or 0.0, least[name]) for name in sums} for group in groups]


def _mean(values: Sequence[float | None], groups: Sequence[ClusterSums]) -> float | None:
    """Of the groups that can tell, by rows."""
    told = [(value, one.rows) for value, one in zip(values, groups, strict=True) if value is not None]
    return sum(value * rows for value, rows in told) / sum(rows for _, rows in told) if told else None


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
    """Facts of a grouping by group and predicate, and how they are shown.

    ``shares``: of each predicate's facts, without a template, as the run counted them; ``None`` where it did not.
    """

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
    found: dict[str, int] = {}
    for joined, count in zip(names, counts.tolist(), strict=True):
        for name in joined.split("+"):
            found[name] = found.get(name, 0) + count
    return {name: found[name] for name in sorted(found, key=lambda name: (-found[name], name)) if found[name]}
