"""The status of a run as lines and a table, from the object that ``--json`` prints."""

from __future__ import annotations

from ...run.status import RunStatus
from ...storage.parts import in_words
from ...system.display import all_visible
from .console import make_console


def print_status(status: RunStatus) -> None:
    """Print the shards, the rate, the devices, and who holds the output."""
    console, status = make_console(), all_visible(status)
    state = "finished" if status.finished else "not finished"
    console.print(
        f"shards: {status.done:,} of {status.planned:,} done, {status.failed:,} failed, {status.waiting:,} waiting "
        f"({state})"
    )
    if status.failures:
        console.print("failed: " + ", ".join(f"{kind} {count:,}" for kind, count in status.failures.items()))
    rate = "no shard was finished in the last ten minutes"
    if status.rows_per_s is not None:
        rate = f"{status.rows_per_s:,.1f} rows/s"
    left = f", about {_time(status.left_s)} left" if status.left_s else ""
    console.print(f"rows: {status.rows:,} done; {rate}{left}")
    for device, shards in status.devices.items():
        console.print(f"scored on {device}: {shards:,} shards")
    if status.missing_parts:
        console.print(f"parts that were not given: {', '.join(map(str, status.missing_parts))}")
    if status.stale:
        console.print(f"outputs without an input: {in_words(status.stale)}; --stale lists their files")
    for holder in status.holders:
        console.print(f"held by {holder}")
    if not status.holders:
        console.print("no process holds the output")


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
