"""The status of a run as lines and a table, from the object that ``--json`` prints."""

from __future__ import annotations

from ...run.status import RunStatus
from ...system.display import all_visible
from .console import make_console
from .figures import table


def print_status(status: RunStatus) -> None:
    """Print the shards, the rate, and the workers."""
    console, status = make_console(), all_visible(status)
    state = "finished" if status.finished else "not finished"
    console.print(
        f"shards: {status.done:,} of {status.planned:,} done, {status.held:,} held, {status.failed:,} failed, "
        f"{status.waiting:,} waiting ({state})"
    )
    rate = "no shard was finished in the last ten minutes"
    if status.rows_per_s is not None:
        rate = f"{status.rows_per_s:,.1f} rows/s"
    left = f", about {_time(status.left_s)} left" if status.left_s else ""
    console.print(f"rows: {status.rows:,} done; {rate}{left}")
    if not status.workers:
        console.print("workers: none with --join is running")
        return
    made = table("worker", "device", "age", "last batch", "holds", left=2)
    for worker in status.workers:
        batch = "" if worker.batch_s is None else _time(worker.batch_s)
        more = f" and {len(worker.holds) - 1} more" if len(worker.holds) > 1 else ""
        holds = f"{worker.holds[0]}{more}" if worker.holds else ""
        made.add_row(f"{worker.pid}@{worker.host}", worker.device, _time(worker.age_s), batch, holds)
    console.print(made)


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
