"""Which gates can fire on an output, and how often chance alone makes them: before the first run that needs them.

A gate that is silent everywhere, or whose threshold no value can pass, protects nothing and does not say so until
somebody looks. A gate that fails every week without a reason is switched off. A gate that compares is judged without a
baseline too: by the rows of this output, as if another run of the same size, all of it new, were compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..scoring.rates_file import RatesFile
from ..scoring.signature import parse
from ..stats.percentages import percent
from ..system.codec import OpenRecord
from .document import ADDED_RATES, RATES, Document, Gate, Group, GroupFigures
from .figures import SHOWN_FROM
from .gates import describe, groups_of, judge, shown
from .grouping import Grouping
from .power import (
    Rows,
    Spread,
    any_of,
    detectable,
    detectable_fall,
    in_nights,
    index_exceeds,
    mean_falls,
    rings,
    scaled,
    threshold_of,
)
from .reference import Reference
from .rules import SHARES, TRUE_RATES, Rule
from .significance import LEAST_ROWS_OF_INDEX

FiresNow = Literal["fail", "warn", "pass"]
_LEAST_PAIRS = 30
"""Fewer pairs say too little about their correlation, and count as two samples."""
_LEAST_CONFIDENCES = 50
"""The mean of fewer confidences is too far from a normal distribution."""
_OF_CONFIDENCES = ("mean_confidence", "psi_confidence")
_UNKNOWN = {
    "backoff_rate": "a fact has a template or has none, whatever chance does",
    "label_flips": "rows in both runs keep their labels, unless the machine or the software differs",
    **dict.fromkeys(TRUE_RATES, "it depends on which rows are labelled"),
}
"""Why there is no estimate of how often chance makes a gate fail."""


class Reach(OpenRecord, frozen=True):
    """What one gate can do in one group.

    ``can_fire``: a value that warns or fails is possible. ``now``: its result on this output, ``None`` where that needs
    a run that was not given, or where it is silent. ``reason``: why it cannot fire, otherwise ``None``. ``finds``: the
    smallest true increase (of ``mean_confidence``: fall) that it finds with a probability of 80 %; ``by_chance``: how
    often it fails although nothing changed, at most; ``not_estimated``: why that is not known of a gate that can fire.
    """

    group: Group
    rows: int
    can_fire: bool
    now: FiresNow | None
    reason: str | None
    finds: float | None
    by_chance: float | None
    not_estimated: str | None
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
        given = (reference if rule.against == "reference" else document.baseline) is not None
        reached = tuple(
            _reach(rule, judge(rule, group, omissions, rates, reference), group, given)
            for group in groups_of(rule, figures)
        )
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


def _reach(rule: Rule, gate: Gate, group: GroupFigures, given: bool) -> Reach:
    pinned = rule.against == "reference" and given
    before = gate.before if pinned else _before(rule, group, given and rule.needs_baseline)
    reason = _why_not(rule, gate, group, before, given)
    now = gate.status if gate.status != "silent" and (given or not rule.compares) else None
    finds = by_chance = unknown = None
    if reason is None:
        unknown = _not_estimated(rule, group, before)
    if reason is None and unknown is None:
        finds, by_chance = _chances(rule, group, before)
        if now == "fail" and not rule.compares:
            by_chance, unknown = None, "it fails now"
    return Reach(
        group=group.group,
        rows=group.rows,
        can_fire=reason is None,
        now=now,
        reason=reason,
        finds=finds,
        by_chance=by_chance,
        not_estimated=unknown,
        message=_message(rule, group, gate, reason, finds, by_chance, unknown, now),
    )


def _not_estimated(rule: Rule, group: GroupFigures, before: float | None) -> str | None:
    """Why chances are not known; ``None`` when they are."""
    if rule.metric in _UNKNOWN:
        return _UNKNOWN[rule.metric]
    if rule.metric in _OF_CONFIDENCES:
        if group.confidence.n < _LEAST_CONFIDENCES:
            return f"{group.confidence.n:,} rows have a confidence, and it needs {_LEAST_CONFIDENCES}"
        if max(group.design_effects.values()) > SHOWN_FROM:
            return "rows share inputs, and how much their confidences are correlated is not known"
    return "there is no figure" if before is None and rule.metric != "psi_confidence" else None


def _chances(rule: Rule, group: GroupFigures, before: float | None) -> tuple[float | None, float]:
    """The smallest change that a gate finds, where it compares, and how often it fails by chance."""
    rows = _rows(rule, group)
    limit = _limit(rule)
    if rule.metric == "psi_confidence":
        return None, index_exceeds(rows, limit or 0.0)
    assert before is not None
    if rule.metric == "mean_confidence":
        spread, fall = Spread.of(group.confidence.histogram), limit or 0.0
        fall = fall if rule.signed else before - fall
        least = detectable_fall(rows, fall, spread)
        return least if rule.compares and least < before else None, mean_falls(rows, fall, spread)
    threshold = _chance_limit(rule, rows, before)
    finds = detectable(rows, threshold, before) if rule.compares else None
    return finds, min(rings(rows, threshold, before), rule.fail_p or 1.0)


def _rows(rule: Rule, group: GroupFigures) -> Rows:
    """What may change from a run to the next: what changed since the baseline or, without one, everything."""
    change = group.change if rule.against != "reference" else None
    added_only = rule.metric in ADDED_RATES
    metric = rule.metric.removeprefix("added_")
    n, two = group.rows, rule.signed or rule.metric == "psi_confidence"
    of_confidences = rule.metric in _OF_CONFIDENCES  # which not all rows have
    effect = n / group.confidence.n if of_confidences else group.design_effects[metric]
    if change is None or not change.rows_before:
        return Rows.all_new(n, effect) if two else Rows(n, n, 0, effect=effect)
    pairs, added, removed, before = change.rewritten, change.added, change.removed, change.rows_before
    if added_only:
        n, before = added, removed
    if not two:
        return Rows(n, added, 0, effect=effect)
    if of_confidences:
        return scaled(Rows(n, added, removed, effect=effect), before)
    if added_only and (rule.against == "baseline" or 2 * removed < added):
        return scaled(Rows(n, added, change.rows_before, effect=effect), change.rows_before)
    found = change.rates[metric].rewritten
    within = max(0.0, found.correlation) if found.n >= _LEAST_PAIRS else 0.0
    return scaled(Rows(n, added - pairs, removed - pairs, pairs, within, effect), before)


def _chance_limit(rule: Rule, rows: Rows, before: float) -> float:
    """The increase of the rate from which on the gate fails."""
    limits = [] if rule.fail_p is None else [threshold_of(rows, before, rule.fail_p)]
    limit = _limit(rule)
    if limit is not None:
        limits.append(limit if rule.signed else limit - before)
    return max(limits)


def _limit(rule: Rule) -> float | None:
    """The threshold that fails or, in a gate that only warns, warns."""
    return rule.fail if rule.fail is not None else rule.warn if rule.fail_p is None else None


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
        if rule.metric == "psi_confidence" and group.confidence.n < LEAST_ROWS_OF_INDEX:
            return f"it cannot be judged below {LEAST_ROWS_OF_INDEX} rows with a label in each run"
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
    unknown: str | None,
    now: FiresNow | None,
) -> str:
    if reason is not None:
        return f"{describe(group.group)}: {rule.metric}: {reason}"
    said = f"{describe(group.group)}: {rule.metric}, {group.rows:,} rows"
    if by_chance is not None:
        found = _found(rule, finds) if rule.compares and rule.metric != "psi_confidence" else ""
        word = "warns" if rule.fail is None and rule.fail_p is None else "fails"
        return f"{said}: {found}without a change {word} in {seldom(by_chance)} of runs"
    text = f"{said}: fires on a change" if rule.compares and now is None else gate.message
    return f"{text}; false alarms not estimated: {unknown}"


def _found(rule: Rule, finds: float | None) -> str:
    what = "fall" if rule.rings == "below" else "increase"
    if finds is None:
        return f"finds no {what} reliably (80% power); "
    least = shown(rule.metric, finds, signed=rule.rings == "above")
    return f"finds {'a' if what == 'fall' else 'an'} {what} of {least} (80% power); "


def seldom(share: float) -> str:
    """A chance in percent."""
    return "less than 0.1%" if share < 0.0005 else percent(share)
