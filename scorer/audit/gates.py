"""The gates of :mod:`.gate_rules`, applied to all rows or to groups.

A gate is *silent* in a group of 1 to ``min_rows`` - 1 rows, or where there is nothing to compare. Any other gate
without a figure, such as that of a group without rows, fails, because nothing was checked; ``missing = "pass"`` lets it
pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

from ..metric import Sides
from ..scoring.output_columns import by_value
from ..system.numbers import percent, points
from .database import Grouping
from .document import ADDED_RATES, LEAST_ROWS_OF_INDEX, RATES, Checked, Gate, Group, GroupFigures, Rate, describe
from .drift import NightlyCounts
from .gate_rules import ROUNDING, Rule

_MOST_LISTED = 20
_OF_SIDES = ("omission_rate", "contradicted_rate", "hallucination_rate")
_OF_LABELS = (*_OF_SIDES, "empty_rate", "mean_confidence", "label_flips", "psi_confidence")
"""Metrics that mean nothing where no row has a label."""


def evaluate(
    rules: Sequence[Rule],
    figures: Callable[[Grouping], list[GroupFigures]],
    sides: Sides = "both",
    nightly: NightlyCounts | None = None,
) -> list[Gate]:
    """Apply every rule to its groups.

    Args:
        figures: returns the groups of a grouping.
        sides: sides of a row that the run checked.
        nightly: new rows of the nights of the history; ``None`` without one.
    """
    results = []
    for rule in rules:
        groups = figures(rule.grouping)
        if rule.by:
            judged_groups = sorted(groups, key=lambda g: [(v is None, v or "") for v in g.group.values()])
            judged_groups = judged_groups or figures(())  # nothing checked must not count as a pass
        else:
            judged_groups = [group for group in groups if _values(group.group) == _values(rule.group)]
        results += [judge(rule, group, sides, nightly) for group in judged_groups] or [_absent(rule, groups)]
    return results


def _values(group: Mapping[str, str | None]) -> Group:
    return {column: by_value(value) for column, value in group.items()}


def _absent(rule: Rule, groups: Sequence[GroupFigures]) -> Gate:
    """The result of a gate on a group that neither run has."""
    existing = sorted(describe(group.group) for group in groups)
    further = f" and {len(existing) - _MOST_LISTED} more" if len(existing) > _MOST_LISTED else ""
    listed = f"there is {'; '.join(existing[:_MOST_LISTED])}{further}" if existing else "there are no rows at all"
    group = dict(rule.group)
    return _gate(rule, group, 0, rule.missing, _Figure(), f"no row has {describe(group)}; {listed}")


def checked(gates: Sequence[Gate], required: bool) -> Checked:
    """The numbers of gates and of silent gates."""
    silent = sum(gate.status == "silent" for gate in gates)
    return Checked(gates=len(gates), silent=silent, nothing_checked=silent == len(gates), required=required)


def reason_for_nothing(checked: Checked) -> str:
    """Why nothing was checked, as a sentence."""
    return f"{'Every gate was silent' if checked.gates else 'No gate was given'}, so nothing could fail."


class _Figure(NamedTuple):
    """A metric, and the interval of the value that the thresholds apply to."""

    now: float | None = None
    """The metric in this run."""
    before: float | None = None
    """The metric in the baseline, or before the last nights."""
    low: float | None = None
    """Lower limit of the 95 % interval."""
    high: float | None = None
    """Upper limit of the 95 % interval."""
    p: float | None = None
    """Probability of such an increase without a change."""
    versus: str = "since the baseline"
    """The comparison, in words."""
    difference: float | None = None
    """Difference that the thresholds apply to; ``None`` for ``now`` minus ``before``."""
    mix: str = ""
    """Suffix of a difference at the mix of the baseline, in words."""
    since: str | None = None
    """First of the nights at which the gate would have failed."""
    rows: int = 0
    """Rows of the last nights."""
    nights: int = 0
    """Number of the last nights."""


GateStatus = Literal["pass", "warn", "fail", "silent"]


def judge(rule: Rule, group: GroupFigures, sides: Sides, nightly: NightlyCounts | None = None) -> Gate:
    """A rule applied to a group. See :func:`evaluate`."""
    if rule.against == "history":
        figure = _of_history(rule, group, nightly) if nightly is not None else _Figure()
    else:
        figure = _figure(rule, group)
    value = _value(rule, figure)
    rows = group.change.added if rule.metric in ADDED_RATES and group.change is not None else group.rows
    rows = figure.rows if rule.against == "history" else rows
    if unjudged := _unjudged(rule, group, rows, value, sides, figure):
        status, reason = unjudged
        return _gate(rule, group.group, rows, status, figure if status == "silent" else _Figure(), reason)
    fails = [] if rule.fail is None else [rule.is_beyond(value, rule.fail)]
    fails += [] if rule.fail_p is None else [figure.p is not None and figure.p < rule.fail_p]
    status = "fail" if fails and all(fails) else "warn" if rule.is_beyond(value, rule.warn) else "pass"
    return _gate(rule, group.group, rows, status, figure)


def _value(rule: Rule, figure: _Figure) -> float | None:
    """The value that the thresholds apply to."""
    if figure.difference is not None:
        return figure.difference
    if not rule.is_difference:
        return figure.now
    return None if figure.now is None or figure.before is None else figure.now - figure.before


def _gate(rule: Rule, group: Group, rows: int, status: GateStatus, figure: _Figure, reason: str | None = None) -> Gate:
    return Gate(
        metric=rule.metric, group=group, status=status, value=_value(rule, figure), now=figure.now,
        before=figure.before, low=figure.low, high=figure.high, warn=rule.warn, fail=rule.fail, fail_p=rule.fail_p,
        p=figure.p, alert_direction=rule.alert_direction, against=rule.against, rows=rows,
        min_rows=rule.min_rows, missing=rule.missing, reason=reason,
        message=_message(rule, group, status, figure, reason), since=figure.since,
    )  # fmt: skip


def _unjudged(
    rule: Rule, group: GroupFigures, rows: int, value: float | None, sides: Sides, figure: _Figure
) -> tuple[GateStatus, str] | None:
    """The status of a gate that cannot be judged, and the reason; ``None`` where it can."""
    if rule.metric == "rows":
        return _unjudged_rows(rule, group)
    metric, change, silent = rule.metric, group.change if rule.needs_baseline else None, "needs {}, and there are none"
    if not group.rows:  # before min_rows: a group that is gone must not be silenced for being small
        return rule.missing, _why_no_rows(group)
    if rule.against == "history" and (figure.now is None or figure.before is None):
        return "silent", _why_no_drift(rule, figure)
    if rows < rule.min_rows:
        return "silent", f"needs {rule.min_rows:,} rows (min_rows), there are {rows:,}"
    if metric in _OF_LABELS and not group.scored + group.reused:
        return rule.missing, "no row has a label, all have errors"
    if change is not None:
        labelled = group.confidence.n, change.confidence.before.n
        if metric in ADDED_RATES and not change.added:
            return "silent", silent.format("added rows")
        if metric == "psi_confidence" and all(labelled) and min(labelled) < LEAST_ROWS_OF_INDEX:
            return "silent", f"cannot be judged below {LEAST_ROWS_OF_INDEX} rows with a label in each run"
        if rule.by and not change.rows_before:
            return "silent", "needs rows in the baseline, and this group is new"
        if metric == "label_flips" and not change.kept:
            return "silent", silent.format("rows that are in both runs")
        errors = change.added_rates["added_error_rate"].added
        if metric in ADDED_RATES and metric.removeprefix("added_") in _OF_SIDES and errors.count == errors.n:
            return rule.missing, "no added row has a label, all have errors"
    if value is not None:
        return None
    if (metric, sides) in (("omission_rate", "hallucination"), ("hallucination_rate", "omission")):
        return rule.missing, f"the run did not look for {metric.removesuffix('_rate')}s (--checks {sides})"
    if metric.endswith("contradicted_rate") and group.left_out is None:
        return rule.missing, "the run does not know which facts are contradicted (its bundle has no threshold for that)"
    if metric == "backoff_rate" and group.backoff is None:
        return rule.missing, "the run did not count facts without a template by predicate, or keep the facts (--keep)"
    if change is not None:
        return rule.missing, f"the baseline has no such {'figure' if change.rows_before else 'rows'}"
    return rule.missing, "no row counts for it"


def _unjudged_rows(rule: Rule, group: GroupFigures) -> tuple[GateStatus, str] | None:
    """The same for the number of rows, which has a figure where the baseline has rows."""
    before = group.change.rows_before if group.change is not None else 0
    if not before:
        reason = "needs rows in the baseline, and this group is new"
        return ("silent", reason) if rule.by and group.group else (rule.missing, "the baseline has no rows")
    if group.rows and max(group.rows, before) < rule.min_rows:
        return "silent", f"needs {rule.min_rows:,} rows in one run (min_rows), there are {group.rows:,} and {before:,}"
    return None


def _why_no_rows(group: GroupFigures) -> str:
    before = group.change.rows_before if group.change is not None else 0
    return f"there are no rows, {before:,} in the baseline" if before else "there are no rows"


def _figure(rule: Rule, group: GroupFigures) -> _Figure:
    figure = _crude_figure(rule, group)
    mix = group.change.mix if group.change is not None and not rule.grouping else None
    at_mix = mix.figures.get(rule.metric) if mix is not None and rule.is_difference else None
    if mix is None or at_mix is None or figure.now is None:
        return figure
    columns = ", ".join(mix.grouping)
    where = f" within each {columns}" if rule.metric in ADDED_RATES else f" at its mix of {columns}"
    return figure._replace(
        before=at_mix.before, low=at_mix.low, high=at_mix.high, difference=at_mix.difference,
        mix=where if abs(at_mix.difference - (_value(rule, figure) or 0.0)) > ROUNDING else "",
    )  # fmt: skip


def _of_history(rule: Rule, group: GroupFigures, nightly: NightlyCounts) -> _Figure:
    """The rate of the new rows of the last nights, and of those before them."""
    drift = nightly.drift(group, rule.metric, rule.nights, rule.fail_p)
    versus = f"against the {drift.nights_before} nights before"
    return _Figure(
        drift.now.value, drift.before.value, drift.low, drift.high, drift.p, versus, since=drift.since,
        rows=drift.now.n, nights=drift.nights,
    )  # fmt: skip


def _why_no_drift(rule: Rule, figure: _Figure) -> str:
    if not figure.nights:
        return "needs the history of earlier runs (--history)"
    if figure.now is None:
        return f"needs new rows in the last {rule.nights} nights, and there are none"
    return f"needs new rows in the nights before the last {rule.nights} with this signature, and there are none"


def _crude_figure(rule: Rule, group: GroupFigures) -> _Figure:
    """The figure of the rows as they are."""
    change, metric = group.change, rule.metric
    if metric == "rows":
        before = change.rows_before if change is not None else 0
        relative = abs(group.rows - before) / before if before else None
        return _Figure(float(group.rows), float(before), difference=relative)
    if metric == "mean_confidence":
        return _Figure(group.confidence.mean, change.confidence.before.mean if change else None)
    rate = group.backoff if metric == "backoff_rate" else group.rates.get(metric)
    if change is None or (rate is not None and not rule.is_difference):
        return _of_rate(rate)
    if metric == "backoff_rate":
        return _Figure(_of_rate(rate).now, _of_rate(change.backoff_before).now)
    if metric in RATES:
        moved = change.rates[metric]
        return _Figure(moved.after.value, moved.before.value, moved.low, moved.high)
    if metric in ADDED_RATES:
        added = change.added_rates[metric]
        versus = f"against the {'removed rows' if added.compared_with == 'removed' else 'baseline'}"
        against = _Figure(added.added.value, added.before.value, added.low, added.high, added.p, versus)
        return against if rule.is_difference else _of_rate(added.added)
    return _Figure(float(change.flips) if metric == "label_flips" else change.confidence.psi)


def _of_rate(rate: Rate | None) -> _Figure:
    return _Figure(rate.value, low=rate.low, high=rate.high) if rate is not None else _Figure()


def format_figure(metric: str, value: float | None, *, signed: bool = False) -> str:
    """A value in words: rates in percent, differences of rates in points."""
    if value is None:
        return "-"
    if metric == "label_flips":
        return f"{value:,.0f}"
    if metric == "rows":
        return f"{100 * value:.0f}%"
    if metric in ("mean_confidence", "psi_confidence"):
        return f"{value:{'+' if signed else ''}.3f}"
    return f"{points(value)} points" if signed else percent(value)


def format_span(metric: str, low: float, high: float, *, signed: bool = False) -> str:
    """An interval in words."""
    ends = [format_figure(metric, end, signed=signed).removesuffix(" points") for end in (low, high)]
    return f"95% interval {ends[0]} to {ends[1]}"


def _more_or_fewer(figure: _Figure) -> str:
    """The change of a number of rows, in words."""
    if figure.now == figure.before:
        return "as many"
    return (
        f"{format_figure('rows', figure.difference)} {'more' if (figure.now or 0) > (figure.before or 0) else 'fewer'}"
    )


def _message(rule: Rule, group: Group, status: str, figure: _Figure, reason: str | None) -> str:
    text, metric, signed = f"{describe(group)}: {rule.metric}", rule.metric, rule.is_difference
    if status == "silent":
        return f"{text} is silent: it {reason}"
    if reason is not None:
        accepted = 'accepted by missing = "pass"' if status == "pass" else 'missing = "pass" accepts that'
        return f"{text} is unavailable ({reason}); {accepted}"
    if metric == "rows":
        text += f" {figure.now:,.0f}, {figure.before:,.0f} in the baseline, {_more_or_fewer(figure)}"
    else:
        text += f" {format_figure(metric, figure.now)}"
    if signed:
        change, before = format_figure(metric, _value(rule, figure), signed=True), format_figure(metric, figure.before)
        text += f" of new rows of {figure.nights} nights" if figure.nights else ""
        text += f", {change} {figure.versus} ({before}){figure.mix}"
    if figure.low is not None and figure.high is not None:
        text += f", {format_span(metric, figure.low, figure.high, signed=signed)}"
    if figure.p is not None:
        text += f", p {figure.p:.2g}"
    text += f", visible since {figure.since[:10]}" if figure.since is not None else ""
    sign = -1 if signed and rule.alert_direction == "below" else 1
    limits = [
        f"{name} {rule.alert_direction} {format_figure(metric, sign * limit, signed=signed)}"
        for name, limit in (("warn", rule.warn), ("fail", rule.fail))
        if limit is not None
    ]
    limits += [f"fail_p {rule.fail_p:g}"] if rule.fail_p is not None else []
    return f"{text} ({', '.join(limits)})"
