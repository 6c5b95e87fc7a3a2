"""The summary of a run in a few lines, from the object that ``--json`` prints."""

from __future__ import annotations

from rich.console import Console

from ...metric.options import FINE
from ...scoring.summary import ReusedOutput, RunSummary, Speed
from ...storage.counts import FactCounts
from ...storage.location import Location
from ...system.display import all_visible
from .console import make_console
from .figures import kinds, share, table
from .output import is_quiet


def print_summary(summary: RunSummary, out: Location, *, to_stderr: bool = False) -> None:
    """Print the labels, the errors, notes, backoff and failed shards, and the output folder.

    ``to_stderr``: where ``--json`` takes stdout; not with ``--quiet``.
    """
    if to_stderr and is_quiet():
        return
    console, summary, out = make_console(stderr=to_stderr), all_visible(summary), all_visible(out)
    counts = summary.counts
    rows, labels = counts.rows, counts.labels
    labelled = rows.scored + rows.reused
    made = table("FINE", "ROUGH", "rows", "share", left=2)
    for name in FINE:
        rough = "OK" if name == "OK" else "not_OK"
        made.add_row(name, rough, f"{labels[name]:,}", share(labels[name] / labelled if labelled else None))
    console.print(made)
    not_ok = labelled - labels["OK"]
    reused = f", {rows.reused:,} reused" if rows.reused else ""
    console.print(f"rows: {rows.all:,} in, {rows.scored:,} scored{reused} ({labels['OK']:,} OK, {not_ok:,} not_OK)")
    for source in summary.reuse:
        print_source(console, source)
    for what, found in (("errors", rows.errors), ("notes", rows.notes)):
        if found:
            console.print(f"{what}: {kinds(dict(sorted(found.items())))}")
    print_backoff(console, counts.facts)
    checks, tokens = counts.checks, counts.tokens
    if checks.all:
        duplicate = 1 - checks.unique / checks.all
        padding = 1 - tokens.real / tokens.padded if tokens.padded else 0.0
        console.print(
            f"checks: {checks.all:,}, {share(duplicate)} of them duplicates; {share(padding)} of tokens are padding"
        )
    shards = summary.shards
    if bound := summary.exact:
        console.print(
            f"exact: {checks.recomputed:,} pairs were too close to decide and were computed again in fp32 "
            f"(largest |Δlogit| {bound.largest:.3g} on {bound.pairs:,} pairs)"
        )
    if summary.computed_now and summary.speed is not None:
        print_speed(console, summary.speed, summary.seconds.get("total", 0.0), summary.device.kind)
    console.print(f"shards: {shards.done} done ({shards.skipped} in earlier runs), {shards.failed} failed")
    if shards.failed:
        console.print(f"failed shards and their errors: {out}/_failed/")
    console.print(f"output: {out}")


def print_speed(console: Console, speed: Speed, total: float, device: str) -> None:
    """Print the rates of the scoring."""
    pairs = (
        f", {speed.unique_pairs_per_s:,.0f} distinct pairs/s, {speed.real_tokens_per_s:,.0f} tokens/s"
        if speed.unique_pairs_per_s
        else ""
    )
    console.print(f"speed: {speed.rows_per_s:,.0f} rows/s{pairs} on {device}; {total:.1f} s in total")


def print_source(console: Console, source: ReusedOutput) -> None:
    """Print what an earlier output contributes, and why some of its shards are not used."""
    keys = f" with {source.keys:,} keys" if source.keys is not None else ""
    said = f"reuse {source.out}: {source.shards_used} shards{keys}"
    if source.differs:
        said += f"; its signature differs ({', '.join(source.differs)})"
    if source.shards_refused:
        said += f"; shards not used: {kinds(source.shards_refused)}"
    console.print(said)


def print_backoff(console: Console, facts: FactCounts) -> None:
    """Print the share of facts without a template, and the predicates with most of them."""
    if not facts.all:
        return
    console.print(f"facts: {facts.all:,}, {share(facts.backoff / facts.all)} of them by backoff (no template)")
    missing = {p: n.backoff for p, n in facts.by_predicate.items() if n.backoff}
    if missing:
        most = sorted(missing, key=lambda p: (-missing[p], p))[:5]
        named = ", ".join(f"{predicate} {missing[predicate]:,}" for predicate in most)
        more = f", and {len(missing) - 5} more predicates" if len(missing) > 5 else ""
        console.print(f"  most often: {named}{more}")
