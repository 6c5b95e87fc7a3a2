"""The summary of a run on the console, from the object that ``--json`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import count_of
from ..metric.options import FINE
from ..system.terminal import all_visible, visible
from .console import kinds, share, table

if TYPE_CHECKING:
    from rich.console import Console

    from ..scoring.summary import ReusedOutput, RunSummary
    from ..storage.receipts import FactCounts


def print_summary(console: Console, summary: RunSummary, out: str) -> None:
    """Print the labels, the errors and notes, the time, failed shards, and the output folder ``out``."""
    summary, out = all_visible(summary), visible(out)
    rows, labels, shards = summary.rows, summary.labels, summary.shards
    labelled = rows.scored + rows.reused
    made = table("FINE", "ROUGH", "rows", "share", left=2)
    for name in FINE:
        found = labels[name]
        made.add_row(
            name, "OK" if name == "OK" else "not_OK", f"{found:,}", share(found / labelled if labelled else None)
        )
    console.print(made)
    reused = f", {rows.reused:,} reused" if rows.reused else ""
    console.print(f"rows: {rows.all:,} in, {rows.scored:,} scored{reused}")
    for source in summary.reuse:
        console.print(_reused(source))
    for what, counts in (("errors", rows.errors), ("notes", rows.notes)):
        if counts:
            console.print(f"{what}: {kinds(dict(sorted(counts.items())))}")
    for line in _backoff(summary.facts):
        console.print(line)
    if summary.exact:
        again = summary.checks.recomputed
        console.print(f"exact: pairs too close to decide, computed again in fp32: {again:,}")
    rate = f", {summary.speed.rows_per_s:,.0f} rows/s" if summary.computed_now else ""
    console.print(f"time: {summary.seconds.get('total', 0.0):.1f} s{rate} on {summary.device.kind}")
    console.print(f"shards: {shards.done} done ({shards.skipped} in earlier runs), {shards.failed} failed")
    if shards.failed:
        console.print(f"failed shards and their errors: {out}/_failed/")
    console.print(f"output: {out}")


def _reused(source: ReusedOutput) -> str:
    """Contribution of an earlier output, and reasons why some of its shards are not used."""
    keys = f" with {count_of(source.keys, 'key')}" if source.keys is not None else ""
    differs = f"; its signature differs ({', '.join(source.differs)})" if source.differs else ""
    refused = f"; shards not used: {kinds(source.shards_refused)}" if source.shards_refused else ""
    return f"reuse {source.out}: {count_of(source.shards_used, 'shard')}{keys}{differs}{refused}"


def _backoff(facts: FactCounts) -> list[str]:
    """The share of facts without a template, and the predicates with most of them."""
    if not facts.all:
        return []
    lines = [f"facts: {facts.all:,}, {share(facts.backoff / facts.all)} of them by backoff (no template)"]
    missing = {name: found.backoff for name, found in facts.by_predicate.items() if found.backoff}
    if missing:
        most = dict(sorted(missing.items(), key=lambda item: (-item[1], item[0]))[:5])
        more = f", and {count_of(len(missing) - 5, 'more predicate')}" if len(missing) > 5 else ""
        lines.append(f"  most often: {kinds(most)}{more}")
    return lines
