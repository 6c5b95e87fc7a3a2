"""What a run came to, in a few lines for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from ...metric.verdict import FINE
from ...system.display import all_visible
from .console import make_console


def print_summary(summary: dict[str, Any], out: Path, *, to_stderr: bool = False) -> None:
    """Print the labels, what needs a look (errors, notes, backoff, failed shards), and where the output lies."""
    console, summary, out = make_console(stderr=to_stderr), all_visible(summary), all_visible(out)
    rows, labels, facts = summary["rows"], summary["labels"], summary["facts"]
    labelled = rows["scored"] + rows["reused"]
    table = Table(box=None, pad_edge=False)
    for header in ("FINE", "ROUGH", "rows", "share"):
        table.add_column(header, justify="left" if header.isupper() else "right")
    for name in FINE:
        share = f"{labels[name] / labelled:.1%}" if labelled else "-"
        table.add_row(name, "OK" if name == "OK" else "not_OK", f"{labels[name]:,}", share)
    console.print(table)
    not_ok = labelled - labels["OK"]
    reused = f", {rows['reused']:,} reused" if rows["reused"] else ""
    console.print(
        f"rows: {rows['in']:,} in, {rows['scored']:,} scored{reused} ({labels['OK']:,} OK, {not_ok:,} not_OK)"
    )
    if again := summary.get("recheck", {}).get("rows"):
        console.print(f"reused rows scored again: {again:,}, {summary['recheck']['disagreed']:,} of them disagree")
    for source in summary.get("reuse", []):
        print_source(console, source)
    for what in ("errors", "notes"):
        if rows[what]:
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(rows[what].items()))
            console.print(f"{what}: {kinds}")
    print_backoff(console, facts)
    checks, tokens = summary["checks"], summary["tokens"]
    if checks["all"]:
        duplicate = 1 - checks["unique"] / checks["all"]
        padding = 1 - tokens["real"] / tokens["padded"] if tokens["padded"] else 0.0
        console.print(
            f"checks: {checks['all']:,}, {duplicate:.1%} of them duplicates; {padding:.1%} of tokens are padding"
        )
    shards, seconds = summary["shards"], summary["seconds"]
    total = max(seconds["total"], 1e-9)
    if bound := summary["exact"]:
        console.print(
            f"exact: {checks['recomputed']:,} pairs were too close to call and ran in fp32 (largest |Δlogit| "
            f"{bound['largest']:.3g} on {bound['pairs']:,} pairs)"
        )
    if summary["computed_now"]:
        print_speed(console, summary["speed"], total, summary["device"]["kind"])
    console.print(f"shards: {shards['done']} done ({shards['skipped']} before), {shards['failed']} failed")
    if shards["failed"]:
        console.print(f"what failed and why: {out}/_failed/")
    console.print(f"output: {out}")


def print_speed(console: Console, speed: dict[str, Any], total: float, device: str) -> None:
    """Rates of the scoring itself, and how much of the device the model used where that is known."""
    used = f", {speed['utilisation']:.0%} of its matrix rate" if speed["utilisation"] is not None else ""
    console.print(
        f"speed: {speed['rows_per_s']:,.0f} rows/s, {speed['unique_pairs_per_s']:,.0f} distinct pairs/s, "
        f"{speed['real_tokens_per_s']:,.0f} tokens/s on {device}{used}; {total:.1f} s in all"
    )


def print_source(console: Console, source: dict[str, Any]) -> None:
    """An earlier output: what of it serves, and why not the rest."""
    keys = f" with {source['keys']:,} keys" if source["keys"] is not None else ""
    said = f"reuse {source['out']}: {source['shards_used']} shards{keys}"
    if source["differs"]:
        said += f"; its signature differs ({', '.join(source['differs'])})"
    if source["shards_refused"]:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in source["shards_refused"].items())
        said += f"; shards not used: {reasons}"
    console.print(said)


def print_backoff(console: Console, facts: dict[str, Any]) -> None:
    """The share of facts without a template, and the predicates behind it."""
    count = facts["template"] + facts["backoff"]
    if not count:
        return
    console.print(f"facts: {count:,}, {facts['backoff'] / count:.1%} of them by backoff (no template)")
    missing = {p: n["backoff"] for p, n in facts["by_predicate"].items() if n["backoff"]}
    if missing:
        most = sorted(missing, key=lambda p: (-missing[p], p))[:5]
        named = ", ".join(f"{predicate} {missing[predicate]:,}" for predicate in most)
        more = f", and {len(missing) - 5} more predicates" if len(missing) > 5 else ""
        console.print(f"  most often: {named}{more}")
