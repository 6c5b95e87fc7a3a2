"""The figures of a run: verdict rates per group, by number of facts and length of text; confidence, errors, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..document import ByFacts, ByLength, Confidence, ConfidenceChange, Document, GroupFigures
from . import charts, numbers
from .labels import KINDS, MEASURES, all_rows, count_cell, drawn_column, group_label, group_plain, rate_cell, top_of
from .limits import Limits, clip, first
from .tables import Cell, Column, Row, Table, table

_DRAWN = ("not_ok_rate", "omission_rate", "hallucination_rate")


@dataclass(frozen=True)
class Verdicts:
    """``compared``: with a baseline. ``errors_counted``: error rows count as not OK. A table per grouping."""

    compared: bool
    errors_counted: bool
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Chart:
    """A drawing, its legend as (class, words), and the table that it is drawn from."""

    caption: str
    legend: tuple[tuple[str, str], ...]
    plot: charts.Plot
    table: Table


@dataclass(frozen=True)
class Confidences:
    """``drift``: how far it moved since the baseline, in a sentence."""

    drift: str
    chart: Chart
    quantiles: Table


@dataclass(frozen=True)
class Errors:
    """``repeated``: a sentence on duplicates. Tables; ``None``: there is nothing to show in it."""

    repeated: str
    errors: Table | None
    notes: Table | None


def verdicts(document: Document, limits: Limits) -> Verdicts | None:
    """Rates per group with intervals, each drawn in its cell; a table per grouping, all rows first in each."""
    whole = all_rows(document)
    if whole is None:
        return None
    groupings: dict[tuple[str, ...], list[GroupFigures]] = {}
    for figures in document["groups"][1:]:
        groupings.setdefault(tuple(figures["grouping"]), []).append(figures)
    tables = [] if groupings else [_rates("Verdict rates of all rows.", "Group", [whole], 0, limits)]
    share = max(limits.groups // max(len(groupings), 1), 2)
    for names, groups in list(groupings.items())[: limits.few]:
        kept, rest = first(groups, share)
        by = " and ".join(names[: limits.few])[: limits.name]
        title = " · ".join(names[: limits.few])[: limits.name]
        tables.append(_rates(f"Verdict rates by {by}.", title, [whole, *kept], rest, limits))
    return Verdicts(document["baseline"] is not None, document["options"]["errors"] == "not-ok", tuple(tables))


def _rates(caption: str, title: str, groups: Sequence[GroupFigures], left_out: int, limits: Limits) -> Table:
    tops = {name: top_of([figures["rates"].get(name) for figures in groups]) for name in _DRAWN}
    rows = []
    for figures in groups:
        before = figures["change"]["rates"] if figures["change"] else {}
        cells: Row = [Cell(group_label(figures["group"], limits, columns=False), group_plain(figures["group"], limits))]
        cells.append(count_cell(figures["rows"]))
        for name in _DRAWN:
            change = before.get(name)
            was = change["before"]["value"] if change else None
            cells.append(rate_cell(figures["rates"].get(name), tops[name], was, KINDS.get(name, "")))
        for name in ("error_rate", "empty_rate"):
            rate = figures["rates"].get(name)
            cells.append(Cell(numbers.percent(rate["value"] if rate else None), rate["value"] if rate else None))
        cells.append(Cell(numbers.probability(figures["confidence"]["mean"]), figures["confidence"]["mean"]))
        rows.append(cells)
    columns = [
        Column(title),
        Column("Rows", number=True),
        *(drawn_column(MEASURES[name], tops[name]) for name in _DRAWN),
        Column("Errors", number=True),
        Column("Empty", number=True),
        Column("Confidence", number=True),
    ]
    return table(caption, columns, rows, left_out)


def confidences(document: Document) -> Confidences | None:
    """The distribution of confidence, the baseline's over it, and quantiles of both."""
    whole = all_rows(document)
    if whole is None or not whole["confidence"]["n"]:
        return None
    now = whole["confidence"]
    change = whole["change"]["confidence"] if whole["change"] else None
    before = change["before"] if change and change["before"]["n"] else None
    shares, earlier = _shares(now), _shares(before) if before else None
    name = "Share of labelled rows by confidence, in twenty bins from 0 to 1"
    bins = len(shares)
    rows: list[Row] = [
        [
            f"{i / bins:.2f}–{(i + 1) / bins:.2f}",
            count_cell(now["histogram"][i]),
            Cell(numbers.percent(shares[i]), shares[i]),
            *([Cell(numbers.percent(earlier[i]), earlier[i])] if earlier else []),
        ]
        for i in range(bins)
    ]
    columns = [Column("Confidence"), Column("Rows", True), Column("Share", True)]
    columns += [Column("Baseline's share", True)] if earlier else []
    return Confidences(
        _drift(change) if change else "",
        Chart(
            "Share of labelled rows by confidence",
            (("column", "this run"), *((("step", "baseline"),) if earlier else ())),
            charts.histogram(
                shares, earlier, ("0", "0.25", "0.5", "0.75", "1"), name, ("Share of labelled rows", "Confidence")
            ),
            table("Rows by confidence.", columns, rows),
        ),
        _quantiles(now, before),
    )


def _drift(change: ConfidenceChange) -> str:
    """How far the distribution moved, in a sentence."""
    index = numbers.small(change["psi"])
    said = f"The population stability index (PSI) is {index}; 0.1 usually counts as a shift, 0.25 as a large one."
    if change["ks"] is None:
        return said
    distance = numbers.small(change["ks"])
    return f"{said} The distributions that the test compares differ by at most {distance} (Kolmogorov–Smirnov)."


def _shares(confidence: Confidence) -> list[float]:
    total = sum(confidence["histogram"]) or 1
    return [count / total for count in confidence["histogram"]]


def _quantiles(now: Confidence, before: Confidence | None) -> Table:
    names = sorted(now["quantiles"], key=float)
    rows: list[Row] = [["This run", *(numbers.probability(now["quantiles"][name]) for name in names)]]
    if before:
        rows.append(["Baseline", *(numbers.probability(before["quantiles"].get(name)) for name in names)])
    columns = [Column("", sortable=False), *(Column(f"{100 * float(name):.3g}%", True) for name in names)]
    columns[0] = Column("Run", sortable=False)
    return table(
        "Quantiles of confidence: the share of rows in the heading has at most this confidence.",
        columns,
        rows,
        sortable=False,
    )


def by_size(document: Document, limits: Limits) -> tuple[Table, ...] | None:
    """Hallucination and omission by number of facts and by length of text."""
    whole = all_rows(document)
    if whole is None:
        return None
    possible = (
        _classes("By number of facts.", "Facts", whole["by_facts"], limits),
        _classes("By length of text.", "Characters", whole["by_length"], limits),
    )
    return tuple(found for found in possible if found) or None


def _classes(caption: str, title: str, classes: Sequence[ByFacts] | Sequence[ByLength], limits: Limits) -> Table | None:
    if not classes:
        return None
    kept = list(classes)[: limits.entries]
    top = top_of([rate for one in kept for rate in (one["hallucination"], one["omission"])])
    rows: list[Row] = []
    for one in kept:
        least, most = one["least"], one["most"]
        between = f"{numbers.count(least)} or more" if most is None else numbers.count(least)
        if most is not None and most != least:
            between = f"{numbers.count(least)}–{numbers.count(most)}"
        rows.append(
            [
                Cell(between, f"{least:012d}"),
                count_cell(one["rows"]),
                rate_cell(one["hallucination"], top, kind="hallucination"),
                rate_cell(one["omission"], top, kind="omission"),
            ]
        )
    columns = [
        Column(title),
        Column("Rows", number=True),
        drawn_column("Hallucination", top),
        drawn_column("Omission", top),
    ]
    return table(caption, columns, rows, len(classes) - len(kept))


def errors(document: Document, limits: Limits) -> Errors:
    """Rows by error and by note, and duplicates."""
    whole = all_rows(document)
    rows = document["rows"]
    duplicates = whole["duplicates"] if whole else None
    repeated = ""
    if duplicates and duplicates["repeated"]:
        repeated = (
            f"{numbers.plural(duplicates['repeated'], 'row')} of {numbers.count(duplicates['rows'])} repeat the "
            f"facts and text of another row; the most frequent occurs {numbers.plural(duplicates['most'], 'time')}."
        )
    return Errors(
        repeated,
        _kinds("Rows without a label, by error.", "Error", rows["errors"], rows["in"], limits),
        _kinds("Rows with a note on their label.", "Note", rows["notes"], rows["in"], limits),
    )


def _kinds(caption: str, title: str, kinds: Mapping[str, int], total: int, limits: Limits) -> Table | None:
    if not kinds:
        return None
    ordered = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    kept, rest = first(ordered, limits.entries)
    rows: list[Row] = [
        [
            Cell(clip(name, limits.name), name[: limits.name]),
            count_cell(found),
            Cell(numbers.percent(found / total if total else None), found),
        ]
        for name, found in kept
    ]
    return table(caption, [Column(title), Column("Rows", number=True), Column("Share", number=True)], rows, rest)
