"""What a run would do, from the object that ``scorer plan --json`` prints."""

from __future__ import annotations

from typing import Any

from ...run.preview import named, told
from ...scoring.summary import ReusedOutput
from ...storage.counts import FactCounts
from ...system.display import all_visible
from ...system.json_fields import Fields
from .console import make_console
from .figures import duration, kinds
from .summary import print_backoff, print_source


def print_plan(found: dict[str, Any]) -> None:
    """Print what a run would do."""
    console, found = make_console(), all_visible(found)
    shards, rows, checks = found["shards"], found["rows"], found["checks"]
    about = "about " if found["estimated"] else ""
    if found["estimated"]:
        console.print(
            f"estimated from {rows['sampled']:,} of {rows['to_score']:,} rows, taken from the starts of shards"
        )
    console.print(f"shards: {shards['usable']}, {shards['skipped']} of them done, {len(shards['failed'])} unusable")
    for name, reason in shards["failed"].items():
        console.print(f"  {name}: {reason}")
    for line in told(shards["again"]):
        console.print(f"  {line}")
    if shards["outside"]:
        console.print(f"  removed with --prune, refused without: {named(shards['outside'])} (input not among IN)")
    for name, (before, after) in shards["shorter"].items():
        console.print(f"  shortened with --prune, refused without: {name} ({before:,} rows, now {after:,})")
    console.print(f"rows: {rows['all']:,}, {rows['to_score']:,} of them to score")
    if "reused" in rows:
        console.print(f"  {about}{rows['reused']:,} of these would be reused from earlier outputs")
    for source in found["reuse"]:
        print_source(console, ReusedOutput.from_json(Fields.of(source, "the estimate")))
    for what in ("errors", "notes"):
        if found[what]:
            console.print(f"{what}: {kinds(dict(sorted(found[what].items())), about)}")
    console.print(f"checks: {about}{checks['all']:,}, {about}{checks['unique']:,} unique pairs")
    print_backoff(console, FactCounts.from_json(Fields.of(found["facts"], "the estimate")))
    console.print("tokens per pair:")
    most = max((bin_["pairs"] for bin_ in found["token_lengths"]), default=0) or 1
    for bin_ in found["token_lengths"]:
        console.print(f"  up to {bin_['up_to']:>4}: {bin_['pairs']:>12,}  {'█' * round(40 * bin_['pairs'] / most)}")
    console.print(f"longer than the model's maximum: {about}{found['too_long']:,} pairs")
    disk = found["disk"]
    console.print(f"disk: about {disk['needed'] / 1e6:,.0f} MB needed, {disk['free'] / 1e6:,.0f} MB free")
    console.print(
        f"time: about {duration(found['seconds'])} for the model ({found['precision']} on {found['device']['kind']})"
    )
