"""The audit as one HTML file: self-contained, small, readable everywhere; data is shown and never interpreted.

::

    templates/       the page: page.html.jinja and a file for each section
    content.py       order, choice and words      numbers.py    figures as text
    charts.py        drawings                     limits.py     caps and clipping
    environment.py   what holds in every template unseen.py     invisible characters
    notebook.py      the same in a frame          report.css, report.js  style and script; the page works without
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from markupsafe import Markup

from ..document import Document
from .environment import rendered
from .limits import MAX_BYTES, steps
from .notebook import Audit

__all__ = ["MAX_BYTES", "Audit", "render"]


def render(document: Document, *, embedded: bool = False) -> str:
    """The report of an audit as HTML, smaller than :data:`MAX_BYTES` in UTF-8 however large the document is.

    Args:
        embedded: for a frame in another page, where links stay inside the frame.
    """
    style, script = _own("report.css"), _own("report.js")
    for limits in steps():
        found = rendered(
            "page.html.jinja",
            document=document,
            limits=limits,
            embedded=embedded,
            policy=_policy(style, script),
            style=style,
            script=script,
        )
        if len(found.encode()) < MAX_BYTES:
            break
    return found


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
