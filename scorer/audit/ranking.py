"""The best group of a grouping: the first line of an audit without gates.

The group of the lowest not_OK rate is tested against each of the others. If both have a text for the same inputs in at
least half of the rows of the smaller group, these inputs are compared as pairs, otherwise the groups as two samples.
p-values are corrected by Holm's method.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..scoring.output_columns import spelled
from ..stats.intervals import PairedCounts, Sample
from ..stats.significance import compare, holm
from ..system.numbers import percent
from . import queries
from .database import Grouping
from .document import Finding, GroupFigures
from .figures import LEVEL, RunRates, as_pairs

MOST_GROUPS = 20
"""The largest groups are tested."""
_MOST_NAMED, _MOST_CHARACTERS = 4, 40
_RATE = "not_ok_rate"


class Answer(NamedTuple):
    """The first line of an audit without gates."""

    title: str
    """A few words."""
    sentence: str | None = None
    """The figures."""


def answer(
    rates: RunRates, grouping: Grouping, groups: Sequence[GroupFigures], findings: Sequence[Finding]
) -> Answer | None:
    """The first line of an audit without gates: with a baseline the group that got worse, otherwise the best group.
    ``groups``: the groups of the grouping, by code."""
    if any(group.change is not None for group in groups):
        worse = next((finding for finding in findings if finding.kind == "changed"), None)
        return Answer("Nothing got worse" if worse is None else f"{_name(worse.group) or 'All rows'} got worse")
    return best_group(rates, grouping, groups)


def best_group(rates: RunRates, grouping: Grouping, groups: Sequence[GroupFigures]) -> Answer | None:
    """The group of the lowest not_OK rate, and whether chance explains the difference; ``None`` without two groups."""
    largest = sorted(range(len(groups)), key=lambda code: -groups[code].rows)[:MOST_GROUPS]
    ranked = [(groups[code].rates[_RATE].value, _name(groups[code].group), code) for code in largest]
    ordered = sorted((value, name, code) for value, name, code in ranked if value is not None)
    if len(ordered) < 2:
        return None
    (lowest, best, first), *rivals = ordered
    p_values = [_p(rates, grouping, groups, first, code) for _, _, code in rivals]
    is_worse = [p is not None and p < LEVEL for p in holm(p_values)]
    figures = [f"{name} {percent(value)}" for value, name, _ in rivals]
    further = f" and {len(figures) - _MOST_NAMED} more groups" if len(figures) > _MOST_NAMED else ""
    shown = f"{', '.join(figures[:_MOST_NAMED])}{further}"
    sentence = f"{percent(lowest)} of the {groups[first].rows:,} rows of {best} are not OK; {shown}"
    if not any(is_worse):
        return Answer("No group is clearly better", f"{sentence}: chance alone can make such differences.")
    worse = [name for (_, name, _), is_rival_worse in zip(rivals, is_worse, strict=True) if is_rival_worse]
    if all(is_worse):
        return Answer(f"{best} is better than {worse[0]}" if len(rivals) == 1 else f"{best} is best", f"{sentence}.")
    ties = [name for (_, name, _), is_rival_worse in zip(rivals, is_worse, strict=True) if not is_rival_worse][
        :_MOST_NAMED
    ]
    return Answer(f"{best} is better than {worse[-1]}", f"{sentence}; {', '.join(ties)} may be as good.")


def _p(rates: RunRates, grouping: Grouping, groups: Sequence[GroupFigures], first: int, second: int) -> float | None:
    """p of the difference between two groups, by code."""
    mask = rates.masks[_RATE]
    pairs = as_pairs(queries.paired(rates.run, grouping, second, first), mask, mask)
    if 2 * pairs.n >= min(groups[first].rows, groups[second].rows):
        tested = compare(pairs, Sample(), Sample())
    else:
        samples = rates.samples(grouping)
        tested = compare(PairedCounts(), samples[first][_RATE], samples[second][_RATE])
    return tested.p if tested is not None else None


def _name(group: dict[str, str | None]) -> str:
    name = ", ".join(spelled(value) for value in group.values())
    return name if len(name) <= _MOST_CHARACTERS else f"{name[: _MOST_CHARACTERS - 1]}…"
