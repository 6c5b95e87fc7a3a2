"""The audit on a terminal: what the template of the console says, and tables of groups and predicates."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ..audit.document import Document, GroupFigures
from ..audit.gates import describe
from ..audit.report import console_markup
from ..system.terminal import all_visible
from .console import INTERVAL, MISSING, interval, make_console, number, points, share, table

MOST_GROUPS = 40
MOST_PREDICATES = 10
WIDTH = 120


def print_document(document: Document) -> None:
    """Print a document on stdout. Hidden characters in names from data are shown as code points."""
    document, console = all_visible(document), make_console(least_width=WIDTH)
    console.print(Text.from_markup(console_markup(document)))
    _groups(console, document)
    _predicates(console, document.groups[0])
    _comparison(console, document)
    for note in document.notes:
        console.print(f"note: {note}")


def _groups(console: Console, document: Document) -> None:
    names = ("rows", "not_OK", INTERVAL, "omission", "hallucination", "error", "empty", "confidence", "since baseline")
    made = table("", *names)
    groups = document.groups
    for group in groups[: MOST_GROUPS + 1]:
        rates = group.rates
        not_ok = rates["not_ok_rate"]
        others = (rates[name] for name in ("omission_rate", "hallucination_rate", "error_rate", "empty_rate"))
        cells = [f"{group.rows:,}", share(not_ok.value), interval((not_ok.low, not_ok.high), share)]
        cells += [*(share(rate.value) for rate in others), number(group.confidence.mean), _since(group)]
        made.add_row(Text(describe(group.group)), *cells)
    console.print(made)
    if len(groups) > MOST_GROUPS + 1:
        console.print(f"and {len(groups) - MOST_GROUPS - 1} more groups, in --json and --report")


def _since(group: GroupFigures) -> str:
    change = group.change
    moved = change.rates["not_ok_rate"] if change is not None else None
    if moved is None or moved.difference is None:
        return MISSING
    return f"{points(moved.difference)}{' *' if moved.significant else ''}"


def _comparison(console: Console, document: Document) -> None:
    found = document.comparison
    if found is None:
        return
    first, second = describe(found.first), describe(found.second)
    console.print(Text(f"\n{first} against {second}: {found.pairs:,} pairs of texts for the same input"))
    made = table("rate", "first", "second", "difference", INTERVAL, "p")
    for name, one in found.rates.items():
        made.add_row(name.removesuffix("_rate"), share(one.first.value), share(one.second.value),
                     points(one.difference), interval((one.low, one.high), points), number(one.p))  # fmt: skip
    console.print(made)


def _predicates(console: Console, everything: GroupFigures) -> None:
    predicates = everything.predicates[:MOST_PREDICATES]
    if not predicates:
        return
    made = table("predicate", "facts", "omitted", "before", "backoff", "")
    for one in predicates:
        shares = (
            share(value)
            for value in (one.omission.value, one.before.value if one.before is not None else None, one.backoff)
        )
        cells = (f"{one.omission.n:,}", *shares)
        made.add_row(Text(one.predicate), *cells, "looks wrong" if one.suspect else "")
    console.print()
    console.print(made)
