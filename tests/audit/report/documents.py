"""The audit document of the fixture, with figures that hang together, for the tests of the report."""

from __future__ import annotations

from pathlib import Path

from scorer.audit.document import Checked, Document
from scorer.system.codec import decode

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "document.json"


def document(baseline: bool = True, gated: bool = True, runs: int = 7) -> Document:
    """A run that went wrong in one system and has one broken template. ``runs``: of the history, at most 7."""
    found = decode(FIXTURE.read_bytes(), Document, str(FIXTURE))
    if not baseline:
        found.baseline = found.baseline_changes = found.worse = None
        for group in found.groups:
            group.change = None
    if not gated:
        found.gates, found.status = [], "pass"
        found.checked = Checked(gates=0, silent=0, nothing_checked=True, required=False)
    nights = sorted({run.night for run in found.history})
    found.history = [run for run in found.history if run.night in nights[len(nights) - runs :]]
    return found
