"""Receipts for tests of what only needs that there are some."""

from __future__ import annotations

from scorer.scoring.signature import Signature
from scorer.storage import Counts, Fingerprint, InputRecord, Maker, Receipt, RunOutput, WrittenFile
from scorer.storage.counts import RowCounts

NOTHING = WrittenFile("", 0, 0)


def fingerprint(signature: str = "s") -> Fingerprint:
    """What an output under a signature depends on."""
    return Fingerprint(signature=signature, signature_parts=Signature(signature).parts)


def receipt(
    relative: str,
    wanted: Fingerprint | None = None,
    output: WrittenFile = NOTHING,
    source: InputRecord | None = None,
) -> Receipt:
    """A receipt of an output, whose counts agree with it."""
    return Receipt(
        relative=relative,
        input=source or InputRecord("u", None),
        fingerprint=wanted or fingerprint(),
        output=output,
        counts=Counts(RowCounts(all=output.rows)),
        plan="p",
        created="2026-01-01T00:00:00+00:00",
        maker=Maker(run="r", worker="cpu", origin={}, seconds={}, computed=0),
    )


def finish_output(held: RunOutput) -> None:
    """Mark an output as finished, with the receipts that it has."""
    found = [held.receipts.read(relative) for relative in held.receipts.all()]
    held.write_success([one for one in found if one is not None])
