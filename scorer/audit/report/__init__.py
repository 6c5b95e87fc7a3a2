"""The document of an audit as people and programs read it, a template for each format: the page (HTML), the summary
(Markdown), JUnit XML for build servers, metrics for Prometheus, the console.

The page is one file: self-contained, small, readable everywhere; data is shown and never interpreted.

::

    templates/       page.html.jinja with a file for each section, and one template for each other format
    content.py       order, choice and words      numbers.py    figures as text
    charts.py        scales of drawings           limits.py     caps and clipping
    environment.py   what holds in every template escapes.py    texts of the data in each format
    report.css, report.js  style and script of the page, which works without the script
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources

from markupsafe import Markup

from ..document import Document
from .content import verdict
from .environment import rendered
from .limits import MAX_BYTES, steps

__all__ = ["MAX_BYTES", "Audit", "console_markup", "junit", "markdown", "metrics", "render"]

MOST_LINES = 60
"""The summary has fewer lines."""
_MOVED = re.compile(r"\n{3,}")


def render(document: Document) -> str:
    """The report of an audit as HTML, smaller than :data:`MAX_BYTES` in UTF-8 however large the document is."""
    style, script = _own("report.css"), _own("report.js")
    for limits in steps():
        found = rendered(
            "page.html.jinja",
            document=document,
            limits=limits,
            policy=_policy(style, script),
            style=style,
            script=script,
        )
        if len(found.encode()) < MAX_BYTES:
            break
    return found


def markdown(document: Document) -> str:
    """The verdict, failed gates, rows that got worse, findings and groups; fewer than :data:`MOST_LINES` lines."""
    text = rendered("summary.md.jinja", document=document)
    return "\n".join(_MOVED.sub("\n\n", text).splitlines()[: MOST_LINES - 1]) + "\n"


def junit(document: Document) -> str:
    """The gates as a test suite. A warning passes, and its message is in ``system-out``; a silent gate is skipped.

    When nothing was checked, a test case says so: skipped, or a failure where gates are required.
    """
    return rendered("junit.xml.jinja", document=document)


def metrics(document: Document) -> str:
    """All metrics of an audit, each with its help and type, in the text format of Prometheus. See docs/audit.md."""
    return rendered("metrics.prom.jinja", document=document)


def console_markup(document: Document) -> str:
    """What a terminal shows, in the markup of rich: the verdict, gates, rows that got worse and findings."""
    return rendered("console.txt.jinja", document=document)


class Audit:
    """A document that shows itself as the report where a notebook asks for HTML.

    It is in a sandboxed frame without an origin: the script of the report runs, and neither page reaches the other.
    """

    def __init__(self, document: Document) -> None:
        self.document = document

    def html(self) -> str:
        """The report as a page of its own."""
        return render(self.document)

    def _repr_html_(self) -> str:
        return rendered("frame.html.jinja", page=self.html())

    def __repr__(self) -> str:
        return f"Audit({verdict(self.document)[1]!r}, out={self.document.out!r})"


@cache
def _own(name: str) -> Markup:
    """A file of this package: its style sheet or its script."""
    return Markup(resources.files(__package__).joinpath(name).read_text("utf-8"))


def _policy(style: str, script: str) -> str:
    """Nothing may be loaded or run but these two, recognised by their digests; the icon is an empty ``data:`` one."""
    digests = {
        kind: f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
        for kind, content in (("style-src", style), ("script-src", script))
    }
    allowed = "; ".join(f"{kind} {digest}" for kind, digest in digests.items())
    return f"default-src 'none'; {allowed}; img-src data:; base-uri 'none'; form-action 'none'"
