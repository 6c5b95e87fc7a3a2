"""The audit as one HTML file: self-contained, small, readable everywhere; data is shown and never interpreted.

::

    page.py          the order of the sections   first_screen.py        did it pass, what changed
    gates.py figures.py comparison.py trend.py predicates.py cases.py   what each section shows
    labels.py        what sections share     tables.py, views.py    what sections are made of
    numbers.py       figures as text            charts.py              drawings
    limits.py        caps and clipping          notebook.py            the same in a frame
    templates/       all markup but drawings     environment.py         what holds in every template
    unseen.py        invisible characters   report.css, report.js  style and script; the page works without

Python computes what is shown, as typed views; the templates mark it up.
"""

from __future__ import annotations

from ...errors import UsageError
from ...system.arguments import checked
from ..document import Document
from .limits import MAX_BYTES, steps
from .notebook import Audit
from .page import page

__all__ = ["MAX_BYTES", "Audit", "render"]


@checked
def render(document: Document, *, embedded: bool = False) -> str:
    """The report of an audit as HTML, smaller than :data:`MAX_BYTES` in UTF-8 however large the document is.

    Args:
        document: as :func:`json.loads` gives it, or as the audit made it; it is not changed.
        embedded: for a frame in another page, where links stay inside the frame.

    Raises:
        UsageError: it lacks a key that every audit has.
    """
    missing = sorted(Document.__required_keys__ - document.keys())
    if missing:
        raise UsageError(f"the document has no {missing[0]!r}; give what scorer.audit.audit or `audit --json` made")
    for limits in steps():
        found = page(document, limits, embedded)
        if len(found.encode()) < MAX_BYTES:
            break
    return found
