"""``scorer show`` prints rows of an output; ``scorer status`` says how far a run is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import typer

from ..errors import UsageError
from ..evaluation import RowQuery
from ..system.arguments import option
from .console import duration, kinds, make_console, print_line, print_result, say, table
from .options import JSON, OutputArgument, ScoredArgument

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from ..run.run_status import RunStatus

ROWS, CHARACTERS = 20, 160


def show_command(
    out: ScoredArgument,
    query: RowQuery,
    as_csv: bool = option("Print CSV.", default=False, name="--csv"),
    as_jsonl: bool = option("Print JSON Lines.", default=False, name="--jsonl"),
) -> None:
    """Show rows of an output.

    The column `row` names each as `scorer explain --row` takes it; `omitted_facts` has the omitted facts in words, with
    (contradicted) after those that the text says wrongly; the others are left out, or said with another value. CSV and
    JSON Lines have it where --columns names it.
    """
    from ..evaluation.listing import list_rows
    from ..scoring.outputs import Output

    if as_csv and as_jsonl:
        raise UsageError("--csv and --jsonl are both given; use one of them")
    formatted = as_csv or as_jsonl
    if query.limit is None and not formatted:
        query = replace(query, limit=ROWS)
    output = Output.open(*out, allow_partial=query.allow_partial)
    batches = list_rows(output, query, every_column=formatted)
    if as_csv:
        _print_csv(batches)
    elif as_jsonl:
        for batch in batches:
            for row in batch.to_pylist():
                print_line(json.dumps(_plain(row)))
    else:
        _print_table(batches)


def _plain(value: Any) -> Any:
    """A value as JSON can hold it; bytes in hexadecimal."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value if isinstance(value, str | int | float | None) else str(value)


def _print_csv(batches: Iterator[pa.RecordBatch]) -> None:
    import csv
    import io
    import sys

    from ..system.terminal import visible

    for number, batch in enumerate(batches):
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        if not number:
            writer.writerow(batch.schema.names)
        for row in batch.to_pylist():
            cells = map(_plain, row.values())
            writer.writerow([json.dumps(cell) if isinstance(cell, list | dict) else cell for cell in cells])
        text = out.getvalue()
        typer.echo(visible(text, lines=True) if sys.stdout.isatty() else text, nl=False)


def _print_table(batches: Iterator[pa.RecordBatch]) -> None:
    """Print rows as a table; texts are cut."""
    from rich.text import Text

    from ..system.terminal import visible

    rows = [row for batch in islice(batches, 1000) for row in batch.to_pylist()]
    if not rows:
        say("note: no row")
        return
    grid = table(*rows[0], left=len(rows[0]))
    for row in rows:
        rounded = (round(value, 3) if isinstance(value, float) else value for value in row.values())
        cells = ("" if value is None else str(_plain(value)) for value in rounded)
        grid.add_row(*(Text(visible(c if len(c) <= CHARACTERS else c[: CHARACTERS - 1] + "…")) for c in cells))
    make_console(least_width=120).print(grid)


def status_command(
    out: OutputArgument,
    stale: bool = option(
        "Print only the files of outputs without an input, one a line, for rm.", default=False, name="--stale"
    ),
    as_json: bool = JSON,
) -> None:
    """Show how far a run is.

    Shards by state, the rate of the last ten minutes, the time left, the devices, outputs whose input is gone, and the
    process that holds the output.
    """
    from ..run.run_status import stale_files, status_of

    if stale:
        for name in stale_files(out):
            print_line(name)
        return
    print_result(status_of(out), as_json, print_status)


def print_status(console: Console, status: RunStatus) -> None:
    """Print the shards, the rate, the devices, and the processes that hold the output."""
    from ..storage.location import named

    state = "finished" if status.finished else "not finished"
    console.print(
        f"shards: {status.done:,} of {status.planned:,} done, {status.failed:,} failed, {status.waiting:,} waiting "
        f"({state})"
    )
    if status.failures:
        console.print(f"failed: {kinds(status.failures)}")
    rate = "no shard was finished in the last ten minutes"
    if status.rows_per_s is not None:
        rate = f"{status.rows_per_s:,.1f} rows/s"
    remaining = f", about {duration(status.left_s)} left" if status.left_s else ""
    console.print(f"rows: {status.rows:,} done; {rate}{remaining}")
    for device, shards in status.devices.items():
        console.print(f"scored on {device}: {shards:,} shards")
    if status.missing_parts:
        console.print(f"parts that were not given: {', '.join(map(str, status.missing_parts))}")
    if status.stale:
        console.print(f"outputs without an input: {named(status.stale)}; --stale lists their files")
    holders = [f"held by {holder}" for holder in status.holders]
    console.print("\n".join(holders) or "no process holds the output")
