"""Tonight's output against yesterday's: figures, drift, gates, history; one document, shown in several ways.

::

    from scorer.audit import AuditOptions, audit
    document = audit(Path("scored"), AuditOptions(baseline=Path("scored-yesterday")))

``document`` is plain data (see :mod:`.document`). In a notebook, ``scorer.audit.report.Audit(document)`` shows it.

    output.py    a finished folder, window by window     night.py      one pass: some bytes a row, facts counted
    grouping.py  groups of rows                          values.py     values of any Arrow type as texts
    partial.py   how much of its inputs an output holds  snapshot.py   a folder that changes while it is read
    facts.py     predicates of a window
    figures.py   the figures of each group               matching.py   rows in both nights
    changes.py   a group against its yesterday           intervals.py, significance.py   the statistics
    book.py      templates and how they fared            suspects.py   templates that look wrong
    rules.py     gates as a file has them                gates.py      and what they find
    power.py     what gates can find                     callouts.py   what to look at first
    rows.py      single rows, for people                 auditing.py   all of it together
    history.py, junit.py, rendering.py, report/          ways of showing it
"""

from __future__ import annotations

from .audit import AuditOptions, audit
from .document import Document

__all__ = ["AuditOptions", "Document", "audit"]
