"""Gates: thresholds on figures, from a TOML file, put to all rows or to groups.

::

    [[gates]]
    metric = "not_ok_rate"
    warn = 0.05                  # the largest value that still passes
    fail = 0.10
    group = { system = "tgen" }  # or by = ["system"]: one gate for each value; left out: all rows
    against = "baseline"         # thresholds are on the increase since then
    min_rows = 200               # silent in smaller groups
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import UsageError
from .document import RATES, Gate, Group, GroupFigures, Rate, Status
from .grouping import Grouping, as_text

METRICS = (*RATES, "backoff_rate", "mean_confidence", "label_flips", "psi_confidence")
OF_BASELINE = ("label_flips", "psi_confidence")
"""Metrics that are comparisons by themselves; ``against`` changes nothing about them."""
LOWER_IS_WORSE = ("mean_confidence",)
_KEYS = ("metric", "warn", "fail", "group", "by", "against", "min_rows")
_MOST_LISTED = 20


@dataclass(frozen=True)
class Rule:
    """One ``[[gates]]`` table. ``where``: how messages call it."""

    where: str
    metric: str
    warn: float | None
    fail: float | None
    group: Group
    by: Grouping
    against: Literal["baseline"] | None
    min_rows: int

    @property
    def grouping(self) -> Grouping:
        """The columns whose groups it looks at."""
        return self.by or tuple(sorted(self.group))

    @property
    def needs_baseline(self) -> bool:
        return self.against is not None or self.metric in OF_BASELINE

    @property
    def rings(self) -> Literal["above", "below"]:
        return "below" if self.metric in LOWER_IS_WORSE else "above"


def load_gates(paths: Sequence[Path]) -> list[Rule]:
    """The gates of TOML files, in order.

    Raises:
        UsageError: a file that cannot be read, is no TOML, or has a gate that is not of the form above; lists what
            there is instead.
    """
    return [rule for path in paths for rule in _load(path)]


def _load(path: Path) -> list[Rule]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise UsageError(f"gates file {path}: {e.strerror or e}; give a readable TOML file") from e
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise UsageError(f"gates file {path} is not TOML: {e}") from e
    unknown = [key for key in content if key != "gates"]
    if unknown:
        raise UsageError(f"gates file {path}: unknown table {unknown[0]!r}; it holds [[gates]] tables and nothing else")
    tables = content.get("gates", [])
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"gates file {path} has no [[gates]] table; write one for each gate, or leave --gates out")
    return [_rule(table, f"{path.name}, gate {number}") for number, table in enumerate(tables, 1)]


def _rule(table: Mapping[str, Any], where: str) -> Rule:
    unknown = [key for key in table if key not in _KEYS]
    if unknown:
        raise UsageError(f"{where}: unknown key {unknown[0]!r}; the keys are {', '.join(_KEYS)}")
    metric = table.get("metric")
    if metric not in METRICS:
        what = "no metric" if metric is None else f"unknown metric {metric!r}"
        raise UsageError(f"{where}: {what}; the metrics are {', '.join(METRICS)}")
    warn, fail = (_number(table, key, where) for key in ("warn", "fail"))
    if warn is None and fail is None:
        raise UsageError(f"{where}: neither warn nor fail is given; write at least one of them")
    falls = metric in LOWER_IS_WORSE and table.get("against") is not None
    if falls:  # how far it may fall, whatever the sign it is written with
        warn, fail = (None if limit is None else abs(limit) for limit in (warn, fail))
    sign = -1 if metric in LOWER_IS_WORSE and not falls else 1
    if warn is not None and fail is not None and sign * warn > sign * fail:
        raise UsageError(f"{where}: warn = {warn:g} would ring after fail = {fail:g}; exchange them")
    against = table.get("against")
    if against not in (None, "baseline"):
        raise UsageError(f'{where}: against = {against!r}; it can only be "baseline", or be left out')
    group, by = table.get("group", {}), table.get("by", [])
    if not isinstance(group, dict) or any(isinstance(value, (dict, list)) for value in group.values()):
        raise UsageError(f'{where}: group = {group!r}; write a table of columns and values: {{ system = "tgen" }}')
    if isinstance(by, str) or not isinstance(by, list) or not all(isinstance(column, str) for column in by):
        raise UsageError(f'{where}: by = {by!r}; write a list of columns: ["system"]')
    if group and by:
        raise UsageError(f"{where}: both group and by; write one of them")
    least = table.get("min_rows", 0)
    if isinstance(least, bool) or not isinstance(least, int) or least < 0:
        raise UsageError(f"{where}: min_rows = {least!r} is not a number of rows")
    values = {column: as_text(value) for column, value in group.items()}
    return Rule(where, metric, warn, fail, values, tuple(dict.fromkeys(by)), against, least)


def _number(table: Mapping[str, Any], key: str, where: str) -> float | None:
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UsageError(f"{where}: {key} = {value!r} is not a number")
    return float(value)


def check_columns(rules: Sequence[Rule], names: Sequence[str], has_baseline: bool) -> None:
    """Refuse gates that could never speak.

    Raises:
        UsageError: a column that the output does not have, or a comparison without a baseline.
    """
    for rule in rules:
        missing = [column for column in rule.grouping if column not in names]
        if missing:
            raise UsageError(f"{rule.where}: no column {missing[0]!r}; the columns are {', '.join(names)}")
        if rule.needs_baseline and not has_baseline:
            what = 'against = "baseline"' if rule.against else f"metric {rule.metric}"
            raise UsageError(f"{rule.where}: {what} compares with an earlier night; give --baseline")


def evaluate(rules: Sequence[Rule], figures: Callable[[Grouping], list[GroupFigures]]) -> list[Gate]:
    """Put every rule to its groups.

    Args:
        figures: the groups of a grouping.

    Raises:
        UsageError: a group that is in neither night; lists what is there.
    """
    gates = []
    for rule in rules:
        groups = figures(rule.grouping)
        if rule.by:
            chosen = sorted(groups, key=lambda g: [(v is None, v or "") for v in g["group"].values()])
        else:
            chosen = [group for group in groups if group["group"] == rule.group]
            if not chosen:
                raise UsageError(f"{rule.where}: no rows where {describe(rule.group)}; {_there(rule, groups)}")
        gates += [_gate(rule, group) for group in chosen]
    return gates


def worst_of(gates: Sequence[Gate]) -> Status:
    """The gravest status; gates that are silent, or none at all, pass."""
    seen = {gate["status"] for gate in gates}
    return "fail" if "fail" in seen else "warn" if "warn" in seen else "pass"


def describe(group: Group) -> str:
    """A group in words."""
    return ", ".join(f"{column}={'null' if value is None else value}" for column, value in group.items()) or "all rows"


def _there(rule: Rule, groups: Sequence[GroupFigures]) -> str:
    values = [describe(group["group"]) for group in groups]
    more = f" and {len(values) - _MOST_LISTED} more" if len(values) > _MOST_LISTED else ""
    return f"there is {'; '.join(sorted(values)[:_MOST_LISTED])}{more}"


@dataclass(frozen=True)
class _Value:
    """A figure now and before, and the interval of what is put to the thresholds."""

    now: float | None
    before: float | None
    low: float | None = None
    high: float | None = None


def _gate(rule: Rule, group: GroupFigures) -> Gate:
    found = _value(rule, group)
    value = found.now
    if rule.against and rule.metric not in OF_BASELINE:
        value = None if found.now is None or found.before is None else found.now - found.before
    rows = group["rows"]
    status: Literal["pass", "warn", "fail", "silent"] = "pass"
    if rows < rule.min_rows or value is None:
        status = "silent"
    elif _beyond(rule, value, rule.fail):
        status = "fail"
    elif _beyond(rule, value, rule.warn):
        status = "warn"
    return Gate(
        metric=rule.metric,
        group=group["group"],
        status=status,
        value=value,
        now=found.now,
        before=found.before,
        low=found.low,
        high=found.high,
        warn=rule.warn,
        fail=rule.fail,
        rings=rule.rings,
        against=rule.against,
        rows=rows,
        min_rows=rule.min_rows,
        message=_message(rule, group, status, value, found),
    )


def _beyond(rule: Rule, value: float, threshold: float | None) -> bool:
    if threshold is None:
        return False
    if rule.rings == "above":
        return value > threshold
    return value < (-threshold if rule.against else threshold)


def _value(rule: Rule, group: GroupFigures) -> _Value:
    change = group["change"]
    if rule.metric in RATES:
        if rule.against and change is not None:
            moved = change["rates"][rule.metric]
            return _Value(moved["after"]["value"], moved["before"]["value"], moved["low"], moved["high"])
        return _of_rate(group["rates"][rule.metric])
    if rule.metric == "backoff_rate":
        before = change["backoff_before"] if change else None
        now = _of_rate(group["backoff"])
        return _Value(
            now.now, before["value"] if before else None, *((None, None) if rule.against else (now.low, now.high))
        )
    if rule.metric == "mean_confidence":
        return _Value(group["confidence"]["mean"], change["confidence"]["before"]["mean"] if change else None)
    if change is None:
        return _Value(None, None)
    return _Value(float(change["flips"]) if rule.metric == "label_flips" else change["confidence"]["psi"], None)


def _of_rate(found: Rate | None) -> _Value:
    return _Value(found["value"], None, found["low"], found["high"]) if found else _Value(None, None)


def shown(metric: str, value: float | None, *, signed: bool = False) -> str:
    """A value as people read it: rates in percent, differences of rates in points."""
    if value is None:
        return "-"
    if metric == "label_flips":
        return f"{value:,.0f}"
    if metric in ("mean_confidence", "psi_confidence"):
        return f"{value:{'+' if signed else ''}.3f}"
    return f"{100 * value:+.1f} points" if signed else f"{value:.1%}"


def _message(rule: Rule, group: GroupFigures, status: str, value: float | None, found: _Value) -> str:
    where = describe(group["group"])
    if status == "silent":
        few = f"{group['rows']:,} rows, fewer than min_rows {rule.min_rows:,}"
        return f"{where}: {rule.metric} is silent ({'no figure' if group['rows'] >= rule.min_rows else few})"
    signed = rule.against is not None and rule.metric not in OF_BASELINE
    text = f"{where}: {rule.metric} {shown(rule.metric, found.now)}"
    if signed:
        text += f", {shown(rule.metric, value, signed=True)} since the baseline ({shown(rule.metric, found.before)})"
    if found.low is not None and found.high is not None:
        ends = [shown(rule.metric, end, signed=signed).removesuffix(" points") for end in (found.low, found.high)]
        text += f", 95 % {ends[0]} to {ends[1]}"
    limits = [(name, limit) for name, limit in (("warn", rule.warn), ("fail", rule.fail)) if limit is not None]
    return text + f" ({', '.join(f'{name} {rule.rings} {_limit(rule, limit)}' for name, limit in limits)})"


def _limit(rule: Rule, limit: float) -> str:
    signed = rule.against is not None and rule.metric not in OF_BASELINE
    return shown(rule.metric, -limit if signed and rule.rings == "below" else limit, signed=signed)
