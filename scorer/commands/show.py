"""``scorer show``: rows of an output, as a table, CSV or JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from .common import PartialOption, ScoredArgument, say, tell

if TYPE_CHECKING:
    import pyarrow as pa

ROWS, CHARACTERS = 20, 160


def show_command(
    out: ScoredArgument,
    not_ok: Annotated[bool, typer.Option("--not-ok", help="Only rows that are not OK, or have an error.")] = False,
    label: Annotated[
        list[str] | None, typer.Option("--label", metavar="LABEL", help="Only rows with this FINE label. Repeatable.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="SQL", help="Only rows for which this condition holds, as DuckDB reads it."),
    ] = None,
    sort: Annotated[
        str | None,
        typer.Option("--sort", metavar="COLUMN", help="Column to sort by, for example confidence; -COLUMN: falling."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=0, metavar="N", help="Maximum number of rows. Default: 20, or all for a format."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", metavar="NAMES", help="Comma-separated columns. Default: label and text, or all for a format."
        ),
    ] = None,
    allow_partial: PartialOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    as_jsonl: Annotated[bool, typer.Option("--jsonl", help="Print JSON Lines.")] = False,
) -> None:
    """Show rows of an output.

    The column `row` names each as `scorer explain --row` takes it.
    """
    from ..evaluation.listing import RowQuery, list_rows
    from ..scoring.outputs import Output
    from ..storage.local_copy import local_outputs

    if as_csv and as_jsonl:
        raise UsageError("--csv and --jsonl are both given; use one of them")
    formatted = as_csv or as_jsonl
    query = RowQuery(
        not_ok=not_ok,
        labels=tuple(label or ()),
        where=where,
        sort=sort,
        limit=limit if limit is not None or formatted else ROWS,
        columns=tuple(name.strip() for name in columns.split(",")) if columns else (),
    )
    with local_outputs(out) as folders:
        batches = list_rows(Output.open(*folders, allow_partial=allow_partial), query, every_column=formatted)
        if as_csv:
            _print_csv(batches)
        elif as_jsonl:
            _print_json_lines(batches)
        elif not _print_table(batches):
            say("note: no row")


def _plain(value: Any) -> Any:
    """A value as JSON can hold it; bytes in hexadecimal."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return None
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value if isinstance(value, str | int | float | None) else str(value)


def _print_json_lines(batches: Iterator[pa.RecordBatch]) -> None:
    import json

    for batch in batches:
        for row in batch.to_pylist():
            tell(json.dumps(_plain(row)))


def _print_csv(batches: Iterator[pa.RecordBatch]) -> None:
    import csv
    import io
    import json
    import sys

    from ..system.display import visible

    for number, batch in enumerate(batches):
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        if not number:
            writer.writerow(batch.schema.names)
        for row in batch.to_pylist():
            cells = map(_plain, row.values())
            writer.writerow([json.dumps(one) if isinstance(one, list | dict) else one for one in cells])
        text = out.getvalue()
        typer.echo(visible(text, lines=True) if sys.stdout.isatty() else text, nl=False)


def _print_table(batches: Iterator[pa.RecordBatch]) -> int:
    """Print rows as a table; texts are cut. Returns how many there were."""
    from rich.text import Text

    from ..system.display import all_visible
    from .console.console import make_console
    from .console.figures import table

    rows = [row for batch in islice(batches, 1000) for row in batch.to_pylist()]
    if not rows:
        return 0
    made = table(*rows[0], left=len(rows[0]))
    for row in rows:
        cells = ("" if value is None else str(_plain(_rounded(value))) for value in row.values())
        made.add_row(*(Text(all_visible(c if len(c) <= CHARACTERS else c[: CHARACTERS - 1] + "…")) for c in cells))
    make_console(least_width=120).print(made)
    return len(rows)


def _rounded(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value
