"""Tonight's figures: verdict rates per group, by number of facts and length of text, confidence, errors and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..document import ByFacts, ByLength, Confidence, ConfidenceChange, Document, GroupFigures
from . import charts, numbers
from .labels import KINDS, MEASURES, all_rows, count_cell, group_label, group_plain, rate_cell, top_of
from .limits import Limits, clip, first
from .markup import Child, Html, element, join
from .tables import Cell, Column, Row, table

_DRAWN = ("not_ok_rate", "omission_rate", "hallucination_rate")


def verdicts(document: Document, limits: Limits) -> Html | None:
    """Rates per group with intervals, each drawn in its cell; a table per grouping, all rows first in each."""
    whole = all_rows(document)
    if whole is None:
        return None
    groupings: dict[tuple[str, ...], list[GroupFigures]] = {}
    for figures in document["groups"][1:]:
        groupings.setdefault(tuple(figures["grouping"]), []).append(figures)
    said = "Dot: the rate tonight; line: its 95 % interval (Wilson)"
    said += "; tick: the rate in the baseline" if document["baseline"] else ""
    said += "; hollow: beyond the scale."
    counted = document["options"]["errors"] == "not-ok"
    parts: list[Child] = [
        element(
            "p",
            said,
            " Error rows count as not OK." if counted else " Error rows are left out.",
            " Confidence is the mean.",
            class_="say",
        )
    ]
    if not groupings:
        parts.append(_rates("Verdict rates of all rows.", "Group", [whole], 0, limits))
    share = max(limits.groups // max(len(groupings), 1), 2)
    for names, groups in list(groupings.items())[: limits.few]:
        kept, rest = first(groups, share)
        by = " and ".join(names[: limits.few])
        parts.append(
            _rates(
                f"Verdict rates by {by[: limits.name]}.",
                " · ".join(names[: limits.few])[: limits.name],
                [whole, *kept],
                rest,
                limits,
            )
        )
    return join(*parts)


def _rates(caption: str, title: str, groups: Sequence[GroupFigures], left_out: int, limits: Limits) -> Html:
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
        *(Column(MEASURES[name], number=True, wide=True) for name in _DRAWN),
        Column("Errors", number=True),
        Column("Empty", number=True),
        Column("Confidence", number=True),
    ]
    return table(caption, columns, rows, left_out)


def confidences(document: Document, limits: Limits) -> Html | None:
    """The distribution of confidence, the baseline's over it, and quantiles of both."""
    whole = all_rows(document)
    if whole is None or not whole["confidence"]["n"]:
        return None
    now = whole["confidence"]
    change = whole["change"]["confidence"] if whole["change"] else None
    before = change["before"] if change and change["before"]["n"] else None
    shares, earlier = _shares(now), _shares(before) if before else None
    name = "Share of labelled rows by confidence, in twenty bins from 0 to 1, on a square-root scale"
    keys = [("column", "tonight"), *([("step", "baseline")] if earlier else [])]
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
    return join(
        element(
            "p",
            "The confidence of a row is the least entailment probability of its checks. ",
            _drift(change) if change else None,
            class_="say",
        ),
        element(
            "figure",
            element("figcaption", "Share of labelled rows by confidence"),
            charts.legend(*keys),
            charts.histogram(shares, earlier, ("0", "0.25", "0.5", "0.75", "1"), name),
            element(
                "details", element("summary", "The figures of the chart"), table("Rows by confidence.", columns, rows)
            ),
        ),
        _quantiles(now, before),
    )


def _drift(change: ConfidenceChange) -> str:
    """How far the distribution moved, in a sentence."""
    index = numbers.small(change["psi"])
    said = f"The population stability index is {index}: 0.1 is usually called a shift, 0.25 a large one."
    if change["ks"] is None:
        return said
    distance = numbers.small(change["ks"])
    return f"{said} The rows that changed and their like before are at most {distance} apart (Kolmogorov–Smirnov)."


def _shares(confidence: Confidence) -> list[float]:
    total = sum(confidence["histogram"]) or 1
    return [count / total for count in confidence["histogram"]]


def _quantiles(now: Confidence, before: Confidence | None) -> Html:
    names = sorted(now["quantiles"], key=float)
    rows: list[Row] = [["Tonight", *(numbers.probability(now["quantiles"][name]) for name in names)]]
    if before:
        rows.append(["Baseline", *(numbers.probability(before["quantiles"].get(name)) for name in names)])
    columns = [Column("", sortable=False), *(Column(f"{100 * float(name):.3g} %", True) for name in names)]
    columns[0] = Column("Night", sortable=False)
    return table(
        "Quantiles of confidence: the share of rows in the heading has at most this.", columns, rows, sortable=False
    )


def by_size(document: Document, limits: Limits) -> Html | None:
    """Hallucination and omission by number of facts and by length of text."""
    whole = all_rows(document)
    if whole is None or not (whole["by_facts"] or whole["by_length"]):
        return None
    return join(
        element("p", "Dot: the rate; line: its 95 % interval (Wilson); hollow: beyond the scale.", class_="say"),
        _classes("By number of facts.", "Facts", whole["by_facts"], limits),
        _classes("By length of text.", "Characters", whole["by_length"], limits),
    )


def _classes(caption: str, title: str, classes: Sequence[ByFacts] | Sequence[ByLength], limits: Limits) -> Html | None:
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
        Column("Hallucination", number=True, wide=True),
        Column("Omission", number=True, wide=True),
    ]
    return table(caption, columns, rows, len(classes) - len(kept))


def errors(document: Document, limits: Limits) -> Html | None:
    """Rows by error and by note, and duplicates."""
    whole = all_rows(document)
    rows = document["rows"]
    duplicates = whole["duplicates"] if whole else None
    parts: list[Child] = []
    if duplicates and duplicates["repeated"]:
        parts.append(
            element(
                "p",
                f"{numbers.plural(duplicates['repeated'], 'row')} of {numbers.count(duplicates['rows'])} repeat the "
                f"facts and text of another; the most frequent stands {numbers.plural(duplicates['most'], 'time')}.",
                class_="say",
            )
        )
    tables = [
        _kinds("Rows without a label, by error.", "Error", rows["errors"], rows["in"], limits),
        _kinds("Rows with a note on their label.", "Note", rows["notes"], rows["in"], limits),
    ]
    if any(tables):
        parts.append(element("div", *tables, class_="beside-each-other"))
    if not rows["errors"]:
        parts.insert(0, element("p", "Every row has a label.", class_="say"))
    return join(*parts)


def _kinds(caption: str, title: str, kinds: Mapping[str, int], total: int, limits: Limits) -> Html | None:
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
