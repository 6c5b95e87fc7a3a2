"""What the templates of the page show of a document, where that takes more than a loop: order, choice and words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from ..document import (
    LEAST_ROWS_OF_INDEX as LEAST_ROWS_OF_INDEX,
)
from ..document import (
    RATES,
    Confidence,
    Document,
    FactShown,
    Gate,
    GroupFigures,
    HistoryRow,
    RateChange,
    WorstRow,
)
from ..gates import describe
from . import numbers
from .escapes import for_prometheus
from .limits import Limits, clip_plain

MEASURES: Final = {
    "not_ok_rate": "Not OK",
    "omission_rate": "Omission",
    "hallucination_rate": "Hallucination",
    "error_rate": "Errors",
    "empty_rate": "Empty texts",
}
METRICS: Final = {
    **MEASURES,
    **{f"added_{name}": f"{title}, added rows" for name, title in MEASURES.items()},
    "backoff_rate": "Backoff",
    "mean_confidence": "Mean confidence",
    "label_flips": "Label flips",
    "psi_confidence": "Drift of confidence (PSI)",
}
KINDS: Final = {"omission_rate": "omission", "hallucination_rate": "hallucination", "error_rate": "error"}
STATUSES: Final = {"fail": "failed", "warn": "warning", "pass": "passed", "silent": "silent"}
TAGS: Final = {"omission": "omission", "hallucination": "hallucination", "omission+hallucination": "both"}
PLACES: Final = {
    "gate": "gates",
    "flips": "changes",
    "changed": "changes",
    "improved": "changes",
    "drift": "confidence",
    "template": "predicates",
    "backoff": "predicates",
    "errors": "errors",
    "tokens": "errors",
}
"""The section that a kind of finding is about."""
OVERVIEW_RATES: Final = ("not_ok_rate", "omission_rate", "hallucination_rate", "error_rate")
OVERVIEW: Final = [(MEASURES[name], "number", "") for name in OVERVIEW_RATES]
"""The kinds of error of the first table."""
# The picture next to the verdict, drawn in a square of 24 units.
GLYPHS: Final = {
    "none": "M6.5 12h11",
    "pass": "M5 12.5l4.5 4.5L19 7.5",
    "warn": "M12 6v7.5M12 17.2v.6",
    "fail": "M7 7l10 10M17 7L7 17",
}
_TITLES: Final = {"pass": "Passed", "warn": "Passed with warnings", "fail": "Failed"}
_LONGEST_COMMAND = 400
MOST_GROUPS = 50
"""Groups of each grouping that have metrics: values of the data must not multiply the time series."""


def verdict(document: Document) -> tuple[str, str]:
    """(class, words), the same in every format. Without a gate, or if every gate was silent, nothing was checked, which
    is not a pass."""
    if document.checked.nothing_checked and document.status == "fail":
        return "fail", "Nothing checked"
    if not document.checked.gates:
        return "none", "No gates set"
    return (
        ("warn", "Nothing checked") if document.checked.nothing_checked else (document.status, _TITLES[document.status])
    )


def more_or_fewer(change: RateChange) -> str:
    """How many more rows count for a rate than at the baseline's share: ``+19``."""
    more = round(change.after.count - change.after.n * (change.before.value or 0.0))
    return "±0" if not more else f"{'+' if more > 0 else numbers.MINUS}{numbers.count(abs(more))}"


def sections(document: Document) -> dict[str, str]:
    """The sections that have something to show, id and heading. The gates are always there, if only to say so."""
    whole, worse = document.groups[0], document.worse
    there = {
        "worse": ("What got worse", worse and (worse.rows or worse.flipped + worse.added_failing)),
        "gates": ("Gates", True),
        "verdicts": ("Verdicts", True),
        "comparison": ("Two groups compared", document.comparison),
        "changes": ("Changes", document.baseline_changes),
        "trend": ("Trend", len(runs(document, 2)) > 1),
        "confidence": ("Confidence", whole.confidence.n),
        "predicates": ("Predicates", whole.predicates or document.template_figures),
        "sizes": ("Facts and length", whole.by_facts or whole.by_length),
        "errors": ("Errors and notes", True),
        "worst": ("Worst rows", document.worst),
    }
    return {name: heading for name, (heading, found) in there.items() if found}


def by_grouping(document: Document) -> dict[tuple[str, ...], list[GroupFigures]]:
    """The groups of each grouping, by its columns; all rows are the one group of no columns."""
    found: dict[tuple[str, ...], list[GroupFigures]] = {}
    for group in document.groups:
        found.setdefault(tuple(group.grouping), []).append(group)
    return found


def tables_of_groups(document: Document) -> list[tuple[tuple[str, ...], list[GroupFigures]]]:
    """The groups of each grouping; all rows alone where there is none."""
    return [(names, groups) for names, groups in by_grouping(document).items() if names] or [((), [])]


def largest(document: Document) -> list[GroupFigures]:
    """The groups with most rows of each grouping; of those whose labels are equal once cut, the first."""
    chosen = [
        group
        for groups in by_grouping(document).values()
        for group in sorted(groups, key=lambda group: (-group.rows, describe(group.group)))[:MOST_GROUPS]
    ]
    return list({for_prometheus(describe(group.group)): group for group in reversed(chosen)}.values())[::-1]


def seconds(stamp: str) -> float | None:
    """A time of the document, in seconds since 1970; ``None`` where it is none."""
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return None


def gates(document: Document) -> list[Gate]:
    """The failed ones first."""
    return sorted(document.gates, key=lambda gate: list(STATUSES).index(gate.status))


def gate_figure(gate: Gate, value: float | None) -> str:
    """A value or threshold of a gate."""
    if value is None:
        return numbers.MISSING
    if gate.metric == "label_flips":
        return numbers.count(value)
    if not gate.metric.endswith("_rate"):
        return numbers.small(value)
    return f"{numbers.points(value)}\u00a0points" if gate.against else numbers.percent(value)


def moved(document: Document, significant: bool) -> list[tuple[GroupFigures, str, RateChange]]:
    """Rates that changed, by group and name, the largest difference first; without those that did not change at all."""
    found = [(group, name, group.change.rates[name]) for group in document.groups if group.change for name in RATES]
    chosen = [one for one in found if one[2].significant == significant and (significant or one[2].difference)]
    return sorted(chosen, key=lambda one: -abs(one[2].difference or 0.0))


def shares(confidence: Confidence) -> list[float]:
    """The share of rows in each bin."""
    total = sum(confidence.histogram) or 1
    return [count / total for count in confidence.histogram]


def runs(document: Document, most: int) -> list[HistoryRow]:
    """The last runs of the history, all rows; all of them for 0."""
    return [run for run in document.history if not run.group][-most:]


def days(found: Sequence[HistoryRow]) -> list[str]:
    """When the runs finished: days, or minutes where several finished on one day."""
    names = [run.night[:10] for run in found]
    return names if len(set(names)) == len(names) else [run.night[:16].replace("T", " ") for run in found]


def edges(names: Sequence[str]) -> tuple[str, ...]:
    """The first, the middle and the last of some names, for an axis."""
    middle = (names[len(names) // 2],) if len(names) % 2 and len(names) > 2 else ()
    return (names[0], *middle, names[-1])


def measures(found: Sequence[HistoryRow]) -> list[str]:
    """The rates that any run has."""
    return [name for name in RATES if any(getattr(run.rates, name) is not None for run in found)]


def histories(document: Document, most: int) -> list[tuple[dict[str, str | None], list[float | None]]]:
    """The not_OK rates of each group over the runs, of groups with two runs at least."""
    found: dict[tuple[tuple[str, str | None], ...], list[float | None]] = {}
    for row in document.history:
        if row.group:
            found.setdefault(tuple(sorted(row.group.items())), []).append(row.rates.not_ok_rate)
    return [(dict(group), rates[-most:]) for group, rates in found.items() if len(rates) > 1]


def worst(document: Document, limits: Limits) -> tuple[list[WorstRow], dict[str, int], int]:
    """Rows to read, how many of each kind, and how many kinds are left out."""
    chosen: list[WorstRow] = []
    kinds: dict[str, int] = {}
    left_out: set[str] = set()
    for row in document.worst:
        kind = row.kind
        if kind not in kinds and len(kinds) == limits.kinds:
            left_out.add(kind)
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] <= limits.cases:
            chosen.append(row)
    return chosen, {kind: min(found, limits.cases) for kind, found in kinds.items()}, len(left_out)


def facts(row: WorstRow, most: int) -> list[FactShown]:
    """The facts of a row in their order; with too many of them the omitted ones are kept first."""
    found = row.facts or []
    kept = sorted(range(len(found)), key=lambda i: not found[i].omitted)[:most]
    return [found[i] for i in sorted(kept)]


def triple(fact: FactShown) -> str:
    """A fact in the notation of a triple; one that was given as a sentence as it is."""
    return f"{fact.subject} | {fact.predicate} | {fact.object}" if fact.subject else fact.predicate


def place(row: Any, limits: Limits) -> str:
    """``part-0.parquet:17``."""
    return f"{clip_plain(row.file, limits.name)}:{row.row}"


def command(document: Document, row: WorstRow) -> str:
    """The command that explains a row; empty where a name in it is too long, or not plain text."""
    out, where = document.out, f"{row.file}:{row.row}"
    if len(out) + len(where) > _LONGEST_COMMAND or not (out + where).isprintable() or "\ufffd" in out + where:
        return ""
    return f"scorer explain {shlex.quote(out)} --row {shlex.quote(where)}"


def moment(stamp: str) -> str:
    """``2026-11-21T03:12:44Z`` as ``2026-11-21 03:12 UTC``; anything else as it is."""
    if len(stamp) >= 17 and stamp[10] == "T" and stamp.endswith(("Z", "+00:00")):
        return f"{stamp[:10]} {stamp[11:16]} UTC"
    return stamp[:40]


def parts(signature: str) -> list[str]:
    """The parts of a signature, each with its separator."""
    return re.split(r"(?<=\|)", signature)
