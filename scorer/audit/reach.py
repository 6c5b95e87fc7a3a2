"""Which gates can fire on an output: before the first run that needs them, instead of after it.

A gate that is silent everywhere, or whose threshold no value can pass, protects nothing and does not say so until
somebody looks. A gate that compares is judged without a baseline too: by the rows of this output, as if another run of
the same size were compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..scoring.rates_file import RatesFile
from ..scoring.signature import parse
from ..stats.percentages import percent
from .document import ADDED_RATES, RATES, Document, Gate, Group, GroupFigures
from .gates import describe, evaluate, shown
from .grouping import Grouping
from .power import MOST_ROWS, detectable, rings
from .reference import Reference
from .rules import SHARES, Rule

FiresNow = Literal["fail", "warn", "pass"]


@dataclass(frozen=True)
class Reach:
    """What one gate can do in one group.

    ``where``: the gate, as messages name it. ``can_fire``: a value that warns or fails is possible. ``now``: its
    result on this output, ``None`` where that needs a baseline that was not given, or where it is silent. ``reason``:
    why it cannot fire, otherwise ``None``. ``finds``: for a rate against the baseline, the smallest true increase that
    it finds with a probability of 80 %; ``by_chance``: how often it fires although nothing changed; both for rows that
    are all new (:mod:`.power`), ``None`` for other gates.
    """

    where: str
    metric: str
    group: Group
    rows: int
    can_fire: bool
    now: FiresNow | None
    reason: str | None
    finds: float | None
    by_chance: float | None
    message: str


def groupings_of(rules: Sequence[Rule]) -> tuple[Grouping, ...]:
    """The groupings that the gates need, without that of all rows."""
    return tuple(dict.fromkeys(rule.grouping for rule in rules if rule.grouping))


def check_gates(
    rules: Sequence[Rule], document: Document, rates: RatesFile | None = None, reference: Reference | None = None
) -> list[Reach]:
    """What every gate can do, in order.

    Args:
        document: an audit of the output by :func:`groupings_of`, with or without a baseline.
        rates: true rates of this output.
        reference: the pinned run; without it, one like this output is assumed.

    Raises:
        UsageError: a gate on a group that is not there; lists the groups that are.
    """
    groups = document["groups"]

    def figures(grouping: Grouping) -> list[GroupFigures]:
        return [group for group in groups if tuple(group["grouping"]) == grouping]

    omissions = parse(document["signature"]).get("checks") != "hallucination"
    found = []
    for rule in rules:
        gates = evaluate([rule], figures, omissions, rates, reference)
        given = (reference if rule.against == "reference" else document["baseline"]) is not None
        found += [_reach(rule, gate, _of(figures, rule, gate), given) for gate in gates]
    return found


def useless(found: Sequence[Reach]) -> list[str]:
    """The gates that can fire in no group, by name."""
    able = {one.where for one in found if one.can_fire}
    return [where for where in dict.fromkeys(one.where for one in found) if where not in able]


def _of(figures: Callable[[Grouping], list[GroupFigures]], rule: Rule, gate: Gate) -> GroupFigures:
    chosen = [group for group in figures(rule.grouping) if group["group"] == gate["group"]]
    return (chosen or figures(()))[0]


def _reach(rule: Rule, gate: Gate, group: GroupFigures, has_baseline: bool) -> Reach:
    pinned = rule.against == "reference" and has_baseline
    before = gate["before"] if pinned else _before(rule, group, has_baseline and rule.needs_baseline)
    reason = _why_not(rule, gate, group, before, has_baseline)
    finds = by_chance = None
    if reason is None and rule.signed and rule.metric in RATES and before is not None:
        finds, by_chance = of_increase(group["rows"], _threshold(rule), before)
    now = gate["status"] if gate["status"] != "silent" and (has_baseline or not rule.compares) else None
    return Reach(
        where=rule.where,
        metric=rule.metric,
        group=group["group"],
        rows=group["rows"],
        can_fire=reason is None,
        now=now,
        reason=reason,
        finds=finds,
        by_chance=by_chance,
        message=_message(rule, group, gate, reason, finds, by_chance, now),
    )


def of_increase(rows: int, threshold: float, before: float) -> tuple[float | None, float]:
    """What a rate against the baseline finds, and how often it fires by chance; for at most :data:`.MOST_ROWS` rows.

    Returns:
        The smallest increase found with 80 % power (``None``: none is), and the share of runs without any change in
        which the gate fires.
    """
    rows = min(rows, MOST_ROWS)
    return detectable(rows, threshold, before), rings(rows, threshold, before, 0.0)


def _threshold(rule: Rule) -> float:
    """The threshold of the gate's most severe result."""
    return next(limit for limit in (rule.fail, rule.warn) if limit is not None)


def _first(rule: Rule) -> float:
    """The threshold that a value passes first."""
    return next(limit for limit in (rule.warn, rule.fail) if limit is not None)


def _before(rule: Rule, group: GroupFigures, has_baseline: bool) -> float | None:
    """The figure that a comparison starts from: of the baseline or, without one, of this output."""
    change = group["change"] if has_baseline else None
    if rule.metric in ADDED_RATES:  # without a baseline, as if all rows were new
        if change is None:
            return group["rates"][rule.metric.removeprefix("added_")]["value"]
        found = change["added_rates"][rule.metric]
        return (found["removed"] if rule.against == "removed" and found["removed"]["n"] else found["baseline"])["value"]
    if rule.metric in RATES:
        return (change["rates"][rule.metric]["before"] if change else group["rates"][rule.metric])["value"]
    if rule.metric == "mean_confidence":
        return (change["confidence"]["before"] if change else group["confidence"])["mean"]
    if rule.metric == "backoff_rate":
        backoff = change["backoff_before"] if change else group["backoff"]
        return backoff["value"] if backoff else None
    return None


def _why_not(rule: Rule, gate: Gate, group: GroupFigures, before: float | None, has_baseline: bool) -> str | None:
    """Why a gate cannot fire in a group; ``None`` when it can."""
    if rule.metric not in ADDED_RATES and group["rows"] < rule.min_rows:
        return f"it needs {rule.min_rows:,} rows (min_rows), there are {group['rows']:,}"
    if rule.compares and not has_baseline:
        if rule.metric in SHARES and before is None:
            return "this output has no figure for it"
    elif gate["status"] == "silent":
        return f"it {gate['reason']}"
    elif gate["reason"] is not None:  # without a figure it fails by itself, unless that passes
        return f"{gate['reason']}, which passes" if rule.missing == "pass" else None
    return _out_of_reach(rule, before)


def _out_of_reach(rule: Rule, before: float | None) -> str | None:
    """Why no value can pass the lower threshold."""
    if rule.metric not in SHARES or (rule.warn is None and rule.fail is None):
        return None
    first = _first(rule)
    if not rule.signed:
        return None  # a threshold that no value passes is refused when the file is read
    room = None if before is None else before if rule.rings == "below" else 1 - before
    if room is not None and first >= room:
        word = "fall" if rule.rings == "below" else "rise"
        return f"{shown(rule.metric, before)} can {word} by at most {shown(rule.metric, room, signed=True)}"
    return None


def _message(
    rule: Rule,
    group: GroupFigures,
    gate: Gate,
    reason: str | None,
    finds: float | None,
    by_chance: float | None,
    now: FiresNow | None,
) -> str:
    if reason is not None:
        return f"{describe(group['group'])}: {rule.metric}: {reason}"
    if by_chance is not None:
        found = "no increase reliably" if finds is None else f"an increase of {shown(rule.metric, finds, signed=True)}"
        bound = "at most " if group["rows"] > MOST_ROWS else ""
        return (
            f"{describe(group['group'])}: {rule.metric}, {group['rows']:,} rows: finds {found} (80% power); without a "
            f"change {'fails' if rule.fail is not None else 'warns'} in {bound}{_seldom(by_chance)} of runs"
        )
    if rule.compares and now is None:
        return f"{describe(group['group'])}: {rule.metric}, {group['rows']:,} rows: fires on a change"
    return gate["message"]


def _seldom(share: float) -> str:
    return "less than 0.1%" if share < 0.0005 else percent(share)
