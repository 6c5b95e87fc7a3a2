"""The mix of groups: what all rows would show if each group had kept its share of them.

A rate over all rows moves when a weak system gets more rows, although no system got worse. So figures of all rows are
compared at the mix of the baseline, by direct standardisation (:mod:`scorer.stats.standardised`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..stats.standardised import Stratum, standardise
from .document import ADDED_RATES, RATES, AtMix, Change, GroupFigures, GroupRows, Mix

MOST_GROUPS = 50


def add_mix(whole: GroupFigures, groups: Sequence[GroupFigures]) -> None:
    """Fill ``change.mix`` of all rows from the groups of one grouping, where both runs have one of them."""
    change = whole.change
    if change is None or not any(one.rows and one.change is not None and one.change.rows_before for one in groups):
        return
    rows = [GroupRows(one.group, one.change.rows_before, one.rows) for one in groups if one.change is not None]
    before, now = (max(1, sum(sizes)) for sizes in ([one.before for one in rows], [one.now for one in rows]))
    change.mix = Mix(
        grouping=list(groups[0].grouping),
        distance=min(1.0, sum(abs(one.now / now - one.before / before) for one in rows) / 2),
        groups=sorted(rows, key=lambda one: -abs(one.now - one.before))[:MOST_GROUPS],
        figures=dict(_figures(whole, groups)),
    )


def _figures(whole: GroupFigures, groups: Sequence[GroupFigures]) -> Iterator[tuple[str, AtMix]]:
    changed = [(one, one.change) for one in groups if one.change is not None]
    for name in (*RATES, *ADDED_RATES):
        rate = name.removeprefix("added_")
        of_change = _of_rate if name in RATES else _of_added
        strata = [stratum for _, change in changed if (stratum := of_change(name, change))]
        effects = [(one.rows, one.design_effects[rate]) for one in groups]
        yield from _standardised(name, strata, shared_inputs(whole.design_effects[rate], effects))
    confidences = [
        Stratum(change.confidence.before.n, one.confidence.mean, change.confidence.before.mean)
        for one, change in changed
        if one.confidence.mean is not None and change.confidence.before.mean is not None
    ]
    yield from _standardised("mean_confidence", confidences)
    facts = [
        Stratum(change.backoff_before.n, one.backoff.value, change.backoff_before.value)
        for one, change in changed
        if one.backoff is not None and change.backoff_before is not None
        if one.backoff.value is not None and change.backoff_before.value is not None
    ]
    yield from _standardised("backoff_rate", facts)


def _standardised(name: str, strata: Sequence[Stratum], effect: float = 1.0) -> Iterator[tuple[str, AtMix]]:
    if found := standardise(strata, effect):
        yield name, AtMix(now=found.now, before=found.before, low=found.low, high=found.high)


def _of_rate(name: str, change: Change) -> Stratum | None:
    one = change.rates[name]
    if one.after.value is None or one.before.value is None:
        return None
    return Stratum(one.before.n, one.after.value, one.before.value, one.low, one.high)


def _of_added(name: str, change: Change) -> Stratum | None:
    one = change.added_rates[name]
    if one.added.value is None or one.before.value is None:
        return None
    return Stratum(one.added.n, one.added.value, one.before.value, one.low, one.high)


def shared_inputs(effect: float, groups: Sequence[tuple[int, float]]) -> float:
    """How much larger the design effect of all rows is than those of their groups, at least 1: what inputs that several
    groups share add to it. ``groups``: rows and design effect of each."""
    rows = sum(n for n, _ in groups)
    own = sum(n * one for n, one in groups) / rows if rows else 1.0
    return max(1.0, effect / own)
