"""Add up an output folder: what is done, what was set aside, and what other parts have not finished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..storage import Fingerprint, Receipt, Receipts
from ..storage.believed import Believed
from .survey import Shard, Survey


@dataclass
class Totals:
    """The planned shards. ``receipts``: of those done; ``failed``, ``missing``: relative paths of the others."""

    receipts: list[Receipt] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def add_up(
    found: Survey, receipts: Receipts, fingerprint: Callable[[Shard], Fingerprint], believed: Believed
) -> Totals:
    """Look at every planned shard.

    Args:
        fingerprint: what the receipt of a shard must say.
        believed: outputs that this process wrote or hashed. Others, and those that were touched since, are hashed
            here, but only if all receipts exist: as long as one is missing, nothing is finished.
    """
    notes = receipts.failed()
    totals = Totals()
    unseen: list[Shard] = []
    for shard in found.usable:
        relative = shard.file.relative
        if (known := believed.receipt(relative)) is not None:
            totals.receipts.append(known)
            continue
        identity, receipt = shard.info.identity, receipts.read(relative)
        if receipt and receipt.fingerprint == fingerprint(shard) and receipt.input.identity == identity:
            totals.receipts.append(receipt)
            unseen.append(shard)
        elif relative in notes and notes[relative].identity == identity:
            totals.failed.append(relative)
        else:
            totals.missing.append(relative)
    for relative in found.failed:
        (totals.failed if relative in notes else totals.missing).append(relative)
    if not totals.missing:
        for shard in unseen:
            if not receipts.agrees(shard.file.relative, shard.info.identity, fingerprint(shard)):
                totals.missing.append(shard.file.relative)
        missing = set(totals.missing)
        totals.receipts = [r for r in totals.receipts if r.relative not in missing]
    return totals
