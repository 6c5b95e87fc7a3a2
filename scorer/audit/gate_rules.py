"""Gates files (docs/audit.md): TOML tables, read and checked."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, ValidationError, convert, field
from msgspec.structs import replace

from ..errors import UsageError
from ..scoring.output_columns import value_name
from ..system.codec import Record, reason_of
from ..system.files import read_small
from ..system.terminal import visible
from .database import Grouping
from .document import ADDED_RATES, RATES

SHARES = (*RATES, *ADDED_RATES, "backoff_rate", "mean_confidence")
"""Metrics between 0 and 1."""
OF_BASELINE = ("label_flips", "psi_confidence", "rows")
"""Metrics that are comparisons by themselves; ``against`` changes nothing about them."""
METRICS = (*SHARES, *OF_BASELINE)
LOWER_IS_WORSE = "mean_confidence"
LARGEST_FILE = 64 << 10
"""Bytes of a gates file, some five hundred gates."""
MOST_DOTS = 100
"""Full stops in a line: the parser's memory grows with the square of the parts of a dotted key."""
ROUNDING = 1e-12
"""Shares are differences of quotients; one this far beyond a threshold equals it."""


class Rule(Record, frozen=True):
    """One ``[[gates]]`` table. After :func:`load_gates`, the values of ``group`` are text, and the thresholds have no
    sign."""

    metric: str
    """Name of the metric."""
    warn: float | None = None
    """Threshold of a warning."""
    fail: float | None = None
    """Threshold of a failure."""
    fail_p: float | None = None
    """Probability below which the gate fails."""
    group: Mapping[str, Any] = field(default_factory=dict)
    """Columns and values of the one group to judge."""
    by: tuple[str, ...] = ()
    """Columns of the groups to judge."""
    against: Literal["baseline", "removed", "history"] | None = None
    """Rows to compare with."""
    nights: Annotated[int, Meta(ge=0, le=1000)] = 0
    """Length of each of the two windows of the history."""
    min_rows: Annotated[int, Meta(ge=0, le=2**53)] = 0
    """Rows below which the gate is silent."""
    missing: Literal["fail", "pass"] = "fail"
    """Result of the gate without a figure."""

    @property
    def grouping(self) -> Grouping:
        """The columns of the groups to judge."""
        return self.by or tuple(sorted(self.group))

    @property
    def needs_baseline(self) -> bool:
        """Whether its figure is a comparison with the baseline."""
        return self.against in ("baseline", "removed") or self.metric in (*OF_BASELINE, *ADDED_RATES)

    @property
    def is_difference(self) -> bool:
        """Whether its value is a difference, which may be negative."""
        return self.against is not None and self.metric not in OF_BASELINE

    @property
    def alert_direction(self) -> Literal["above", "below"]:
        """The side of a threshold that warns or fails."""
        return "below" if self.metric == LOWER_IS_WORSE else "above"

    def is_beyond(self, value: float | None, threshold: float | None) -> bool:
        """Whether a value is on that side of a threshold."""
        if value is None or threshold is None:
            return False
        sign, threshold = (
            (1, threshold) if self.alert_direction == "above" else (-1, -threshold if self.against else threshold)
        )
        return sign * (value - threshold) > ROUNDING


class GatesFile(Record, frozen=True):
    """A TOML file of gates."""

    gates: Annotated[tuple[Rule, ...], Meta(min_length=1)]


def load_gates(paths: Sequence[Path], columns: Sequence[str] | None = None, has_baseline: bool = True) -> list[Rule]:
    """The gates of TOML files, in order. ``columns``: of the output, if they are known.

    Raises:
        UsageError: a file that is no regular file of at most :data:`LARGEST_FILE` bytes, is no TOML, or has a gate that
            is not of the form above, or could never have a figure.
    """
    rules = []
    for path in paths:
        for number, unchecked in enumerate(_read(path), 1):
            where = f"{path.name}, gate {number}"
            rule = _checked(unchecked, where)
            missing = [column for column in rule.grouping if columns is not None and column not in columns]
            if missing:
                raise UsageError(f"{where}: no column {missing[0]!r}; the columns are {', '.join(columns or ())}")
            if rule.needs_baseline and not has_baseline:
                comparison = 'against = "baseline"' if rule.against == "baseline" else f"metric {rule.metric}"
                raise UsageError(f"{where}: {comparison} compares with an earlier run; pass it with --baseline")
            rules.append(rule)
    return rules


def _read(path: Path) -> tuple[Rule, ...]:
    where = f"gates file {path}"
    try:
        text = read_small(path, LARGEST_FILE).decode("utf-8")
        if any(line.count(".") > MOST_DOTS for line in re.split("[\r\n]", text)):
            raise ValueError(f"a line has more than {MOST_DOTS} full stops, and no gate needs as many")
        return convert(tomllib.loads(text), GatesFile).gates
    except OSError as e:
        raise UsageError(f"{where}: {e.strerror or e}; give a readable TOML file") from e
    except ValidationError as e:
        keys = ", ".join(Rule.__struct_fields__)
        raise UsageError(
            f"{visible(f'{where}: {reason_of(e)}')[:300]}; write a [[gates]] table for each gate; its keys are {keys}"
        ) from e
    except (RecursionError, ValueError) as e:  # nested too deeply, not UTF-8, no TOML, or an integer of too many digits
        raise UsageError(f"{where} is not TOML: {str(e)[:200]}") from e


def _checked(rule: Rule, where: str) -> Rule:
    """A gate with limits that it can reach, and with the values of its group as text."""
    metric, added, fail_p = rule.metric, rule.metric in ADDED_RATES, rule.fail_p
    refusals = (
        (metric not in METRICS, f"unknown metric {metric[:60]!r}; the metrics are {', '.join(METRICS)}"),
        (rule.against == "history" and metric not in RATES,
         f'against = "history" is for {", ".join(RATES)}'),
        ((rule.against == "history") != (rule.nights > 0),
         'nights, the length of each of the two windows, goes with against = "history"'),
        (rule.against in ("baseline", "removed") and (rule.against == "removed") != added,
         f'against = "{rule.against}" does not suit {metric}; write "{"removed" if added else "baseline"}"'),
        (fail_p is not None and not (added and rule.against) and rule.against != "history",
         f'fail_p is for against = "history", and for {", ".join(ADDED_RATES)} with against = "removed"'),
        (fail_p is not None and not 0 < fail_p < 1, f"fail_p = {fail_p} is not a probability, such as 0.001"),
        (rule.warn is None and rule.fail is None and fail_p is None, "neither warn nor fail is given; write one"),
        (rule.group and rule.by, "both group and by; write one of them"),
        (any(isinstance(value, dict | list) or (isinstance(value, int) and value.bit_length() > 64)
             for value in rule.group.values()), 'group is a table of columns and values: { system = "tgen" }'),
    )  # fmt: skip
    for refused, problem in refusals:
        if refused:
            raise UsageError(f"{where}: {problem}")
    warn, fail = (_threshold(rule, key, where) for key in ("warn", "fail"))
    sign = -1 if metric == LOWER_IS_WORSE and rule.against is None else 1
    if warn is not None and fail is not None and sign * warn > sign * fail:
        raise UsageError(f"{where}: warn = {warn:g} is only reached after fail = {fail:g}; swap them")
    group = {column: value_name(value) for column, value in rule.group.items()}
    return replace(rule, warn=warn, fail=fail, group=group, by=tuple(dict.fromkeys(rule.by)))


def _threshold(rule: Rule, key: Literal["warn", "fail"], where: str) -> float | None:
    """``warn`` or ``fail``, if it can be reached. How far a metric may fall may be written with any sign."""
    number: float | None = getattr(rule, key)
    if number is None:
        return None
    is_least = rule.metric == LOWER_IS_WORSE and rule.against is None
    number = abs(number) if rule.metric == LOWER_IS_WORSE and rule.against else number
    is_share = rule.metric in SHARES
    allowed = "0 or more" if not is_share else "above 0, at most 1" if is_least else "from 0 to below 1"
    fits = 0 < number <= 1 if is_least else 0 <= number < (1 if is_share else math.inf)
    if not fits:
        guess = abs(number) / 100 if is_share and abs(number) > 1 else abs(number)
        suggestion = f"; did you mean {guess:g}?" if 0 < guess < 1 else ""
        raise UsageError(f"{where}: {key} = {number:g}, and limits on {rule.metric} are {allowed}{suggestion}")
    return number
