"""This run compared with the baseline: rows added and removed, labels that flipped, rates that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..document import RATES, Document, Flips, GroupFigures, RateChange, Test
from . import numbers
from .labels import MEASURES, difference, group_label, group_plain
from .limits import Limits, clip, clip_plain, first
from .tables import Cell, Column, Row, Table, table
from .views import Code, Text, WithNotes

_TESTS = {"mcnemar": "McNemar", "two_proportions": "two proportions", "kolmogorov_smirnov": "Kolmogorov–Smirnov"}


@dataclass(frozen=True)
class Changes:
    """The two outputs, how they differ, and tables; ``None`` if there is nothing to show."""

    baseline: Text
    rows: str
    differs: tuple[Text, ...] | None
    """What differs in the signatures; ``None``: they are the same."""
    differs_left_out: int
    significant: Table | None
    others: Table | None
    others_counted: str
    flips: Table | None


def changes(document: Document, limits: Limits) -> Changes | None:
    """The section's content, or ``None`` without a baseline."""
    baseline, found = document["baseline"], document["baseline_changes"]
    if baseline is None or found is None:
        return None
    differs, rest = first(baseline["differs"], limits.entries)
    moved = [
        (figures, name, figures["change"]["rates"][name])
        for figures in document["groups"]
        if figures["change"]
        for name in RATES
        if name in figures["change"]["rates"]
    ]
    significant = [one for one in moved if one[2]["significant"]]
    others = [one for one in moved if not one[2]["significant"] and one[2]["difference"]]
    return Changes(
        baseline=clip(baseline["out"], limits.name),
        rows=f"{numbers.plural(found['added'], 'row')} added, {numbers.count(found['removed'])} removed, "
        f"{numbers.count(found['kept'])} kept. Of the kept rows, {numbers.count(found['errors_appeared'])} lost their "
        f"label to an error and {numbers.count(found['errors_gone'])} gained a label.",
        differs=None if baseline["same_signature"] else tuple(clip(line, limits.name) for line in differs),
        differs_left_out=rest,
        significant=_rates(
            "Significant changes of rates (q below 0.05 after Benjamini–Hochberg).", significant, limits
        ),
        others=_rates("Differences that may be due to chance at this number of rows.", others, limits),
        others_counted=numbers.plural(len(others), "other difference"),
        flips=_flips(found["flips"], limits),
    )


def _rates(caption: str, moved: Sequence[tuple[GroupFigures, str, RateChange]], limits: Limits) -> Table | None:
    if not moved:
        return None
    moved = sorted(moved, key=lambda one: -abs(one[2]["difference"] or 0.0))
    kept, rest = first(moved, limits.changes)
    rows: list[Row] = [
        [
            Cell(group_label(figures["group"], limits), group_plain(figures["group"], limits)),
            MEASURES.get(name, name),
            Cell(numbers.percent(change["before"]["value"]), change["before"]["value"]),
            Cell(numbers.percent(change["after"]["value"]), change["after"]["value"]),
            Cell(difference(change), change["difference"]),
            _tests(change["tests"]),
        ]
        for figures, name, change in kept
    ]
    columns = [
        Column("Group"),
        Column("Rate"),
        Column("Baseline", number=True),
        Column("This run", number=True),
        Column("Difference", number=True),
        Column("Tests", sortable=False, prose=True),
    ]
    return table(caption, columns, rows, rest)


def _tests(tests: Sequence[Test]) -> WithNotes:
    lines = tuple(
        (
            f"{_TESTS.get(test['name'], test['name'][:40])}: q {numbers.small(test['q'])} "
            f"({numbers.count(test['n_before'])} and {numbers.plural(test['n_after'], 'row')})",
        )
        for test in tests[:4]
    )
    return WithNotes("" if lines else numbers.MISSING, lines)


def _flips(flips: Flips, limits: Limits) -> Table | None:
    if not flips["count"]:
        return None
    kept, _ = first(flips["rows"], limits.flips)
    allowed = flips["allowed"]
    rows: list[Row] = [
        [
            clip(f"{clip_plain(flip['file'], limits.name)}:{flip['row']}", limits.name + 20),
            f"{flip['before'][:40]} → {flip['after'][:40]}",
            Cell(numbers.small(flip["difference"]), flip["difference"]),
            {True: "yes", False: "no", None: "not known"}[flip["beyond_bound"]],
            Code(flip["row_key"][:40]),
        ]
        for flip in kept
    ]
    columns = [
        Column("Row"),
        Column("Label"),
        Column("Largest change", number=True),
        Column("Beyond the bound"),
        Column("Key"),
    ]
    bound = f" Measured bounds explain changes up to {numbers.small(allowed)}." if allowed is not None else ""
    return table(
        f"Label flips: rows in both outputs whose label differs, {numbers.count(flips['count'])} in all.{bound}",
        columns,
        rows,
        flips["count"] - len(kept),
    )
