"""The audit as text: Markdown for a step's summary, JUnit XML for build servers, metrics for Prometheus, the console.

A template for each; every expression of one is escaped as its format needs, by the finaliser of its environment.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from functools import cache
from hashlib import blake2b
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from rich.markup import escape as for_rich

from ..document import RATES, Document, GroupFigures
from ..escapes import for_markdown, for_prometheus, for_xml
from ..gates import describe, shown, why_nothing

MOST_LINES = 60
"""The summary has fewer lines."""
MOST_GROUPS = 50
"""Groups of each grouping that have metrics: values of the data must not multiply the time series."""
MOST_LABEL = 120
_MOST_TEXT = 300
_MOVED = re.compile(r"\n{3,}")


def markdown(document: Document) -> str:
    """The verdict, failed gates, rows that got worse, findings and groups; fewer than :data:`MOST_LINES` lines."""
    text = _rendered("summary.md.jinja", document)
    return "\n".join(_MOVED.sub("\n\n", text).splitlines()[: MOST_LINES - 1]) + "\n"


def junit(document: Document) -> str:
    """The gates as a test suite. A warning passes, and its message is in ``system-out``; a silent gate is skipped.

    When nothing was checked, a test case says so: skipped, or a failure where gates are required.
    """
    return _rendered("junit.xml.jinja", document)


def metrics(document: Document) -> str:
    """All metrics of an audit, each with its help and type, in the text format of Prometheus. See docs/audit.md."""
    return _rendered("metrics.prom.jinja", document)


def console_markup(document: Document) -> str:
    """What a terminal shows, in the markup of rich: the verdict, gates, rows that got worse and findings."""
    return _rendered("console.txt.jinja", document)


def _rendered(template: str, document: Document) -> str:
    return _environment(template).get_template(template).render(document=document)


def _for_markdown(value: object) -> object:
    return for_markdown(value, _MOST_TEXT) if isinstance(value, str) else value


def _for_prometheus(value: object) -> object:
    """A label's value; a long one with a digest, so that names which differ after the cut stay two."""
    if not isinstance(value, str):
        return repr(value)
    text = value.encode("utf-8", "replace").decode()
    if len(text) > MOST_LABEL:
        text = f"{text[: MOST_LABEL - 9]}…{blake2b(text.encode(), digest_size=4).hexdigest()}"
    return for_prometheus(text)


def _for_xml(value: object) -> object:
    """A line feed is a reference, since a reader of an attribute would make it a blank."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return Markup(str(escape(for_xml(value))).replace("\r", "&#13;").replace("\n", "&#10;"))


def _for_console(value: object) -> object:

    return for_rich(value) if isinstance(value, str) else value


def _line(text: str) -> str:
    """A text on one line, cut."""
    text = " ".join(text.split())
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 3] + "..."


_FINALISERS: dict[str, Callable[[Any], object]] = {
    "md": _for_markdown,
    "prom": _for_prometheus,
    "xml": _for_xml,
    "txt": _for_console,
}


@cache
def _environment(template: str) -> Environment:
    """The environment of a format, which is the second part of a template's name."""
    made = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=template.endswith(".xml.jinja"),
        undefined=StrictUndefined,
        finalize=_FINALISERS[template.split(".")[1]],
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {"RATES": RATES, "describe": describe, "shown": shown, "why_nothing": why_nothing}
    made.globals |= {"largest": _largest, "seconds": _seconds}
    made.filters |= {"count": lambda value: f"{value:,}", "line": _line}
    return made


def _largest(document: Document) -> list[GroupFigures]:
    """The groups with most rows of each grouping; of those whose names are equal once cut, the first."""
    found: dict[tuple[str, ...], list[GroupFigures]] = {}
    for group in document.groups:
        found.setdefault(tuple(group.grouping), []).append(group)
    chosen = [
        group
        for groups in found.values()
        for group in sorted(groups, key=lambda group: (-group.rows, describe(group.group)))[:MOST_GROUPS]
    ]
    return list({_for_prometheus(describe(group.group)): group for group in reversed(chosen)}.values())[::-1]


def _seconds(stamp: str) -> float | None:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return None
