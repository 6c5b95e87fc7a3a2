"""The sentence under the verdict: which group got worse, from where to where, and whether others moved too."""

from __future__ import annotations

from collections.abc import Sequence

from ..stats.percentages import percent
from .callouts import LEAST_DIFFERENCE, WORDS
from .document import Checked, GroupFigures, RateChange
from .gates import describe, why_nothing

_Moved = tuple[GroupFigures, str, RateChange]


def headline(groups: Sequence[GroupFigures], checked: Checked) -> str:
    """One or two sentences. ``groups``: as in the document, all rows first."""
    said = [why_nothing(checked)] if checked.nothing_checked else []
    whole = groups[0]
    share = whole.rates["not_ok_rate"]
    if share.value is None:
        return " ".join([*said, f"{whole.rows:,} rows, none of which counts for the not_OK rate."])
    level = f"{percent(share.value)} of {share.n:,} rows are not OK"
    moved = _moved(groups)
    if moved:
        said.append(_worst(groups, moved))
    elif whole.change is not None:
        said.append(f"No rate changed significantly; {level}.")
    else:
        highest = next((group for group in groups[1:] if group.rates["not_ok_rate"].value), None)
        said.append(f"{level}{_highest(highest)}.")
    return " ".join(said)


def _moved(groups: Sequence[GroupFigures]) -> list[_Moved]:
    """The significant changes worth a word, those of groups before that of all rows, the largest rise first."""
    found = [
        (group, name, change)
        for group in groups
        if group.change is not None
        for name, change in group.change.rates.items()
        if change.significant and abs(change.difference or 0.0) >= LEAST_DIFFERENCE
    ]
    return sorted(found, key=lambda one: (not one[0].group, -(one[2].difference or 0.0)))


def _worst(groups: Sequence[GroupFigures], moved: Sequence[_Moved]) -> str:
    group, name, change = moved[0]
    before, after = (percent(side.value or 0.0) for side in (change.before, change.after))
    text = f"{describe(group.group)}: {WORDS[name]} {before} → {after}"
    if not group.group:
        return f"{text}; no single group changed significantly." if len(groups) > 1 else f"{text}."
    same = [one for one in groups if one.grouping == group.grouping]
    others = {describe(one.group) for one, _, _ in moved if one.grouping == group.grouping}
    column = " and ".join(group.grouping)
    if len(same) == 1:
        return f"{text}."
    if len(others) == 1:
        return f"{text}; no other {column} changed."
    return f"{text}; {len(others) - 1} of the {len(same) - 1} other groups by {column} changed too."


def _highest(group: GroupFigures | None) -> str:
    if group is None:
        return ""
    return f", most of {describe(group.group)}: {percent(group.rates['not_ok_rate'].value or 0.0)}"
