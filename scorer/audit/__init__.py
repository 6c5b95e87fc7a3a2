"""Compare an output with an earlier one: figures, drift, gates, history; one document, shown in several ways.

::

    from scorer.audit import AuditOptions, audit
    document = audit(Path("scored"), AuditOptions(baseline=Path("scored-yesterday")))

``document`` is a tree of structs (:mod:`.document`), which ``--json`` prints. In a notebook,
``scorer.audit.report.Audit(document)`` shows it.

    build.py        builds the document               scan.py        one pass: a few numbers of each row
    database.py     these numbers, in DuckDB          queries.py     what is asked of them
    grouping.py     groups of rows                    facts.py       predicates and inputs of a window
    figures.py      the figures of each group         changes.py     a group against the baseline
    matching.py     rows of two runs                  significance.py tests of change
    power.py        what gates can find               reach.py       which gates can fire
    suggest.py      gates files for an output         templates.py   figures of each, and which look wrong
    rules.py        gates as a file has them          gates.py       the result of each gate
    callouts.py     what to look at first             rows.py        single rows, for people
    document.py     the types of the document         history.py, report/   files made from it
"""

from __future__ import annotations

from .build import AuditOptions, audit
from .document import Document

__all__ = ["AuditOptions", "Document", "audit"]
