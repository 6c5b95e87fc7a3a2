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
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, field
from msgspec.structs import asdict

from ..errors import DamagedFileError, UsageError
from ..metric.group_values import as_text
from ..system.codec import Record, convert
from ..system.display import visible
from ..system.files import read_small
from .document import ADDED_RATES, RATES, Group
from .grouping import Grouping

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
