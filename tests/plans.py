"""Totals for tests of what only needs that there are some."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from scorer.scoring.summary import Device, RunSummary, ShardCounts, Speed
from scorer.storage.receipts import CheckCounts, FactCounts, RowCounts, Signature, TokenCounts


def made_summary(signature: str = "s", **changes: Any) -> RunSummary:
    """Totals whose fields are those given, and otherwise say nothing."""
    signed = Signature.of_line(signature)
    summary = RunSummary(
        signature_line=signed.line,
        signature_parts=signed.parts,
        rows=RowCounts(),
        labels={},
        facts=FactCounts(),
        checks=CheckCounts(),
        tokens=TokenCounts(),
        shards=ShardCounts(0, 0, 0),
        seconds={},
        computed_now=0,
        speed=Speed(seconds=0.0, rows_per_s=0.0),
        exact=None,
        device=Device("cpu", "made up"),
        bound=None,
        invariance_error=None,
        origins=(),
        reuse=(),
        versions={"d2t-scorer": "0"},
        finished="",
    )
    return replace(summary, **changes)
