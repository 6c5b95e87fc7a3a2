"""Tonight against the baseline: rows that came and went, labels that flipped, rates that moved."""

from __future__ import annotations

from collections.abc import Sequence

from ..document import RATES, Document, GroupFigures, RateChange, Test
from . import numbers
from .labels import MEASURES, difference, group_label, group_plain
from .limits import Limits, clip, clip_plain, first
from .markup import Child, Html, element, join
from .tables import Cell, Column, Row, table

_TESTS = {"mcnemar": "McNemar", "two_proportions": "two proportions", "kolmogorov_smirnov": "Kolmogorov–Smirnov"}


def changes(document: Document, limits: Limits) -> Html | None:
    """The section's content, or ``None`` without a baseline."""
    baseline, found = document["baseline"], document["baseline_changes"]
    if baseline is None or found is None:
        return None
    differs, rest = first(baseline["differs"], limits.entries)
    warning = (
        join(
            element("p", "The two were scored under different signatures:", class_="say"),
            element("ul", join(element("li", element("code", clip(line, limits.name))) for line in differs)),
            element("p", f"{numbers.count(rest)} more", class_="quiet") if rest else None,
        )
        if not baseline["same_signature"]
        else None
    )
    return join(
        element(
            "p",
            "Against ",
            clip(baseline["out"], limits.name),
            f": {numbers.plural(found['added'], 'row')} added, {numbers.count(found['removed'])} removed, "
            f"{numbers.count(found['kept'])} kept. Of the kept, {numbers.count(found['errors_appeared'])} lost their "
            f"label to an error and {numbers.count(found['errors_gone'])} gained one.",
            class_="say",
        ),
        warning,
        _moved(document, limits),
        _flips(document, limits),
    )


def _moved(document: Document, limits: Limits) -> Html:
    """Changes of rates by group: the significant ones in sight, all behind a click."""
    every = [
        (figures, name, figures["change"]["rates"][name])
        for figures in document["groups"]
        if figures["change"]
        for name in RATES
        if name in figures["change"]["rates"]
    ]
    significant = [one for one in every if one[2]["significant"]]
    others = [one for one in every if not one[2]["significant"] and one[2]["difference"]]
    parts: list[Child] = []
    if significant:
        parts.append(
            _rates("Significant changes of rates (q below 0.05 after Benjamini–Hochberg).", significant, limits)
        )
    else:
        parts.append(element("p", "No rate changed significantly (q below 0.05 after Benjamini–Hochberg)."))
    if others:
        inner = _rates("Differences that the number of rows does not tell from chance.", others, limits)
        parts.append(
            element("details", element("summary", f"{numbers.plural(len(others), 'other difference')}"), inner)
        )
    return join(*parts)


def _rates(caption: str, moved: Sequence[tuple[GroupFigures, str, RateChange]], limits: Limits) -> Html:
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
        Column("Tonight", number=True),
        Column("Difference", number=True),
        Column("Tests", sortable=False, prose=True),
    ]
    return table(caption, columns, rows, rest)


def _tests(tests: Sequence[Test]) -> Html:
    lines = [
        element(
            "span",
            f"{_TESTS.get(test['name'], test['name'][:40])}: q {numbers.small(test['q'])} "
            f"({numbers.count(test['n_before'])} and {numbers.plural(test['n_after'], 'row')})",
            class_="beside",
        )
        for test in tests[:4]
    ]
    return join(*lines) if lines else element("span", numbers.MISSING)


def _flips(document: Document, limits: Limits) -> Html | None:
    found = document["baseline_changes"]
    if found is None:
        return None
    flips = found["flips"]
    if not flips["count"]:
        return element("p", "No row in both nights changed its label.")
    kept, _ = first(flips["rows"], limits.flips)
    allowed = flips["allowed"]
    rows: list[Row] = [
        [
            clip(f"{clip_plain(flip['file'], limits.name)}:{flip['row']}", limits.name + 20),
            f"{flip['before'][:40]} → {flip['after'][:40]}",
            Cell(numbers.small(flip["difference"]), flip["difference"]),
            {True: "yes", False: "no", None: "not known"}[flip["beyond_bound"]],
            element("code", flip["row_key"][:40]),
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
    bound = f" Measured bounds explain {numbers.small(allowed)}." if allowed is not None else ""
    return table(
        f"Label flips: rows in both nights whose label differs, {numbers.count(flips['count'])} in all.{bound}",
        columns,
        rows,
        flips["count"] - len(kept),
    )
