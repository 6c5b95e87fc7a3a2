"""The audit as one HTML file: self-contained, small, readable everywhere; data is shown and never interpreted.

::

    page.py          the order of the sections   first_screen.py        did it pass, what changed
    gates.py figures.py comparison.py trend.py predicates.py cases.py   what each section shows
    labels.py        what sections share     tables.py, views.py    what sections are made of
    numbers.py       figures as text            charts.py              drawings
    limits.py        caps and clipping          notebook.py            the same in a frame
    templates/       all markup but drawings     environment.py         what holds in every template
    earlier.py       documents of earlier versions
    unseen.py        invisible characters   report.css, report.js  style and script; the page works without

Python computes what is shown, as typed views; the templates mark it up.
"""

from __future__ import annotations

from ..document import Document
from .earlier import completed, lacking
from .limits import MAX_BYTES, steps
from .notebook import Audit
from .page import page

__all__ = ["MAX_BYTES", "Audit", "render"]


def render(document: Document, *, embedded: bool = False) -> str:
    """The report of an audit as HTML, smaller than :data:`MAX_BYTES` in UTF-8 however large the document is.

    Args:
        document: as :func:`json.loads` gives it, or as the audit made it, also with an earlier version; it is not
            changed.
        embedded: for a frame in another page, where links stay inside the frame.

    Raises:
        UsageError: it has another schema, or lacks what every audit has; see :func:`.earlier.completed`.
    """
    document = completed(document)
    for limits in steps():
        try:
            found = page(document, limits, embedded)
        except KeyError as error:
            raise lacking(document, str(error.args[0])) from error
        if len(found.encode()) < MAX_BYTES:
            break
    return found
