"""The page: one file, nothing fetched, nothing run but the script that it came with."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from ..document import Document
from . import figures
from .cases import worst_rows
from .comparison import changes
from .first_screen import header, title
from .gates import gates
from .limits import Limits, clip, clip_plain
from .markup import Html, element, join, trusted
from .predicates import predicates
from .trend import trend


def page(document: Document, limits: Limits, embedded: bool = False) -> Html:
    """The document as HTML under these limits. ``embedded``: for a frame in somebody else's page."""
    sections = _sections(document, limits)
    style, script = _own("report.css"), _own("report.js")
    return join(
        trusted("<!DOCTYPE html>\n"),
        element(
            "html",
            element(
                "head",
                element("meta", charset="utf-8"),
                element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
                element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                element("meta", name="color-scheme", content="light dark"),
                element("meta", name="referrer", content="no-referrer"),
                element("link", rel="icon", href="data:,"),
                element("title", f"{_verdict(document)}: audit of {clip_plain(document['out'], limits.name)}"),
                element("style", style),
            ),
            element(
                "body",
                element("a", "Skip to the figures", href="#figures", class_="skip"),
                header(document, limits, frozenset(name for name, _, _ in sections)),
                element(
                    "div",
                    element(
                        "div",
                        element(
                            "nav",
                            element(
                                "ul",
                                join(
                                    element("li", element("a", words, href=f"#{name}")) for name, words, _ in sections
                                ),
                            ),
                            class_="contents",
                            aria_label="Contents",
                        ),
                        element(
                            "main",
                            join(
                                element(
                                    "section",
                                    element("h2", words, id=f"{name}-title"),
                                    content,
                                    id=name,
                                    tabindex=-1,
                                    aria_labelledby=f"{name}-title",
                                )
                                for name, words, content in sections
                            ),
                            id="figures",
                            tabindex=-1,
                        ),
                        class_="body",
                    ),
                    element("footer", _footer(document, limits)),
                    class_="page",
                ),
                element("script", script),
            ),
            lang="en",
            data_embedded="yes" if embedded else None,
        ),
        trusted("\n"),
    )


def _verdict(document: Document) -> str:
    words = title(document)[1]
    return words if document["partial"] is None else f"Partial. {words}"


def _sections(document: Document, limits: Limits) -> list[tuple[str, str, Html]]:
    """(id, heading, content) of the sections that have something to show."""
    possible = [
        ("gates", "Gates", gates(document, limits)),
        ("verdicts", "Verdicts", figures.verdicts(document, limits)),
        ("changes", "Changes", changes(document, limits)),
        ("trend", "Trend", trend(document, limits)),
        ("confidence", "Confidence", figures.confidences(document, limits)),
        ("predicates", "Predicates", predicates(document, limits)),
        ("sizes", "Facts and length", figures.by_size(document, limits)),
        ("errors", "Errors and notes", figures.errors(document, limits)),
        ("worst", "Worst rows", worst_rows(document, limits)),
    ]
    return [(name, words, content) for name, words, content in possible if content]


def _footer(document: Document, limits: Limits) -> Html:
    notes = document["notes"][: limits.entries]
    return join(
        element("ul", join(element("li", clip(note, limits.text)) for note in notes)) if notes else None,
        element(
            "p", f"Audited {document['audited'][:40]}. Written by scorer audit, document schema {document['schema']}."
        ),
    )


def _own(name: str) -> Html:
    """A file of this package: its style sheet or its script."""
    return trusted(resources.files(__package__).joinpath(name).read_text("utf-8"))


def _policy(style: str, script: str) -> str:
    """Nothing may be loaded or run but these two, recognised by their digests; the icon is an empty ``data:`` one."""
    digests = {
        kind: f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
        for kind, content in (("style-src", style), ("script-src", script))
    }
    allowed = "; ".join(f"{kind} {digest}" for kind, digest in digests.items())
    return f"default-src 'none'; {allowed}; img-src data:; base-uri 'none'; form-action 'none'"
