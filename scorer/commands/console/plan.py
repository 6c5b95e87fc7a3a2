"""What a run would do, on the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from ...run.preview import named, told
from ...system.display import all_visible
from .console import make_console
from .figures import duration, kinds
from .summary import print_backoff, print_source

if TYPE_CHECKING:
    from ...run.estimate import Estimate, LengthBin, PlannedShards


def print_plan(found: Estimate, console: Console | None = None) -> None:
    """Print what a run would do. ``console``: by default one on stdout."""
    console, found = console or make_console(), all_visible(found)
    rows = found.rows
    about = "about " if found.estimated else ""
    if found.estimated:
        console.print(f"estimated from {rows.sampled:,} of {rows.to_score:,} rows, taken from the starts of shards")
    _print_shards(console, found.shards)
    _print_pieces(console, found)
    console.print(f"rows: {rows.all:,}, {rows.to_score:,} of them to score")
    if rows.reused is not None:
        console.print(f"  {about}{rows.reused:,} of these would be reused from earlier outputs")
    for source in found.reuse:
        print_source(console, source)
    for what, counts in (("errors", found.errors), ("notes", found.notes)):
        if counts:
            console.print(f"{what}: {kinds(dict(sorted(counts.items())), about)}")
    console.print(f"checks: {about}{found.checks.all:,}, {about}{found.checks.unique:,} unique pairs")
    print_backoff(console, found.facts)
    if found.facts.skipped:
        console.print(f"attributes without a value: {about}{found.facts.skipped:,}, left out")
    if found.first_facts:
        console.print("facts of the first row:")
        for fact in found.first_facts:
            console.print(f"  {fact}")
    _print_lengths(console, found.token_lengths)
    console.print(f"longer than the model's maximum: {about}{found.too_long:,} pairs")
    disk = found.disk
    free = f", {disk.free / 1e6:,.0f} MB free" if disk.free is not None else " in the store"
    console.print(f"disk: about {disk.needed / 1e6:,.0f} MB needed{free}")
    console.print(f"time: about {duration(found.seconds)} for the model ({found.precision} on {found.device.kind})")


def _print_shards(console: Console, shards: PlannedShards) -> None:
    console.print(f"shards: {shards.usable}, {shards.skipped} of them done, {len(shards.failed)} unusable")
    for name, reason in shards.failed.items():
        console.print(f"  {name}: {reason}")
    for line in told(shards.again):
        console.print(f"  {line}")
    if outside := shards.outside:
        console.print(f"  removed with --prune, refused without: {named(outside)} (input not among IN)")
    if divided := shards.divided:
        console.print(f"  removed with --prune, refused without: {named(divided)} (input divided in another way)")
    for name, (before, after) in shards.shorter.items():
        console.print(f"  shortened with --prune, refused without: {name} ({before:,} rows, now {after:,})")


def _print_pieces(console: Console, found: Estimate) -> None:
    for name, count in found.shards.pieces.items():
        console.print(f"  {name}: {count:,} pieces")
    if found.shards.note is not None:
        console.print(f"  {found.shards.note}")
    if (found.shards.pieces or found.shards.note) and found.rows_in_five_minutes is not None:
        console.print(f"  pieces of about five minutes each: --split-rows {found.rows_in_five_minutes}")


def _print_lengths(console: Console, bins: tuple[LengthBin, ...]) -> None:
    console.print("tokens per pair:")
    most = max((one.pairs for one in bins), default=0) or 1
    for one in bins:
        console.print(f"  up to {one.up_to:>4}: {one.pairs:>12,}  {'█' * round(40 * one.pairs / most)}")
