"""Gates as a TOML file has them.

::

    [[gates]]
    metric = "not_ok_rate"
    warn = 0.05                  # the largest value that still passes
    fail = 0.10
    group = { system = "tgen" }  # or by = ["system"]: one gate for each value; left out: all rows
    against = "baseline"         # thresholds are on the increase since then
    fail_p = 0.001               # of added rows: fails where chance alone seldom gives such an increase
    min_rows = 100               # silent in smaller groups
    missing = "fail"             # without a figure; or "pass"

A threshold that no value, or every value, can reach is refused: such a gate is invalid.

Gates applied to all rows or to groups, and the result of each.

A gate is *silent* in a group of fewer than ``min_rows`` rows, or where there is nothing to compare: the group is new
since the baseline, or no row is in both runs. Any other gate without a figure fails, because nothing was checked;
``missing = "pass"`` lets it pass.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, field
from msgspec.structs import asdict

from ..errors import DamagedFileError, UsageError
from ..metric.group_values import as_text, spelled
from ..stats.intervals import interval_of_difference
from ..stats.percentages import percent, points
from ..system.codec import Record, convert
from ..system.files import read_small
from ..system.terminal import visible
from .database import Grouping
from .document import (
    ADDED_RATES,
    LEAST_ROWS_OF_INDEX,
    RATES,
    AddedRate,
    Checked,
    Gate,
    Group,
    GroupFigures,
    Rate,
    Status,
)

METRICS = (*RATES, *ADDED_RATES, "backoff_rate", "mean_confidence", "label_flips", "psi_confidence")
SHARES = (*RATES, *ADDED_RATES, "backoff_rate", "mean_confidence")
"""Metrics between 0 and 1."""
OF_BASELINE = ("label_flips", "psi_confidence")
"""Metrics that are comparisons by themselves; ``against`` changes nothing about them."""
LOWER_IS_WORSE = ("mean_confidence",)
LARGEST_FILE = 64 << 10
"""Bytes of a gates file, some five hundred gates."""
MOST_DOTS = 100
"""Full stops in a line: the parser's memory grows with the square of the parts of a dotted key."""
MOST_ROWS = 2**53
"""Of ``min_rows``: the largest number that every reader of JSON has."""
_MOST_SHOWN = 60
ROUNDING = 1e-12
"""Shares are differences of quotients; one this far beyond a threshold equals it."""
_MOST_LISTED = 20
_OF_LABELS = ("omission_rate", "hallucination_rate", "empty_rate", "mean_confidence", "label_flips", "psi_confidence")
"""Metrics that are 0 or nothing where no row has a label, and say nothing then."""
_OF_ADDED_LABELS = ("added_omission_rate", "added_hallucination_rate")
"""The same of added rows."""


class GateTable(Record, frozen=True):
    """One ``[[gates]]`` table as it is written."""

    metric: str
    warn: float | None = None
    fail: float | None = None
    fail_p: float | None = None
    group: Mapping[str, Any] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    against: Literal["baseline", "removed"] | None = None
    min_rows: Annotated[int, Meta(ge=0, le=MOST_ROWS)] = 0
    missing: Literal["fail", "pass"] = "fail"


class Rule(GateTable, frozen=True, kw_only=True):
    """The same, checked; ``group`` as text. ``where``: its name in messages. ``fail_p``: of added rows; with ``fail``
    too, the gate fails where both say so."""

    where: str
    group: Group = field(default_factory=dict)

    @property
    def grouping(self) -> Grouping:
        """The columns whose groups it looks at."""
        return self.by or tuple(sorted(self.group))

    @property
    def needs_baseline(self) -> bool:
        """Whether its figure is a comparison with the baseline."""
        return self.against in ("baseline", "removed") or self.metric in (*OF_BASELINE, *ADDED_RATES)

    @property
    def signed(self) -> bool:
        """Whether its value is a difference, which may be negative."""
        return self.against is not None and self.metric not in OF_BASELINE

    @property
    def rings(self) -> Literal["above", "below"]:
        """The side of a threshold that warns or fails."""
        return "below" if self.metric in LOWER_IS_WORSE else "above"


def load_gates(paths: Sequence[Path]) -> list[Rule]:
    """The gates of TOML files, in order.

    Raises:
        UsageError: a file that cannot be read, is not a regular file of at most :data:`LARGEST_FILE` bytes, is no
            TOML, or has a gate that is not of the form above; lists what there is instead.
    """
    return [rule for path in paths for rule in _load(path)]


def _load(path: Path) -> list[Rule]:
    try:
        text = read_small(path, LARGEST_FILE).decode("utf-8")
        if any(line.count(".") > MOST_DOTS for line in re.split("[\r\n]", text)):
            raise UsageError(
                f"gates file {path}: a line has more than {MOST_DOTS} full stops, and no gate needs as many"
            )
        content = tomllib.loads(text)
    except OSError as e:
        raise UsageError(f"gates file {path}: {e.strerror or e}; give a readable TOML file") from e
    except RecursionError as e:
        raise UsageError(f"gates file {path} is nested too deeply; a gate is one table of plain values") from e
    except ValueError as e:  # not UTF-8, no TOML, or an integer of more digits than Python reads
        raise UsageError(f"gates file {path} is not TOML: {str(e)[:200]}") from e
    unknown = [key for key in content if key != "gates"]
    if unknown:
        raise UsageError(f"gates file {path}: unknown table {_shown(unknown[0])}; only [[gates]] tables are allowed")
    tables = content.get("gates", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"gates file {path} has no [[gates]] table; write one for each gate, or leave --gates out")
    return [_rule(table, f"{path.name}, gate {number}") for number, table in enumerate(tables, 1)]


def _rule(content: Mapping[str, Any], where: str) -> Rule:
    metric = content.get("metric")
    if metric not in METRICS:
        what = "no metric" if metric is None else f"unknown metric {_shown(metric)}"
        raise UsageError(f"{where}: {what}; the metrics are {', '.join(METRICS)}")
    try:
        table = convert(content, GateTable, where)
    except DamagedFileError as e:
        raise UsageError(f"{visible(str(e))[:300]}; the keys are {', '.join(GateTable.__struct_fields__)}") from e
    against, fail_p = table.against, table.fail_p
    refusals = (
        (
            against == "removed" and metric not in ADDED_RATES,
            f'against = "removed" is for {", ".join(ADDED_RATES)}; write against = "baseline"',
        ),
        (
            fail_p is not None and (metric not in ADDED_RATES or against is None),
            f'fail_p is for {", ".join(ADDED_RATES)} with against = "removed" or "baseline"',
        ),
        (
            fail_p is not None and not 0 < fail_p < 1,
            f"fail_p = {fail_p} is not a probability between 0 and 1, such as 0.001",
        ),
        (
            table.warn is None and table.fail is None and fail_p is None,
            "neither warn nor fail is given; write at least one of them",
        ),
        (table.group and table.by, "both group and by; write one of them"),
    )
    for refused, why in refusals:
        if refused:
            raise UsageError(f"{where}: {why}")
    warn, fail = (_threshold(table, key, where) for key in ("warn", "fail"))
    sign = -1 if table.metric in LOWER_IS_WORSE and against is None else 1
    if warn is not None and fail is not None and sign * warn > sign * fail:
        raise UsageError(f"{where}: warn = {warn:g} is only reached after fail = {fail:g}; swap them")
    group = _group(table.group, where)
    own = {"where": where, "warn": warn, "fail": fail, "group": group, "by": tuple(dict.fromkeys(table.by))}
    return Rule(**asdict(table) | own)


def _group(values: Mapping[str, Any], where: str) -> Group:
    said = f"{where}: group = {_shown(values)}"
    if any(isinstance(value, (dict, list)) for value in values.values()):
        raise UsageError(f'{said}; write a table of columns and values: {{ system = "tgen" }}')
    try:
        return {column: as_text(value) for column, value in values.items()}
    except ValueError as e:  # an integer that Python does not write
        raise UsageError(f"{said}: {e}") from e


def _threshold(table: GateTable, key: Literal["warn", "fail"], where: str) -> float | None:
    """``warn`` or ``fail``. How far a metric may fall may be written with any sign."""
    number: float | None = getattr(table, key)
    if number is None:
        return None
    metric, said = table.metric, f"{where}: {key} = {number:g}"
    lower_is_worse, share = metric in LOWER_IS_WORSE, metric in SHARES
    falls = lower_is_worse and table.against is not None
    if not math.isfinite(number):
        raise UsageError(f"{said} is not a number that a figure can reach; write a finite one")
    number = abs(number) if falls else number
    if number < 0:
        raise UsageError(f"{said} is negative, and {metric} never falls below 0 by itself; did you mean {-number:g}?")
    if share and number > 1:
        raise UsageError(f"{said} is above 1, and {metric} is a share between 0 and 1; did you mean {number / 100:g}?")
    least = lower_is_worse and not falls
    if number == 0 if least else share and number == 1:
        side = "below 0" if least else "above 1"
        raise UsageError(f"{said} never fires: a value equal to the threshold passes, and {metric} is never {side}")
    return number


def _shown(value: Any) -> str:
    """A value of the file in a message: at most a few characters, however large or deep it is."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # nested deeper, or an integer longer, than Python writes
        return f"a {type(value).__name__} too large to show"
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "…"


def check_columns(rules: Sequence[Rule], names: Sequence[str], has_baseline: bool) -> None:
    """Refuse gates that could never have a figure.

    Raises:
        UsageError: a column that the output does not have, or a comparison without the run to compare with.
    """
    for rule in rules:
        missing = [column for column in rule.grouping if column not in names]
        if missing:
            raise UsageError(f"{rule.where}: no column {_shown(missing[0])}; the columns are {', '.join(names)}")
        if rule.needs_baseline and not has_baseline:
            what = 'against = "baseline"' if rule.against else f"metric {rule.metric}"
            raise UsageError(f"{rule.where}: {what} compares with an earlier run; pass it with --baseline")


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
        accepted = 'accepted by missing = "pass"' if status == "pass" else 'missing = "pass" accepts that'
        return f"{text} is unavailable ({reason}); {accepted}"
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
