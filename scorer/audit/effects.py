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

    def samples(self, grouping: Grouping) -> Samples:
        """Of all rows."""
        return self._with_effects(grouping, self._of_all(grouping))

    def of(self, grouping: Grouping, rows: queries.Rows) -> Samples:
        """Of rows that the other run does not have, whose inputs are correlated as those of all rows are."""
        return self._with_effects(grouping, cluster_sums(queries.clusters(self.run, grouping, self.masks, rows)))

    def _of_all(self, grouping: Grouping) -> Sums:
        if grouping not in self._sums:
            self._sums[grouping] = cluster_sums(queries.clusters(self.run, grouping, self.masks))
        return self._sums[grouping]

    def _with_effects(self, grouping: Grouping, sums: Sums) -> Samples:
        everything = {name: one[0] for name, one in self._of_all(()).items()}
        within = correlations(self._of_all(grouping), everything)
        return [
            {name: _sample(one[group], known[name]) for name, one in sums.items()} for group, known in enumerate(within)
        ]


def _sample(sums: ClusterSums, within: float) -> Sample:
    return Sample(sums.hits, sums.rows, sums.effect(within))


def correlations(sums: Sums, everything: Mapping[str, ClusterSums]) -> list[dict[str, float]]:
    """How rows that share an input are correlated.

    Where a group cannot tell of a rate (few inputs, or no row differs), it is taken for that of its not_OK rate, then
    for those of all rows; where these cannot tell either, for 0.

    Args:
        sums: by rate, of each group. everything: by rate, of all rows.
    """
    of_all = {name: correlation(one) for name, one in everything.items()}
    groups = len(next(iter(sums.values()), ()))
    found = []
    for group in range(groups):
        own = {name: correlation(one[group]) for name, one in sums.items()}
        known = {
            name: next((c for c in (own[name], own[_FIRST], of_all[name], of_all[_FIRST]) if c is not None), 0.0)
            for name in sums
        }
        found.append(known)
    return found
