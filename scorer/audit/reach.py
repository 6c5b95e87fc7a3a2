"""Which gates can fire on an output, and how often chance alone makes them: before the first run that needs them.

A gate that is silent everywhere, or whose threshold no value can pass, protects nothing and does not say so until
somebody looks. A gate that fails every week without a reason is switched off. A gate that compares is judged without a
baseline too: by the rows of this output, as if another run of the same size, all of it new, were compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from ..scoring.rates_file import RatesFile
from ..scoring.signature import parse
from ..stats.percentages import percent
from ..system.codec import OpenRecord
from .document import ADDED_RATES, RATES, Document, Gate, Group, GroupFigures
from .gates import describe, evaluate, shown
from .grouping import Grouping
from .power import Rows, any_of, detectable, in_nights, rings, scaled, threshold_of
from .reference import Reference
from .rules import SHARES, Rule

FiresNow = Literal["fail", "warn", "pass"]
_LEAST_PAIRS = 30
"""Fewer pairs say too little about their correlation, and count as two samples."""


class Reach(OpenRecord, frozen=True):
    """What one gate can do in one group.

    ``can_fire``: a value that warns or fails is possible. ``now``: its result on this output, ``None`` where that needs
    a run that was not given, or where it is silent. ``reason``: why it cannot fire, otherwise ``None``. ``finds``: the
    smallest true increase that it finds with a probability of 80 %; ``by_chance``: how often it fails although nothing
    changed, at most; ``None`` for gates that are not on rates.
    """

    group: Group
    rows: int
    can_fire: bool
    now: FiresNow | None
    reason: str | None
    finds: float | None
    by_chance: float | None
    message: str


class GateReach(OpenRecord, frozen=True):
    """A gate, ``where`` as messages name it, in each of its groups. ``by_chance``, ``by_chance_30``: how often any of
    them fails in a run, and in 30 runs, although nothing changed; ``None`` where that is known of no group."""

    where: str
    metric: str
    by_chance: float | None
    by_chance_30: float | None
    groups: tuple[Reach, ...]


class Checked(OpenRecord, frozen=True):
    """All gates, and how often any of them fails in a run, and in 30 runs, although nothing changed. ``kept``: share of
    the rows that this run has from the baseline, which keep their labels; ``None`` without a baseline."""

    by_chance: float
    by_chance_30: float
    kept: float | None
    gates: tuple[GateReach, ...]


def groupings_of(rules: Sequence[Rule]) -> tuple[Grouping, ...]:
    """The groupings that the gates need, without that of all rows."""
    return tuple(dict.fromkeys(rule.grouping for rule in rules if rule.grouping))


def check_gates(
    rules: Sequence[Rule], document: Document, rates: RatesFile | None = None, reference: Reference | None = None
) -> Checked:
    """What every gate can do, in order.

    Args:
        document: an audit of the output by :func:`groupings_of`, with or without a baseline.
        rates: true rates of this output.
        reference: the pinned run; without it, one like this output is assumed.

    Raises:
        UsageError: a gate on a group that is not there; lists the groups that are.
    """
    groups = document.groups

    def figures(grouping: Grouping) -> list[GroupFigures]:
        return [group for group in groups if tuple(group.grouping) == grouping]

    omissions = parse(document.signature).get("checks") != "hallucination"
    found = []
    for rule in rules:
        gates = evaluate([rule], figures, omissions, rates, reference)
        given = (reference if rule.against == "reference" else document.baseline) is not None
        reached = tuple(_reach(rule, gate, _of(figures, rule, gate), given) for gate in gates)
        chances = [one.by_chance for one in reached if one.by_chance is not None]
        night = any_of(chances) if chances else None
        month = in_nights(night) if night is not None else None
        found.append(
            GateReach(where=rule.where, metric=rule.metric, by_chance=night, by_chance_30=month, groups=reached)
        )
    every = any_of(one.by_chance for one in found if one.by_chance is not None)
    change = groups[0].change if document.baseline is not None else None
    kept = change.kept / groups[0].rows if change is not None and groups[0].rows else None
    return Checked(by_chance=every, by_chance_30=in_nights(every), kept=kept, gates=tuple(found))


def useless(found: Checked) -> list[str]:
    """The gates that can fire in no group, by name."""
    return [gate.where for gate in found.gates if not any(one.can_fire for one in gate.groups)]


def _of(figures: Callable[[Grouping], list[GroupFigures]], rule: Rule, gate: Gate) -> GroupFigures:
    chosen = [group for group in figures(rule.grouping) if group.group == gate.group]
    return (chosen or figures(()))[0]


def _reach(rule: Rule, gate: Gate, group: GroupFigures, given: bool) -> Reach:
    pinned = rule.against == "reference" and given
    before = gate.before if pinned else _before(rule, group, given and rule.needs_baseline)
    reason = _why_not(rule, gate, group, before, given)
    now = gate.status if gate.status != "silent" and (given or not rule.compares) else None
    finds = by_chance = None
    if reason is None and before is not None and rule.metric in (*RATES, *ADDED_RATES):
        rows = _rows(rule, group)
        threshold = _chance_limit(rule, rows, before)
        if rule.compares:
            finds = detectable(rows, threshold, before)
        if rule.compares or now != "fail":  # what fails now does not do so by chance
            by_chance = min(rings(rows, threshold, before), rule.fail_p or 1.0)
    return Reach(
        group=group.group,
        rows=group.rows,
        can_fire=reason is None,
        now=now,
        reason=reason,
        finds=finds,
        by_chance=by_chance,
        message=_message(rule, group, gate, reason, finds, by_chance, now),
    )


def _rows(rule: Rule, group: GroupFigures) -> Rows:
    """What may change from a run to the next: what changed since the baseline or, without one, everything."""
    change = group.change if rule.against != "reference" else None
    added_only = rule.metric in ADDED_RATES
    metric = rule.metric.removeprefix("added_")
    n, effect = group.rows, group.design_effects[metric]
    if change is None or not change.rows_before:
        return Rows.all_new(n, effect) if rule.signed else Rows(n, n, 0, effect=effect)
    pairs, added, removed, before = change.rewritten, change.added, change.removed, change.rows_before
    if added_only:
        n, before = added, removed
    if not rule.signed:
        return Rows(n, added, 0, effect=effect)
    if added_only and (rule.against == "baseline" or 2 * removed < added):
        return scaled(Rows(n, added, change.rows_before, effect=effect), change.rows_before)
    found = change.rates[metric].rewritten
    within = max(0.0, found.correlation) if found.n >= _LEAST_PAIRS else 0.0
    return scaled(Rows(n, added - pairs, removed - pairs, pairs, within, effect), before)


def _chance_limit(rule: Rule, rows: Rows, before: float) -> float:
    """The increase of the rate from which on the gate fails."""
    limits = [] if rule.fail_p is None else [threshold_of(rows, before, rule.fail_p)]
    limit = rule.fail if rule.fail is not None else rule.warn if rule.fail_p is None else None
    if limit is not None:
        limits.append(limit if rule.signed else limit - before)
    return max(limits)


def _first(rule: Rule) -> float:
    """The threshold that a value passes first."""
    return next(limit for limit in (rule.warn, rule.fail) if limit is not None)


def _before(rule: Rule, group: GroupFigures, has_baseline: bool) -> float | None:
    """The figure that a comparison starts from: of the baseline or, without one, of this output."""
    change = group.change if has_baseline else None
    if rule.metric in ADDED_RATES:  # without a baseline, as if all rows were new
        if change is None:
            return group.rates[rule.metric.removeprefix("added_")].value
        found = change.added_rates[rule.metric]
        return (found.removed if rule.against == "removed" and found.removed.n else found.baseline).value
    if rule.metric in RATES:
        return (change.rates[rule.metric].before if change else group.rates[rule.metric]).value
    if rule.metric == "mean_confidence":
        return (change.confidence.before if change else group.confidence).mean
    if rule.metric == "backoff_rate":
        backoff = change.backoff_before if change else group.backoff
        return backoff.value if backoff else None
    return None


def _why_not(rule: Rule, gate: Gate, group: GroupFigures, before: float | None, has_baseline: bool) -> str | None:
    """Why a gate cannot fire in a group; ``None`` when it can."""
    if rule.metric not in ADDED_RATES and group.rows < rule.min_rows:
        return f"it needs {rule.min_rows:,} rows (min_rows), there are {group.rows:,}"
    if rule.compares and not has_baseline:
        if rule.metric in SHARES and before is None:
            return "this output has no figure for it"
    elif gate.status == "silent":
        return f"it {gate.reason}"
    elif gate.reason is not None:  # without a figure it fails by itself, unless that passes
        return f"{gate.reason}, which passes" if rule.missing == "pass" else None
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
        return f"{describe(group.group)}: {rule.metric}: {reason}"
    if by_chance is not None:
        found = ""
        if rule.compares:
            least = (
                "no increase reliably" if finds is None else f"an increase of {shown(rule.metric, finds, signed=True)}"
            )
            found = f"finds {least} (80% power); "
        word = "warns" if rule.fail is None and rule.fail_p is None else "fails"
        return (
            f"{describe(group.group)}: {rule.metric}, {group.rows:,} rows: {found}without a change {word} in "
            f"{seldom(by_chance)} of runs"
        )
    if rule.compares and now is None:
        return f"{describe(group.group)}: {rule.metric}, {group.rows:,} rows: fires on a change"
    return gate.message


def seldom(share: float) -> str:
    """A chance in percent."""
    return "less than 0.1%" if share < 0.0005 else percent(share)
