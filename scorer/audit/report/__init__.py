"""The reports of an audit: the page (HTML) and the summary (Markdown, and plain text for the console).

Text is never markup: every expression of a template is escaped for its format, and attributes take ``|plain``. A line
break in a template of the page is removed with the blanks around it; an undefined name is an error.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import Markup
from rich.cells import cell_len, set_cell_size

from ..document import RATES, Document, FactShown, GroupFigures, Rate, WorseRow, WorstRow, describe
from ..gates import format_figure
from . import text
from .exports import junit, metrics
from .text import Limits

__all__ = ["MAX_BYTES", "Audit", "console_text", "junit", "markdown", "metrics", "render"]

MAX_BYTES = 1_000_000
"""A page is smaller than this, in UTF-8."""
FOLD = 5
"""Entries of a list of the page before the others are folded."""
MOST_LINES = 60
"""The summary has fewer lines."""
MEASURES: Final = dict(
    zip(RATES, ("Not OK", "Omission", "Said wrongly", "Hallucination", "Errors", "Empty texts"), strict=True)
)
UNRECOGNISED: Final = Markup("Wrong values that the model does not recognise count as left out.")
"""A caution, wherever rows with something said wrongly are counted."""
STATUSES: Final = {"fail": "failed", "warn": "warning", "pass": "passed", "silent": "silent"}
TITLES: Final = {"pass": "Passed", "warn": "Passed with warnings", "fail": "Failed"}
TAGS: Final = {"omission": "omission", "hallucination": "hallucination", "omission+hallucination": "both"}
PLACES: Final = {
    "gate": "gates",
    "template": "predicates",
    "backoff": "predicates",
    "drift": "rates",
    "trend": "trend",
    "rows": "rates",
}
"""The section that a kind of finding is about."""
# The picture next to the verdict, drawn in a square of 24 units.
GLYPHS: Final = {
    "none": "M6.5 12h11",
    "pass": "M5 12.5l4.5 4.5L19 7.5",
    "warn": "M12 6v7.5M12 17.2v.6",
    "fail": "M7 7l10 10M17 7L7 17",
}
ESCAPES: Final = {"html": text.framed, "md": text.for_markdown, "txt": text.on_one_line}
"""How a text of the data is written in each format."""
WHY: Final = {"flipped": "same row, another label", "rewritten": "new text for the same facts", "new": "new facts"}
_BREAK = re.compile(r"[ \t]*\n\s*")
_MANY_BREAKS = re.compile(r"\n{3,}")


def render(document: Document) -> str:
    """The report of an audit as HTML, smaller than :data:`MAX_BYTES` in UTF-8 however large the document is."""
    limits = Limits()
    while True:
        page = environment("html").get_template("page.html.jinja").render(document=document, limits=limits)
        if len(page.encode()) < MAX_BYTES or limits == limits.halved():
            return page
        limits = limits.halved()


def markdown(document: Document) -> str:
    """The verdict, findings with rows, gates and groups; fewer than :data:`MOST_LINES` lines."""
    most = {"findings": 6, "evidence": 0, "gates": 8, "quiet_gates": 0, "groups": 9}
    return "\n".join(_summary("md", document, most).splitlines()[: MOST_LINES - 1]) + "\n"


def console_text(document: Document) -> str:
    """The same for a console: without the marks of Markdown, and more of everything."""
    most = {"findings": 20, "evidence": 3, "gates": 200, "quiet_gates": 200, "groups": 40}
    return _summary("txt", document, most)


def _summary(kind: str, document: Document, most: Mapping[str, int]) -> str:
    signs = ("## ", "### ", "**") if kind == "md" else ("", "", "")
    mark = dict(zip(("title", "heading", "strong"), map(Markup, signs), strict=True))
    table = _table(kind, document.groups[: most["groups"]])
    template = environment(kind).get_template("summary.jinja")
    return _MANY_BREAKS.sub("\n\n", template.render(document=document, most=most, mark=mark, table=table))


def _table(kind: str, groups: Sequence[GroupFigures]) -> Markup:
    """A line for each group, its columns under one another."""
    escape = ESCAPES[kind]
    kinds = error_kinds(groups[0])
    lines = [["", "rows", "not OK", "95% interval", *kinds, "error", "since baseline"]]
    for group in groups:
        change = group.change.rates["not_ok_rate"] if group.change is not None else None
        not_ok, shares = group.rates["not_ok_rate"], [*error_kinds(group).values(), group.rates["error_rate"]]
        since = format_figure("not_ok_rate", change.difference, signed=True) if change is not None else "-"
        lines.append([
            escape(describe(group.group)), text.count(group.rows), text.percent(not_ok.value),
            text.span(not_ok.low, not_ok.high), *(text.percent(share.value) for share in shares),
            since + (" (significant)" if change is not None and change.significant else ""),
        ])  # fmt: skip
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    padded = [[set_cell_size(cell, width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    if kind == "txt":
        return Markup("\n".join("  ".join(line).rstrip() for line in padded))
    padded.insert(1, ["-" * max(width, 3) for width in widths])
    return Markup("\n".join(f"| {' | '.join(line)} |" for line in padded))


def error_kinds(group: GroupFigures) -> dict[str, Rate]:
    """The rates of the kinds of errors by their names in reports. Omissions are divided into facts left out and facts
    said wrongly where that is known. A row may have several kinds."""
    rates = group.rates
    if group.left_out is None:
        return {"omission": rates["omission_rate"], "hallucination": rates["hallucination_rate"]}
    wrong, added = rates["contradicted_rate"], rates["hallucination_rate"]
    return {"left out": group.left_out, "said wrongly": wrong, "added": added}


def shown_rates(group: GroupFigures) -> list[str]:
    """The rates of a table of groups, without the rate of contradicted facts where it is not known."""
    return [name for name in RATES if name != "contradicted_rate" or group.left_out is not None]


class Audit:
    """A document that shows itself as the report where a notebook asks for HTML.

    It is in a sandboxed frame without an origin: the script of the report runs, and neither page reaches the other.
    """

    def __init__(self, document: Document) -> None:
        self.document = document

    def _repr_html_(self) -> str:
        frame = '<iframe srcdoc="{{ page|plain }}" sandbox="allow-scripts" title="Audit report" width="100%" '
        frame += 'height="800" loading="lazy" frameborder="0"></iframe>'
        return environment("html").from_string(frame).render(page=render(self.document))

    def __repr__(self) -> str:
        return f"Audit({verdict(self.document)[1]!r}, out={self.document.out!r})"


class _NoBreaks(Extension):
    """Line breaks of a template are layout of the template, not of the page."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            is_data = token.type == "data"
            yield Token(token.lineno, "data", _BREAK.sub("", token.value)) if is_data else token


@cache
def environment(kind: str) -> Environment:
    """The environment of a format: ``html``, ``md`` or ``txt``."""
    page, escape = kind == "html", ESCAPES[kind]

    def finalize(value: Any) -> object:
        return escape(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    templates = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=page,
        undefined=StrictUndefined,
        finalize=finalize,
        extensions=[_NoBreaks] if page else [],
        trim_blocks=not page,
        lstrip_blocks=not page,
        auto_reload=False,
    )
    functions = (
        describe,
        format_figure,
        verdict,
        sections,
        tables_of_groups,
        histories,
        sample,
        worse_rows,
        triple,
        content_security_policy,
        read_asset,
        error_kinds,
        shown_rates,
    )
    templates.filters |= {
        function.__name__: function for function in (*text.FILTERS, across, nice_top, truncate_date)
    } | {"raw": Markup}
    templates.globals |= {function.__name__: function for function in functions}
    templates.globals |= {"RATES": RATES, "MEASURES": MEASURES, "STATUSES": STATUSES, "TAGS": TAGS,
                     "PLACES": PLACES, "GLYPHS": GLYPHS, "WHY": WHY, "FOLD": FOLD,
                     "UNRECOGNISED": UNRECOGNISED}  # fmt: skip
    return templates


@cache
def read_asset(name: str) -> Markup:
    """A file of this package: its style sheet or its script."""
    return Markup(resources.files(__package__).joinpath(name).read_text("utf-8"))


def content_security_policy() -> str:
    """Nothing may be loaded or run but these two, recognised by their digests; the icon is an empty ``data:`` one."""
    digests = [
        f"{kind} 'sha256-{base64.b64encode(hashlib.sha256(read_asset(name).encode()).digest()).decode()}'"
        for kind, name in (("style-src", "report.css"), ("script-src", "report.js"))
    ]
    return f"default-src 'none'; {'; '.join(digests)}; img-src data:; base-uri 'none'; form-action 'none'"


def verdict(document: Document) -> tuple[str, str]:
    """(class, words) of the verdict, the same in every format. Without gates it names the better group or the group
    that got worse; if every gate was silent, nothing was checked, which is not a pass."""
    if document.checked.nothing_checked and document.status == "fail":
        return "fail", "Nothing checked"
    if not document.checked.gates:
        return "none", document.answer or "No gates set"
    is_unchecked = document.checked.nothing_checked
    return ("warn", "Nothing checked") if is_unchecked else (document.status, TITLES[document.status])


def sections(document: Document) -> dict[str, str]:
    """Id and heading of the sections with content. The section of gates is always shown."""
    worse = document.worse
    all_sections = {
        "worse": ("What got worse", worse and (worse.rows or worse.flipped + worse.added_failing)),
        "gates": ("Gates", True),
        "rates": ("Rates", True),
        "comparison": ("Two groups compared", document.comparison),
        "trend": ("Trend", len([run for run in document.history if not run.group]) > 1),
        "predicates": ("Predicates", document.groups[0].predicates),
        "worst": ("Worst rows", sample(document, Limits())),
    }
    return {name: heading for name, (heading, content) in all_sections.items() if content}


def tables_of_groups(document: Document) -> list[tuple[tuple[str, ...], list[GroupFigures]]]:
    """The groups of each grouping, by its columns; without a grouping, one entry without groups."""
    by_columns: dict[tuple[str, ...], list[GroupFigures]] = {}
    for group in document.groups[1:]:
        by_columns.setdefault(tuple(group.grouping), []).append(group)
    return list(by_columns.items()) or [((), [])]


def across(share: float) -> str:
    """A position in per cent of the width, kept inside the picture."""
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"


def nice_top(shares: Sequence[float | None]) -> float:
    """The smallest of 0.01, 0.02, 0.05, 0.1, 0.2, 0.5 and 1 that no share exceeds."""
    highest = max((share for share in shares if share is not None), default=0.0)
    return next((top for top in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if highest <= top), 1.0)


def histories(document: Document, limit: int) -> list[tuple[dict[str, str | None], list[float | None]]]:
    """The last not_OK rates of all rows and of each group over the runs, of groups with two runs at least."""
    rates_of: dict[tuple[tuple[str, str | None], ...], list[float | None]] = {(): []}
    for row in document.history:
        rates_of.setdefault(tuple(sorted(row.group.items())), []).append(row.rates["not_ok_rate"])
    return [(dict(group), rates[-limit:]) for group, rates in rates_of.items() if len(rates) > 1]


def worse_rows(document: Document, limits: Limits) -> list[WorseRow]:
    """The rows that got worse, without the rows of the first screen."""
    shown = {(row.now.file, row.now.row) for finding in document.findings for row in finding.rows}
    rows = document.worse.rows if document.worse is not None else []
    return [row for row in rows if (row.now.file, row.now.row) not in shown][: limits.cases]


def sample(document: Document, limits: Limits) -> dict[str, list[WorstRow]]:
    """The worst rows by kind, without rows that are shown above, within the limits of kinds and of rows."""
    rows_shown_above = [row for finding in document.findings for row in finding.rows] + worse_rows(document, limits)
    shown = {(row.now.file, row.now.row) for row in rows_shown_above}
    by_kind: dict[str, list[WorstRow]] = {}
    for row in document.worst:
        if (row.file, row.row) not in shown:
            by_kind.setdefault(row.kind, []).append(row)
    return {kind: rows[: limits.cases] for kind, rows in list(by_kind.items())[: limits.kinds]}


def truncate_date(night: str) -> str:
    """The date of a time in ISO 8601."""
    return night[:10]


def triple(fact: FactShown) -> str:
    """A fact in the notation of a triple; a fact that is a sentence as it is."""
    return f"{fact.subject} | {fact.predicate} | {fact.object}" if fact.subject else fact.predicate
