"""Gates files with limits that suit an output, each with the smallest increase that it finds.

A gate fails in at most one run of a hundred in which nothing changed, and all gates together warn in at most one of
twenty. Chances are binomial, exact for up to :data:`EXACT` rows and normal beyond, and take the rates of the output as
uncertain: they are means over the posterior of each rate under Jeffreys' prior (Brown, Cai & DasGupta, Statistical
Science 16, 2001, 101-133). Rows that share an input count as fewer, by their design effect.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..system.numbers import percent
from ..system.terminal import visible
from .database import Grouping
from .document import Document, GroupFigures, Rate, describe
from .gate_rules import ROUNDING

SELDOM, OFTEN = 0.01, 0.05
"""Share of runs without a change in which any group of a gate may fail, and in which any gate may warn."""
NIGHTS = 7
"""Nights of a history that are compared with as many before them."""
POINTS = 9
"""Number of rates that represent the posterior of a rate."""
ROWS_WARN, ROWS_FAIL = 0.2, 0.5
"""Relative changes of the number of rows that warn and fail: a choice."""
POWER = 0.8
FEW_ROWS, FEW_ADDED = 50, 5
"""Smallest group of a gate on an increase, and least number of added rows of a limit on them."""
MOST_ADDED = 0.5
"""Share of added rows that may be not_OK, whatever the baseline has: few rows prove no increase, all wrong is wrong."""
LEAST_SHARE = 0.02
"""Smaller shares of bad rows count as this one: an output without bad rows says little about the next."""
EXACT = 2_000
_NO_ROOM = 0.9
_LIMITS = tuple(step / 200 for step in range(1, 121))
_ON_VALUES = (
    ("error_rate", 0.001, 0.01, "Rows without a label."),
    ("empty_rate", 0.001, 0.01, "Rows with a blank text."),
    ("not_ok_rate", 0.05, 0.1, "Rows that are not OK; catches a slow rise as well."),
    ("backoff_rate", 0.02, 0.1, "Facts without a template; a new predicate in the data raises it."),
)
"""Metrics of gates on values, and the distances above the output's interval at which they warn and fail."""


def value_gates(document: Document) -> str:
    """A TOML file of gates on values."""
    all_rows, chances = document.groups[0], _chances(document)
    parts = [_head(document, "Limits on values, as shares: the largest that still pass.")]
    for metric, warn, fail, comment in _ON_VALUES:
        rate = all_rows.rates.get(metric, all_rows.backoff)
        if rate is not None:
            effect = all_rows.design_effects.get(metric, 1.0)
            parts.append(_on_value(metric, rate, warn, fail, comment, effect, chances))
    parts += [_on_history(columns, groups) for columns, groups in _groupings(document)]
    return "\n".join(parts)


def change_gates(document: Document) -> str:
    """A TOML file of gates that compare with a baseline."""
    parts = [_head(document, "Limits on the increase since a baseline; pass the file together with --baseline.")]
    chances = _chances(document)
    for columns, groups in _groupings(document):
        parts += [_on_rows(columns), _on_increase(columns, groups, chances), _on_added(columns, groups)]
    if not document.options.by:
        parts.append("# No grouping: `scorer gates init --by COLUMNS` adds gates for each group.\n")
    parts.append(_table("Rows in both runs keep their labels under equal signatures.", "label_flips", (), fail="0"))
    return "\n".join(parts)


class Chances(NamedTuple):
    """Shares of runs without a change in which a gate may warn or fail."""

    fail: float
    """Share of runs in which a gate may fail."""
    value: float
    """Share of runs in which a gate on a value may warn."""
    increase: float
    """Share of runs in which a gate on an increase may warn."""


def _groupings(document: Document) -> list[tuple[Grouping, list[GroupFigures]]]:
    """All rows, and each grouping, with their groups."""
    groupings = [(), *(tuple(columns) for columns in document.options.by)]
    return [
        (columns, [group for group in document.groups if tuple(group.grouping) == columns]) for columns in groupings
    ]


def _chances(document: Document) -> Chances:
    """The chances of each gate; together, gates warn in at most :data:`OFTEN` of runs. Gates on values have limits far
    above the values and use little of it, so that most is left for gates on increases."""
    all_rows = document.groups[0]
    chances = Chances(SELDOM, OFTEN / 10, OFTEN)
    used = 0.0
    for metric, warn, fail, _ in _ON_VALUES:
        rate = all_rows.rates.get(metric, all_rows.backoff)
        if rate is not None and rate.high is not None:
            limits = _value_limits(rate, warn, fail, all_rows.design_effects.get(metric, 1.0), chances)
            used += limits.by_chance(limits.warn)
    increases = sum(bool(_large(groups)) for _, groups in _groupings(document))
    remaining = (OFTEN - used) / max(1, increases)
    return chances._replace(fail=min(SELDOM, remaining), increase=remaining)


class _ValueLimits(NamedTuple):
    """Limits of a gate on a value."""

    warn: float
    """Threshold of a warning."""
    fail: float
    """Threshold of a failure."""
    by_chance: Callable[[float], float]
    """Probability that chance alone exceeds a limit."""


def _value_limits(rate: Rate, warn: float, fail: float, effect: float, chances: Chances) -> _ValueLimits:
    """Limits above the interval of a rate that has one."""
    rows, high = rate.n / effect, rate.high or 0.0
    shares = posterior(rate.count / effect, rows) if rate.count else (0.0,)  # none of a kind: it may well be impossible

    def by_chance(limit: float) -> float:
        return sum(exceeds(rows, limit, share) for share in shares) / len(shares)

    fails = _up(max(high + fail, _first(lambda limit: by_chance(limit) <= chances.fail)))
    warns = _up(max(high + warn, _first(lambda limit: by_chance(limit) <= chances.value)))
    return _ValueLimits(min(warns, fails), fails, by_chance)


def posterior(count: float, n: float) -> tuple[float, ...]:
    """Rates that represent the posterior of a true rate after ``count`` of ``n`` independent rows: the medians of
    equally likely parts of the posterior under Jeffreys' prior."""
    grid = (np.arange(4000) + 0.5) / 4000
    logs = (count - 0.5) * np.log(grid) + (n - count - 0.5) * np.log1p(-grid)
    weights = np.exp(logs - logs.max())
    cumulative = np.cumsum(weights) / weights.sum()
    positions = np.searchsorted(cumulative, (np.arange(POINTS) + 0.5) / POINTS)
    return tuple(grid[np.minimum(positions, len(grid) - 1)].tolist())


def exceeds(rows: float, limit: float, share: float, before: float | None = None) -> float:
    """Probability that the observed share of ``rows`` independent rows exceeds a limit.

    Args:
        share: the true share.
        before: the true share in an earlier run of as many rows; the limit then applies to the increase.
    """
    n = max(1, round(rows))
    if n > EXACT:
        variance = (share * (1 - share) + (0.0 if before is None else before * (1 - before))) / n
        distance = limit - share + (before or 0.0)
        return 0.5 * math.erfc(distance / math.sqrt(2 * variance)) if variance else float(distance < 0)
    first = math.floor(n * (limit + ROUNDING)) + 1
    hits = np.arange(max(first, 0), n + 1)
    chances = _binomial(n, share)[hits]
    if before is not None:  # the later run has `hits`, the earlier one at most hits - first
        chances = chances * np.cumsum(_binomial(n, before))[np.minimum(hits - first, n)]
    return float(chances.sum())


def detectable(rows: float, limit: float, share: float, *, compares: bool) -> float | None:
    """Smallest increase of a share that a gate finds with a probability of :data:`POWER`; ``None`` when none is."""
    before = share if compares else None
    if exceeds(rows, limit, 1.0, before) < POWER:
        return None
    return _first(lambda rise: exceeds(rows, limit, min(1.0, share + rise), before) >= POWER)


def _first(holds: Callable[[float], bool]) -> float:
    """The smallest number from 0 to 1 from which on a condition holds, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _binomial(n: int, share: float) -> npt.NDArray[np.float64]:
    """Probabilities of 0 to n hits. *Shape:* (n + 1,)."""
    if not 0 < share < 1:
        return np.eye(1, n + 1, round(share) * n)[0]
    hits = np.arange(n + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    ways = factorials[n] - factorials - factorials[::-1]
    return np.asarray(np.exp(ways + hits * math.log(share) + (n - hits) * math.log1p(-share)))


def _head(document: Document, summary: str) -> str:
    out, finished = visible(document.out), visible(document.finished)
    return (
        f"# Gates of `scorer audit`, written by `scorer gates init` from {out}\n"
        f"# ({document.rows.all:,} rows, finished {finished}). docs/audit.md explains the keys.\n# {summary}\n"
        f"# All gates of both files together warn in at most {percent(OFTEN)} of runs in which nothing changes.\n"
    )


def _on_value(metric: str, rate: Rate, warn: float, fail: float, comment: str, effect: float, chances: Chances) -> str:
    """A gate on a value: ``warn`` and ``fail`` above the interval of the output's rate."""
    value, high = rate.value, rate.high
    if value is None or rate.low is None or high is None:
        return f"# {comment}\n# {metric}: this output has no figure for it.\n"
    comment += f"\n# This output: {percent(value)}, 95% interval {percent(rate.low)} to {percent(high)}."
    if high > _NO_ROOM:
        return f"# {comment}\n# A limit above that would hardly ever fail, so there is no gate on {metric}.\n"
    limits = _value_limits(rate, warn, fail, effect, chances)
    rise = detectable(rate.n / effect, limits.fail, value, compares=False)
    comment += f"\n# It finds {_increase_found(rise)}."
    if rate.count:
        comment += f"\n# Without a change, {_said('it', *map(limits.by_chance, limits[:2]))}"
    return _table(comment, metric, (), warn=_share(limits.warn), fail=_share(limits.fail))


def _on_history(columns: Grouping, groups: Sequence[GroupFigures]) -> str:
    """A gate on a slow rise over the nights of a history."""
    comment = f"{_each(columns)}: the new rows of the last {NIGHTS} nights against those of the {NIGHTS} before (with\n"
    comment += f"# --history). Finds a slow rise. Without a change it fails in at most {percent(SELDOM)} of runs."
    return _table(
        comment, "not_ok_rate", columns, against='"history"', nights=str(NIGHTS), fail_p=_chance_of_each(groups)
    )  # fmt: skip


def _chance_of_each(groups: Sequence[GroupFigures]) -> str:
    """:data:`SELDOM` divided by the groups, rounded down to one digit."""
    chance = SELDOM / max(len(groups), 1)
    unit = 10.0 ** math.floor(math.log10(chance) + 1e-9)
    return f"{math.floor(chance / unit + 1e-9) * unit:.6g}"


def _on_rows(columns: Grouping) -> str:
    """A gate on the number of rows."""
    comment = (
        f"{_each(columns)}: how many rows there are, more or fewer. The limits are a choice: what a night may lose\n"
    )
    comment += "# or gain is not a matter of chance. A group that is gone is 1."
    least = {"min_rows": str(FEW_ROWS)} if columns else {}
    return _table(comment, "rows", columns, warn=_share(ROWS_WARN), fail=_share(ROWS_FAIL), **least)


def _large(groups: Sequence[GroupFigures]) -> list[GroupFigures]:
    return [group for group in groups if group.rows >= FEW_ROWS and group.rates["not_ok_rate"].value is not None]


def _on_increase(columns: Grouping, groups: Sequence[GroupFigures], chances: Chances) -> str:
    """A gate on the increase of the share of rows that are not OK, for groups that are large enough."""
    comment = f"{_each(columns)}.\n"
    large = [
        (group.rows / (effect := group.design_effects["not_ok_rate"]), group.rates["not_ok_rate"].count / effect, group)
        for group in _large(groups)
    ]
    if not large:
        return f"# {comment}# None has {FEW_ROWS} rows, so chance alone would move the rates too far for a gate.\n"
    likely = [(rows, posterior(max(count, LEAST_SHARE * rows), rows)) for rows, count, _ in large]

    def by_chance(limit: float) -> float:
        quiet = [1 - sum(exceeds(rows, limit, share, share) for share in shares) / POINTS for rows, shares in likely]
        return 1 - math.prod(quiet)

    warn, fail = (_least_limit(by_chance, chance) for chance in (chances.increase, chances.fail))
    if warn is None or fail is None or fail >= 1 - max(max(shares) for _, shares in likely):
        return f"# {comment}# No limit could be exceeded by the rates of this output, so there is no gate.\n"
    rows, count, group = min(large, key=lambda entry: entry[0])
    share = max(count / rows, LEAST_SHARE)
    where = f"{visible(describe(group.group))} ({group.rows:,} rows)" if columns else "all rows"
    subject = f"any of {len(large)} groups" if len(large) > 1 else "it"
    comment += f"# Of {where} it finds {_increase_found(detectable(rows, fail, share, compares=True))}.\n"
    comment += f"# If all rows are new and nothing changes, {_said(subject, by_chance(warn), by_chance(fail))}"
    if small := len(groups) - len(large):
        comment += f"\n# {small} of {len(groups)} groups have fewer than {FEW_ROWS} rows; the gate is silent there."
    least = {"min_rows": str(FEW_ROWS)} if columns else {}
    return _table(comment, "not_ok_rate", columns, against='"baseline"', warn=_share(warn), fail=_share(fail), **least)


def _least_limit(by_chance: Callable[[float], float], chance: float) -> float | None:
    """The smallest limit that chance exceeds with at most the probability ``chance``; ``None`` if there is none."""
    position = bisect_left(_LIMITS, True, key=lambda limit: by_chance(limit) <= chance)
    return _LIMITS[position] if position < len(_LIMITS) else None


def _said(subject: str, warns: float, fails: float) -> str:
    return f"{subject} warns or fails in {percent(warns)} of runs, and fails in {percent(fails)}."


def _on_added(columns: Grouping, groups: Sequence[GroupFigures]) -> str:
    """Two gates on the rows that are new, which find a few bad ones among many that were kept."""
    comment = f"{_each(columns)}: the new rows against those that they replace. Few bad ones hardly move a rate\n"
    comment += f"# over all rows. Without a change it fails in at most {percent(SELDOM)} of runs."
    gates = _table(comment, "added_not_ok_rate", columns, against='"removed"', fail_p=_chance_of_each(groups))
    share = max([LEAST_SHARE, *(group.rates["not_ok_rate"].value or 0.0 for group in groups)])
    limit = _up(max(MOST_ADDED, _first(lambda limit: exceeds(FEW_ADDED, limit, share) <= SELDOM)))
    if limit > _NO_ROOM:
        return gates
    comment = f"The same without a comparison, from {FEW_ADDED} new rows on: so few cannot prove an increase."
    return gates + "\n" + _table(
        comment, "added_not_ok_rate", columns, fail=_share(limit), min_rows=str(FEW_ADDED)
    )  # fmt: skip


def _each(columns: Grouping) -> str:
    return f"Each {visible(', '.join(columns))} by itself" if columns else "All rows together"


def _increase_found(rise: float | None) -> str:
    least = "no increase reliably" if rise is None else f"an increase by {100 * rise:.1f} points"
    return f"{least} with a probability of {percent(POWER)}"


def _table(comment: str, metric: str, columns: Grouping, **keys: str) -> str:
    """A gate as TOML, below its comment."""
    by = {"by": json.dumps(list(columns), ensure_ascii=False)} if columns else {}
    lines = (f"{key} = {value}" for key, value in (by | keys).items())
    return "\n".join([f"# {comment}", "[[gates]]", f'metric = "{metric}"', *lines]) + "\n"


def _up(share: float) -> float:
    """Rounded up to thousandths below a hundredth, to hundredths above."""
    steps = 1000 if share < 0.0195 else 100
    return min(math.ceil(share * steps - 1e-9) / steps, 0.99)


def _share(value: float) -> str:
    return f"{value:.3f}".rstrip("0").ljust(4, "0")
