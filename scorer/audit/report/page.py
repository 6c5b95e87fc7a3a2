"""The page: one file, nothing fetched, nothing run but the script that it came with."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from markupsafe import Markup

from ..document import Document
from . import figures
from .cases import worst_rows
from .comparison import changes
from .environment import rendered
from .first_screen import header, title
from .gates import gates
from .limits import Limits, clip, clip_plain
from .predicates import predicates
from .trend import trend
from .true_rates import true_rates
from .worse import worse_rows


@dataclass(frozen=True)
class Section:
    """A section of the page. ``view``: what its template shows; the gates have ``None`` if there are none."""

    id: str
    heading: str
    view: object

    @property
    def template(self) -> str:
        """The file that marks it up."""
        return f"{self.id}.html.jinja"


def page(document: Document, limits: Limits, embedded: bool = False) -> str:
    """The document as HTML under these limits. ``embedded``: for a frame in another page."""
    sections = _sections(document, limits)
    style, script = _own("report.css"), _own("report.js")
    return rendered(
        "page.html.jinja",
        embedded=embedded,
        policy=_policy(style, script),
        title=f"{_verdict(document)}: audit of {clip_plain(document['out'], limits.name)}",
        style=style,
        script=script,
        header=header(document, limits, frozenset(section.id for section in sections)),
        sections=sections,
        notes=[clip(note, limits.text) for note in document["notes"][: limits.entries]],
        audited=document["audited"][:40],
        schema=document["schema"],
    )


def _verdict(document: Document) -> str:
    words = title(document)[1]
    return words if document["partial"] is None else f"Partial. {words}"


def _sections(document: Document, limits: Limits) -> list[Section]:
    """The sections that have something to show. The gates are always there, if only to say that there are none."""
    possible = [
        Section("verdicts", "Verdicts", figures.verdicts(document, limits)),
        Section("true_rates", "True rates", true_rates(document, limits)),
        Section("changes", "Changes", changes(document, limits)),
        Section("trend", "Trend", trend(document, limits)),
        Section("confidence", "Confidence", figures.confidences(document)),
        Section("predicates", "Predicates", predicates(document, limits)),
        Section("sizes", "Facts and length", figures.by_size(document, limits)),
        Section("errors", "Errors and notes", figures.errors(document, limits)),
        Section("worst", "Worst rows", worst_rows(document, limits)),
    ]
    worse = worse_rows(document, limits)
    return [
        *([Section("worse", "What got worse", worse)] if worse is not None else []),
        Section("gates", "Gates", gates(document, limits)),
        *(section for section in possible if section.view is not None),
    ]


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
