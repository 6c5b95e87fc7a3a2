"""Design effects of the rates of groups: rows that share an input say less than as many independent ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..stats.design_effect import ClusterSums, correlation
from ..stats.mantel_haenszel import Sample
from . import queries
from .database import Ints
from .grouping import Grouping
from .scan import ScannedRun
from .states import Policy

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
