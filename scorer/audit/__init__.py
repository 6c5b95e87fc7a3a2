"""Compare an output with an earlier one: figures, drift, gates, history; one document, shown in several ways.

::

    from scorer.audit import AuditOptions, audit
    document = audit(Path("scored"), AuditOptions(baseline=Path("scored-yesterday")))

``document`` is a tree of structs (:mod:`.document`), which ``--json`` prints. In a notebook,
``scorer.audit.report.Audit(document)`` shows it.

    audit.py        builds the document               document.py   its types
    scan.py         one pass: a few numbers of each row
    database.py     these numbers, in DuckDB          queries.py    what is asked of them
    figures.py      the figures of each group         changes.py    rows and groups against the baseline
    gates.py        gates files, and their results    suggest.py    gates files for an output
    findings.py     what to look at first             examples.py   single rows, for people
    history.py, report/   files made from the document
"""

from __future__ import annotations

from .audit import AuditOptions, audit
from .document import Document

__all__ = ["AuditOptions", "Document", "audit"]
