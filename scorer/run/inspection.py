"""Read footers, and look at the first rows of a run for problems that affect all of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pyarrow as pa
from msgspec.structs import replace

from ..errors import ColumnError, InputError, ShardError
from ..metric.facts import Rows
from ..metric.inputs import InputColumns, find_columns
from ..metric.joining import SentenceUses
from ..scoring.pipeline import Pipeline
from ..scoring.settings import Settings
from ..storage.receipts import Counts, FactCounts
from ..storage.shards import FIRST_ROWS, WINDOW_BYTES, WINDOW_ROWS, Shard, limit_rows, read_shards, read_windows
from ..system.numbers import percent
from .executors import FooterRead, Inspect

HOPELESS_AFTER_ROWS, HOPELESS_RATE = 10_000, 0.95
MOST_FILES = 8
"""Number of files with a checked first window: a single file may be damaged."""


def inspect_files(request: Inspect) -> Iterator[FooterRead]:
    """Read the footer of each file, in order."""
    rows_left, unseen = request.limit, MOST_FILES if request.checks_first_window else 0
    for file in request.files:
        if rows_left == 0:
            yield FooterRead()
            continue
        try:
            schema, shards = read_shards(file, request.split_rows)
            columns = columns_of(schema, request.settings)
        except (ShardError, ColumnError) as error:
            yield FooterRead(error=str(error), kind=kind_of(error))
            continue
        shards = [
            replace(shard, columns=columns.shape, bytes=shard.bytes if columns.names.keep is None else 0)
            for shard in limit_rows(shards, rows_left)
        ]
        if rows_left is not None:
            rows_left -= sum(shard.rows for shard in shards)
        hopeless = None
        if unseen and (first := next((shard for shard in shards if shard.rows), None)) is not None:
            hopeless = check_first_window(first, columns)
            unseen = unseen - 1 if hopeless else 0
        yield FooterRead(shards=shards, hopeless=hopeless)


def columns_of(schema: pa.Schema, settings: Settings) -> InputColumns:
    """The columns of an input; a :class:`.ColumnError` if it cannot be scored. FactSpotter takes triples apart."""
    spots_facts = settings.protocol == "factspotter"
    return find_columns(schema, settings.columns, "the protocol factspotter asks about triples" if spots_facts else "")


def parse_start(shard: Shard, settings: Settings, rows: int, max_bytes: int = WINDOW_BYTES) -> Iterator[Rows]:
    """Parse windows of the first rows of a shard, as far as they can be read: the run reports errors later."""
    start, find = limit_rows([shard], rows)[0], partial(columns_of, settings=settings)
    with suppress(ShardError, ColumnError):
        for columns, table in read_windows(start, find, max_rows=rows, max_bytes=max_bytes):
            yield columns.rows(table)


def kind_of(error: Exception) -> str:
    """The short word for an error that costs a shard."""
    return error.kind if isinstance(error, ShardError) else "columns"


def check_first_window(shard: Shard, columns: InputColumns) -> str:
    """Why no row of the first window of a shard gets a label; empty where one does, and where the window cannot be
    read: the run quarantines the shard then."""
    with suppress(ShardError):
        for rows in (FIRST_ROWS[0], WINDOW_ROWS):
            start = limit_rows([shard], rows)[0]
            _, window = next(read_windows(start, lambda schema: columns, max_rows=rows, max_bytes=WINDOW_BYTES))
            reason = columns.why_none(window)
            if not reason or shard.rows <= rows or rows == WINDOW_ROWS:
                return reason
    return ""


def warning_of_backoff(facts: FactCounts, bundle: str) -> str:
    """A warning about facts of the first window without a template; empty where all have one.

    Args:
        facts: counts of the facts of the first window.
        bundle: name of the bundle, if its own templates are used; empty where others are.
    """
    if not facts.backoff:
        return ""
    message = (
        f"warning: {percent(facts.backoff / facts.all)} of the facts in the first window have no template (backoff)"
    )
    by_backoff, predicates = sum(1 for counts in facts.by_predicate.values() if counts.backoff), len(facts.by_predicate)
    if not bundle or by_backoff <= predicates / 2:
        return message
    return (
        f"{message}; {by_backoff} of {predicates} predicates are outside what the bundle {bundle} was made for, so its "
        "labels may mean nothing here"
    )


def warnings_of_sentences(columns: InputColumns, table: pa.Table, pipeline: Pipeline) -> list[str]:
    """A warning of each sentence of the template file that no row of a window uses."""
    if not pipeline.templates.joint:
        return []
    uses = SentenceUses(pipeline.templates, pipeline.options.optional)
    uses.join(columns.rows(table))
    return [
        f"warning: in the first window, the sentence {use.sentence!r} is never used: {use.unused}"
        for use in uses.report()
        if use.unused is not None
    ]


def refuse_hopeless(counts: Counts, max_error_rate: float) -> None:
    """Stop a run if nearly all of its first rows have errors, instead of going on for a night."""
    if counts.error_rate > max(HOPELESS_RATE, max_error_rate):
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counts.rows.errors.items()))
        raise InputError(
            f"{percent(counts.error_rate)} of the first {counts.rows.all:,} rows cannot be scored ({kinds}); stopped. "
            "Look at the columns and at `scorer plan`; --max-error-rate 1 runs on regardless"
        )
