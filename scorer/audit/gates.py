"""Gates applied to all rows or to groups, and the result of each.

A gate is *silent* in a group of fewer than ``min_rows`` rows, or where there is nothing to compare: the group is new
since the baseline, or no row is in both runs. Any other gate without a figure fails, because nothing was checked;
``missing = "pass"`` lets it pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..metric.group_values import spelled
from ..stats.intervals import interval_of_difference
from ..stats.percentages import percent, points
from .document import ADDED_RATES, RATES, AddedRate, Checked, Gate, Group, GroupFigures, Rate, Status
from .grouping import Grouping
from .rules import Rule
from .significance import LEAST_ROWS_OF_INDEX

ROUNDING = 1e-12
"""Shares are differences of quotients; one this far beyond a threshold equals it."""
_MOST_LISTED = 20
_OF_LABELS = ("omission_rate", "hallucination_rate", "empty_rate", "mean_confidence", "label_flips", "psi_confidence")
"""Metrics that are 0 or nothing where no row has a label, and say nothing then."""
_OF_ADDED_LABELS = ("added_omission_rate", "added_hallucination_rate")
"""The same of added rows."""


def evaluate(
    rules: Sequence[Rule],
    figures: Callable[[Grouping], list[GroupFigures]],
    checks_omissions: bool = True,
) -> list[Gate]:
    """Apply every rule to its groups.

    Args:
        figures: the groups of a grouping.
        checks_omissions: whether the run looked for omissions at all.
    """
    found = []
    for rule in rules:
        groups = figures(rule.grouping)
        chosen = _chosen(rule, groups) or (figures(()) if rule.by else [])  # nothing checked must not count as a pass
        found += [judge(rule, group, checks_omissions) for group in chosen] or [_absent(rule, groups)]
    return found


def _chosen(rule: Rule, groups: Sequence[GroupFigures]) -> list[GroupFigures]:
    """The groups that a rule looks at."""
    if rule.by:
        return sorted(groups, key=lambda g: [(v is None, v or "") for v in g.group.values()])
    return [group for group in groups if group.group == rule.group]


def _absent(rule: Rule, groups: Sequence[GroupFigures]) -> Gate:
    """The result of a gate on a group that neither run has; its reason lists the groups that there are."""
    there = sorted(describe(group.group) for group in groups)
    more = f" and {len(there) - _MOST_LISTED} more" if len(there) > _MOST_LISTED else ""
    listed = f"there is {'; '.join(there[:_MOST_LISTED])}{more}" if there else "there are no rows at all"
    return _gate(rule, rule.group, 0, rule.missing, f"no row has {describe(rule.group)}; {listed}", None, _Value())


def worst_of(gates: Sequence[Gate]) -> Status:
    """The most severe status; gates that are silent, or none at all, pass. See :func:`checked`."""
    seen = {gate.status for gate in gates}
    return "fail" if "fail" in seen else "warn" if "warn" in seen else "pass"


def checked(gates: Sequence[Gate], required: bool) -> Checked:
    """How many gates there were, and how many of them were silent."""
    silent = sum(gate.status == "silent" for gate in gates)
    return Checked(gates=len(gates), silent=silent, nothing_checked=silent == len(gates), required=required)


def why_nothing(found: Checked) -> str:
    """Why nothing was checked, as a sentence."""
    if not found.gates:
        return "No gate was given, so nothing could fail."
    return "Every gate was silent, so nothing could fail."


def describe(group: Group) -> str:
    """A group in words."""
    return ", ".join(f"{column}={spelled(value)}" for column, value in group.items()) or "all rows"


@dataclass(frozen=True)
class _Value:
    """A figure now and before, and the interval of the value that the thresholds apply to."""

    now: float | None = None
    before: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    versus: str = "the baseline"


def judge(rule: Rule, group: GroupFigures, checks_omissions: bool) -> Gate:
    """A rule applied to a group. See :func:`evaluate`."""
    found = _value(rule, group)
    value = found.now
    if rule.signed:
        value = None if found.now is None or found.before is None else found.now - found.before
    status: Literal["pass", "warn", "fail", "silent"] = "pass"
    reason: str | None = None
    rows = _rows(rule, group)
    if rows < rule.min_rows:
        status, reason = "silent", f"needs {rule.min_rows:,} rows (min_rows), there are {rows:,}"
    elif nobody := _nothing_in_this_run(rule, group):
        status, reason = rule.missing, nobody
    elif nothing := _nothing_to_compare(rule, group):
        status, reason = "silent", nothing
    elif none := _no_figure(rule, group, value, checks_omissions):
        status, reason = rule.missing, none
    elif _fails(rule, value, found.p):
        status = "fail"
    elif value is not None and _beyond(rule, value, rule.warn):
        status = "warn"
    if reason is not None and status != "silent":
        value, found = None, _Value()
    return _gate(rule, group.group, rows, status, reason, value, found)


def _gate(
    rule: Rule,
    group: Group,
    rows: int,
    status: Literal["pass", "warn", "fail", "silent"],
    reason: str | None,
    value: float | None,
    found: _Value,
) -> Gate:
    return Gate(
        metric=rule.metric,
        group=group,
        status=status,
        value=value,
        now=found.now,
        before=found.before,
        low=found.low,
        high=found.high,
        warn=rule.warn,
        fail=rule.fail,
        fail_p=rule.fail_p,
        p=found.p,
        rings=rule.rings,
        against=rule.against,
        rows=rows,
        min_rows=rule.min_rows,
        missing=rule.missing,
        reason=reason,
        message=_message(rule, group, status, value, found, reason),
    )


def _nothing_in_this_run(rule: Rule, group: GroupFigures) -> str | None:
    """Why this run has no figure; ``None`` when it has one."""
    if not group.rows:
        return "there are no rows"
    if rule.metric in _OF_LABELS and not group.scored + group.reused:
        return "no row has a label, all have errors"
    return None


def _nothing_to_compare(rule: Rule, group: GroupFigures) -> str | None:
    """Why a comparison has nothing to compare although nothing is wrong, with what it would have needed."""
    change = group.change
    if not rule.needs_baseline or change is None:
        return None
    if rule.metric in ADDED_RATES and not change.added:
        return "needs added rows, and there are none"
    labelled = group.confidence.n, change.confidence.before.n
    if rule.metric == "psi_confidence" and all(labelled) and min(labelled) < LEAST_ROWS_OF_INDEX:
        return f"cannot be judged below {LEAST_ROWS_OF_INDEX} rows with a label in each run"
    if rule.by and not change.rows_before:
        return "needs rows in the baseline, and this group is new"
    if rule.metric == "label_flips" and not change.kept:
        return "needs rows that are in both runs, and there are none"
    return None


def _no_figure(rule: Rule, group: GroupFigures, value: float | None, checks_omissions: bool) -> str | None:
    """Why there is no figure although there are rows; ``None`` when there is one."""
    change = group.change
    if rule.metric in _OF_ADDED_LABELS and change is not None:
        errors = change.added_rates["added_error_rate"].added
        if errors.count == errors.n:
            return "no added row has a label, all have errors"
    if value is not None:
        return None
    if rule.metric == "omission_rate" and not checks_omissions:
        return "the run did not look for omissions (--checks hallucination)"
    if rule.metric == "backoff_rate" and group.backoff is None:
        return "the run did not count facts without a template by predicate, or did not keep the facts (--keep)"
    if rule.needs_baseline and change is not None:
        return "the baseline has no such figure" if change.rows_before else "the baseline has no such rows"
    return "no row counts for it"


def _rows(rule: Rule, group: GroupFigures) -> int:
    """Rows that the gate looks at."""
    change = group.change
    return change.added if rule.metric in ADDED_RATES and change is not None else group.rows


def _fails(rule: Rule, value: float | None, p: float | None) -> bool:
    """Whether all conditions that the rule has for a failure hold."""
    said = [] if rule.fail is None else [value is not None and _beyond(rule, value, rule.fail)]
    if rule.fail_p is not None:
        said.append(p is not None and p < rule.fail_p)
    return bool(said) and all(said)


def _beyond(rule: Rule, value: float, threshold: float | None) -> bool:
    if threshold is None:
        return False
    if rule.rings == "above":
        return value > threshold + ROUNDING
    return value < (-threshold if rule.against else threshold) - ROUNDING


def _value(rule: Rule, group: GroupFigures) -> _Value:
    change = group.change
    if rule.metric in RATES:
        if rule.against and change is not None:
            moved = change.rates[rule.metric]
            return _Value(moved.after.value, moved.before.value, moved.low, moved.high)
        return _of_rate(group.rates[rule.metric])
    if rule.metric == "backoff_rate":
        before = change.backoff_before if change else None
        now = _of_rate(group.backoff)
        return _Value(
            now.now, before.value if before else None, *((None, None) if rule.against else (now.low, now.high))
        )
    if rule.metric == "mean_confidence":
        return _Value(group.confidence.mean, change.confidence.before.mean if change else None)
    if change is None:
        return _Value(None, None)
    if rule.metric in ADDED_RATES:
        return _of_added(rule, change.added_rates[rule.metric])
    return _Value(float(change.flips) if rule.metric == "label_flips" else change.confidence.psi, None)


def _of_added(rule: Rule, found: AddedRate) -> _Value:
    """The added rows against the removed ones; against the baseline's, where fewer than half as many were removed."""
    added, removed, baseline = found.added, found.removed, found.baseline
    if rule.against is None:
        return _of_rate(added)
    if rule.against == "baseline" or 2 * removed.n < added.n:
        ends = interval_of_difference(added, baseline)
        return _Value(added.value, baseline.value, *ends, found.p_baseline, "the baseline")
    return _Value(added.value, removed.value, found.low, found.high, found.p_removed, "the removed rows")


def _of_rate(found: Rate | None) -> _Value:
    return _Value(found.value, None, found.low, found.high) if found else _Value(None, None)


def shown(metric: str, value: float | None, *, signed: bool = False) -> str:
    """A value as people read it: rates in percent, differences of rates in points."""
    if value is None:
        return "-"
    if metric == "label_flips":
        return f"{value:,.0f}"
    if metric in ("mean_confidence", "psi_confidence"):
        return f"{value:{'+' if signed else ''}.3f}"
    return f"{points(value)} points" if signed else percent(value)


def _message(rule: Rule, group: Group, status: str, value: float | None, found: _Value, reason: str | None) -> str:
    text = f"{describe(group)}: {rule.metric}"
    if status == "silent":
        return f"{text} is silent: it {reason}"
    if reason is not None:
        after = 'which missing = "pass" lets pass' if status == "pass" else 'which fails unless missing = "pass"'
        return f"{text} has no figure: {reason}, {after}"
    text += f" {shown(rule.metric, found.now)}"
    if rule.signed:
        since = "against" if rule.metric in ADDED_RATES else "since"
        before = shown(rule.metric, found.before)
        text += f", {shown(rule.metric, value, signed=True)} {since} {found.versus} ({before})"
    if found.low is not None and found.high is not None:
        ends = [shown(rule.metric, end, signed=rule.signed).removesuffix(" points") for end in (found.low, found.high)]
        text += f", 95% interval {ends[0]} to {ends[1]}"
    if found.p is not None:
        text += f", p {found.p:.2g}"
    limits = [(name, limit) for name, limit in (("warn", rule.warn), ("fail", rule.fail)) if limit is not None]
    said = [f"{name} {rule.rings} {_limit(rule, limit)}" for name, limit in limits]
    said += [f"fail_p {rule.fail_p:g}"] if rule.fail_p is not None else []
    return f"{text} ({', '.join(said)})"


def _limit(rule: Rule, limit: float) -> str:
    return shown(rule.metric, -limit if rule.signed and rule.rings == "below" else limit, signed=rule.signed)
