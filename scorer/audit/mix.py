"""The mix of groups: figures of all rows if each group had kept its share of them.

A rate over all rows moves when a weak system gets more rows, although no system got worse. So figures of all rows are
compared at the mix of the baseline, by direct standardisation (:mod:`scorer.stats.standardised`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..stats.standardised import Stratum, standardise
from .document import ADDED_RATES, RATES, AtMix, Change, GroupFigures, GroupRows, Mix

MOST_GROUPS = 50


def add_mix(all_rows: GroupFigures, groups: Sequence[GroupFigures]) -> None:
    """Fill ``change.mix`` of all rows from the groups of one grouping, where both runs have one of them."""
    change = all_rows.change
    if change is None or not any(
        group.rows and group.change is not None and group.change.rows_before for group in groups
    ):
        return
    rows = [
        GroupRows(group.group, group.change.rows_before, group.rows) for group in groups if group.change is not None
    ]
    before, total = (max(1, sum(sizes)) for sizes in ([group.before for group in rows], [group.now for group in rows]))
    change.mix = Mix(
        grouping=list(groups[0].grouping),
        distance=min(1.0, sum(abs(group.now / total - group.before / before) for group in rows) / 2),
        groups=sorted(rows, key=lambda group: -abs(group.now - group.before))[:MOST_GROUPS],
        figures=dict(_figures(all_rows, groups)),
    )


def _figures(all_rows: GroupFigures, groups: Sequence[GroupFigures]) -> Iterator[tuple[str, AtMix]]:
    changed = [(group, group.change) for group in groups if group.change is not None]
    for name in (*RATES, *ADDED_RATES):
        rate = name.removeprefix("added_")
        of_change = _of_rate if name in RATES else _of_added
        strata = [stratum for _, change in changed if (stratum := of_change(name, change))]
        effects = [(group.rows, group.design_effects[rate]) for group in groups]
        yield from _standardised(name, strata, shared_inputs(all_rows.design_effects[rate], effects))
    confidences = [
        Stratum(change.confidence.before.n, group.confidence.mean, change.confidence.before.mean)
        for group, change in changed
        if group.confidence.mean is not None and change.confidence.before.mean is not None
    ]
    yield from _standardised("mean_confidence", confidences)
    facts = [
        Stratum(change.backoff_before.n, group.backoff.value, change.backoff_before.value)
        for group, change in changed
        if group.backoff is not None and change.backoff_before is not None
        if group.backoff.value is not None and change.backoff_before.value is not None
    ]
    yield from _standardised("backoff_rate", facts)


def _standardised(name: str, strata: Sequence[Stratum], effect: float = 1.0) -> Iterator[tuple[str, AtMix]]:
    if shares := standardise(strata, effect):
        yield name, AtMix(now=shares.now, before=shares.before, low=shares.low, high=shares.high)


def _of_rate(name: str, change: Change) -> Stratum | None:
    rate = change.rates[name]
    if rate.after.value is None or rate.before.value is None:
        return None
    return Stratum(rate.before.n, rate.after.value, rate.before.value, rate.low, rate.high)


def _of_added(name: str, change: Change) -> Stratum | None:
    rate = change.added_rates[name]
    if rate.added.value is None or rate.before.value is None:
        return None
    return Stratum(rate.added.n, rate.added.value, rate.before.value, rate.low, rate.high)


def shared_inputs(effect: float, groups: Sequence[tuple[int, float]]) -> float:
    """Ratio of the design effect of all rows to the mean of their groups, at least 1. It exceeds 1 where groups share
    inputs. ``groups``: rows and design effect of each."""
    rows = sum(n for n, _ in groups)
    mean_effect = sum(n * group_effect for n, group_effect in groups) / rows if rows else 1.0
    return max(1.0, effect / mean_effect)
