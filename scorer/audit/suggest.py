"""Gates files with thresholds that suit an output: what it has today, and what chance alone would move.

Two files, because gates that compare need a baseline and the first run has none. The thresholds are a start: whoever
owns the pipeline decides which rates are acceptable, and the comments say what each gate finds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from ..stats.percentages import percent
from ..system.display import visible
from .document import Document, GroupFigures, Rate
from .gates import describe
from .grouping import Grouping
from .power import NIGHTS, Rows, any_of, detectable, in_nights, rings, threshold_of
from .reach import seldom

INCREASES = tuple(step / 200 for step in range(1, 121))
"""Thresholds to choose from, as shares: half a point to sixty."""
SELDOM = 0.01
"""Share of runs without a change in which any group of a gate may fail."""
OFTEN = 0.1
"""The same for a warning."""
FEW_ROWS = 50
"""No gate looks at smaller groups: chance alone moves their rates by more than ten points."""
LEAST_SHARE = 0.02
"""Smaller shares of bad rows are taken for this one: an output that has none says little about the next."""
_NO_ROOM = 0.9
_HEAD = """# Gates of `scorer audit`, written by `scorer gates init` from {out}
# ({rows:,} rows, finished {finished}).
# {what}
# `scorer gates check OUT --gates FILE` says which of them can fire. docs/audit.md explains the keys.
"""
_VALUES = "Thresholds on values: the largest that still pass, as shares."
_CHANGES = "Thresholds on the increase since a baseline; pass the file together with --baseline."


def value_gates(document: Document) -> str:
    """A TOML file of gates on values."""
    everything = document.groups[0]
    rates = everything.rates
    kinds = [
        ("error_rate", 0.001, 0.01, "Rows without a label."),
        ("empty_rate", 0.001, 0.01, "Rows with a blank text."),
        ("not_ok_rate", 0.05, 0.1, "Rows that are not OK; catches a slow rise as well."),
    ]
    if rates["unsupported_numbers_rate"].n:
        kinds.append(("unsupported_numbers_rate", 0.02, 0.05, "Rows with a number that no fact has."))
    effects = everything.design_effects
    parts = [_head(document, _VALUES)]
    parts += [_gate(name, rates[name], warn, fail, said, effects[name]) for name, warn, fail, said in kinds]
    if everything.backoff is not None:
        said = "Facts without a template; a new predicate in the data raises it."
        parts.append(_gate("backoff_rate", everything.backoff, 0.02, 0.1, said))
    return "\n".join(parts)


def change_gates(document: Document) -> str:
    """A TOML file of gates that compare with a baseline."""
    parts = [_head(document, _CHANGES), _increase((), document.groups[:1], "All rows together.")]
    for columns in document.options.by:
        groups = [group for group in document.groups if group.grouping == columns]
        parts.append(_increase(tuple(columns), groups, f"Each group of {visible(', '.join(columns))} by itself."))
    parts.append(_added((), document.groups[:1]))
    for columns in document.options.by:
        parts.append(_added(tuple(columns), [g for g in document.groups if g.grouping == columns]))
    if not document.options.by:
        parts.append("# No grouping: `scorer gates init --by COLUMNS` adds a gate for each group.\n")
    said = "# Rows in both runs keep their labels under equal signatures.\n"
    parts.append(said + _table("label_flips", [("fail", "0")]))
    return "\n".join(parts)


def _head(document: Document, what: str) -> str:
    out = visible(document.out)
    return _HEAD.format(out=out, rows=document.rows.all, finished=document.finished, what=what)


def _gate(metric: str, rate: Rate, warn: float, fail: float, said: str, effect: float = 1.0) -> str:
    """A gate on a value: ``warn`` and ``fail`` above the interval of what the output has."""
    value, high = rate.value, rate.high
    if value is None or high is None:
        return f"# {said}\n# {metric}: this output has no figure for it.\n"
    comment = f"# {said}\n# This output: {_percent(value)}, 95% interval {_percent(rate.low)} to {_percent(high)}.\n"
    if high > _NO_ROOM:
        return comment + f"# A threshold above that would hardly ever fail, so there is no gate on {metric}.\n"
    # In a run without a change the fail limit is passed at most once in a hundred.
    by_chance = value + threshold_of(Rows(rate.n, rate.n, 0, effect=effect), value, SELDOM)
    limits = [("warn", _share(_up(high + warn))), ("fail", _share(_up(max(high + fail, by_chance))))]
    return comment + _table(metric, limits)


def _increase(columns: Grouping, groups: Sequence[GroupFigures], said: str) -> str:
    """A gate on the increase of the share of rows that are not OK, for groups that are large enough."""
    large = [group for group in groups if group.rows >= FEW_ROWS and group.rates["not_ok_rate"].value is not None]
    comment = f"# {said}\n"
    if not large:
        return comment + f"# None has {FEW_ROWS} rows, so chance alone would move the rates too far for a gate.\n"
    sizes = [Rows.all_new(group.rows, group.design_effects["not_ok_rate"]) for group in large]
    shares = [max(group.rates["not_ok_rate"].value or 0.0, LEAST_SHARE) for group in large]

    def by_chance(limit: float) -> float:
        return any_of(rings(rows, limit, share) for rows, share in zip(sizes, shares, strict=True))

    warn, fail = (next((limit for limit in INCREASES if by_chance(limit) <= often), None) for often in (OFTEN, SELDOM))
    if warn is None or fail is None or fail >= 1 - max(shares):
        return comment + "# No threshold could be passed by the rates of this output, so there is no gate.\n"
    at = min(range(len(large)), key=lambda one: sizes[one].n / sizes[one].effect)
    finds = detectable(sizes[at], fail, shares[at])
    where = f"{visible(describe(large[at].group))} ({large[at].rows:,} rows)" if columns else "all rows"
    found = "no increase reliably" if finds is None else f"an increase by {100 * finds:.1f} points"
    chance, any_group = by_chance(fail), f"any of {len(large)} groups" if len(large) > 1 else "it"
    comment += f"# Of {where} it finds {found} with a probability of 80%.\n"
    comment += f"# If all rows are new and nothing changes, {any_group} fails in {seldom(chance)} of runs, and at\n"
    comment += f"# least once in {NIGHTS} runs with a chance of {seldom(in_nights(chance))}.\n"
    if left := len(groups) - len(large):
        comment += f"# {left} of {len(groups)} groups have fewer than {FEW_ROWS} rows; the gate is silent there.\n"
    keys = [("by", json.dumps(list(columns), ensure_ascii=False))] if columns else []
    keys += [("against", '"baseline"'), ("warn", _share(warn)), ("fail", _share(fail))]
    return comment + _table("not_ok_rate", keys + ([("min_rows", str(FEW_ROWS))] if columns else []))


def _added(columns: Grouping, groups: Sequence[GroupFigures]) -> str:
    """A gate on the rows that are new, which finds a few bad ones among many that were kept."""
    chance = _rounded_down(SELDOM / max(len(groups), 1))
    what = f"each group of {visible(', '.join(columns))}" if columns else "all groups together"
    comment = f"# The new rows of {what} against those that they replace. Few bad ones hardly move a rate over\n"
    comment += f"# all rows. Without a change it fails in at most {percent(SELDOM)} of runs"
    comment += f", over all {len(groups)} groups.\n" if columns else ".\n"
    keys = [("by", json.dumps(list(columns), ensure_ascii=False))] if columns else []
    keys += [("against", '"removed"'), ("fail_p", f"{chance:g}")]
    return comment + _table("added_not_ok_rate", keys)


def _rounded_down(chance: float) -> float:
    """To one digit."""
    unit: float = 10.0 ** math.floor(math.log10(chance) + 1e-9)
    return round(math.floor(chance / unit + 1e-9) * unit, 12)


def _table(metric: str, keys: Sequence[tuple[str, str]]) -> str:
    return "\n".join(["[[gates]]", f'metric = "{metric}"', *(f"{key} = {value}" for key, value in keys)]) + "\n"


def _up(share: float) -> float:
    """Rounded up to thousandths below a hundredth, to hundredths above."""
    steps = 1000 if share < 0.0195 else 100
    return min(math.ceil(share * steps - 1e-9) / steps, 0.99)


def _share(value: float) -> str:
    return f"{value:.3f}".rstrip("0").ljust(4, "0")


def _percent(value: float | None) -> str:
    return "-" if value is None else percent(value)
