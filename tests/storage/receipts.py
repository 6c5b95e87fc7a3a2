"""Receipts for tests of what only needs that there are some."""

from __future__ import annotations

from collections.abc import Mapping

from scorer.storage import Counts, Fingerprint, InputRecord, Receipt, WrittenFile
from scorer.storage.counts import RowCounts

NOTHING = WrittenFile("", 0, 0)


def receipt(relative: str, fingerprint: Mapping[str, object], output: WrittenFile = NOTHING, uri: str = "u") -> Receipt:
    """A receipt of an output, whose counts agree with it."""
    counts = Counts(RowCounts(all=output.rows))
    return Receipt(relative, InputRecord(uri, None), Fingerprint.of(fingerprint), output, counts)
