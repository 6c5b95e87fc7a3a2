"""Rows of an output for ``scorer show``, filtered and sorted by DuckDB. It reads them batch by batch, and has no access
to files, extensions and variables of this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from ..errors import ColumnError, UsageError
from ..metric import ColumnNames
from ..metric.verdict import FINE
from ..scoring.outputs import Output
from . import RowQuery
from .omitted_facts import OmittedFacts

PLACE = "row"
"""The column that names a row as ``scorer explain --row`` takes it: ``part-0.parquet:17``."""
WORST = "worst_sentence"
"""The column of the sentence that the facts support least, of a run with ``--sentences``."""
OMITTED_FACTS = "omitted_facts"
"""The column of the omitted facts in words, which an output does not have itself."""
_BATCH = 1 << 14
_SHOWN = ("id", "system")
_LABELS = ("fine", "confidence", "error", "note")
_INPUTS = ("text", "triples", "attributes", "subject", "facts", "mr", "document")
"""Fields of :class:`.ColumnNames` that are names of input columns."""


def list_rows(output: Output, query: RowQuery, *, every_column: bool = False) -> Iterator[pa.RecordBatch]:
    """The rows of an output that match a query; the first batch may be empty.

    Args:
        every_column: show all columns unless the query names some; otherwise the place, label and text of a row.

    Raises:
        InputError: a file cannot be read.
        ColumnError: no such column.
        UsageError: an invalid label or condition, with DuckDB's reason.
    """
    import duckdb

    fields = {field.name: field for field in output.schema}
    names = [name for name in output.names if name != PLACE]
    schema = pa.schema([(PLACE, pa.string()), *(fields.get(name, pa.field(name, pa.string())) for name in names)])
    requested = [name.strip() for name in (query.columns or "").split(",") if name.strip()]
    needs_words = OMITTED_FACTS not in names and (OMITTED_FACTS in requested or not (requested or every_column))
    omitted_facts = OmittedFacts.of(output) if needs_words else None
    available = [*schema.names, *([OMITTED_FACTS] if omitted_facts is not None else [])]
    selected = (column for name in requested for column in _columns_of(name, available, output.columns))
    columns = list(dict.fromkeys(selected))
    sort, is_descending = (query.sort or "").removeprefix("-"), (query.sort or "").startswith("-")
    if sort:
        sort = _columns_of(sort, schema.names, output.columns)[0]
    usual = (PLACE, *_SHOWN, *map(output.columns.output, _LABELS), OMITTED_FACTS, output.columns.text)
    shown = columns or (schema.names if every_column else [name for name in usual if name in available])
    worded = omitted_facts if OMITTED_FACTS in shown else None
    needed = [name for name in shown if name in schema.names] + (worded.needed if worded is not None else [])
    settings: dict[str, str | bool | int | float | list[str]] = {
        "enable_external_access": False,
        "python_enable_replacements": False,
        "memory_limit": "1GB",
    }
    with duckdb.connect(config=settings) as connection:
        connection.execute("SET enable_progress_bar = false; SET lock_configuration = true")
        try:
            rows = connection.from_arrow(pa.RecordBatchReader.from_batches(schema, _batches(output, schema)))
            for condition in _conditions(query, output.columns, schema.names):
                rows = rows.filter(condition)
            if sort:
                rows = rows.order(f"{_quoted(sort)} {'DESC' if is_descending else 'ASC'} NULLS LAST")
            if query.limit is not None:
                rows = rows.limit(query.limit)
            projected = [*map(_quoted, dict.fromkeys(needed)), *(() if columns or every_column else _worst(output))]
            for batch in rows.project(", ".join(projected)).to_arrow_reader(_BATCH):
                yield batch if worded is None else _with_words(batch, shown, worded)
        except duckdb.Error as e:
            reason = str(e).split("\n", 1)[0]
            advice = "; write CAST(column AS DOUBLE) for a column of text" if "VARCHAR" in reason else ""
            raise UsageError(f"--where {query.where!r}: {reason}{advice}") from e


def _columns_of(name: str, names: Sequence[str], run: ColumnNames) -> list[str]:
    """The columns of a name: the name of a column, an output column without the prefix of the run, or an input column
    by its usual name, such as ``text``; several where the run has attributes in several columns.

    Raises:
        ColumnError: there is no such column.
    """
    if name in names:
        return [name]
    if (with_prefix := run.output(name)) in names:
        return [with_prefix]
    setting = getattr(run, name) if name in _INPUTS else None
    columns = [column.strip() for column in (setting or "").split(",") if column.strip() in names]
    if not columns:
        raise ColumnError(f"no column {name!r}; the columns are {', '.join(names)}")
    return columns


def _batches(output: Output, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """All rows with the columns of the schema; a column that a file does not have is null."""
    for window in output.windows(schema.names[1:]):
        file, row = output.locate(window.first)
        names_of_rows = [f"{file or output.outs[0].name}:{row + i}" for i in range(len(window.table))]
        columns = {name: window.table[name] for name in window.table.schema.names} | {PLACE: pa.array(names_of_rows)}
        nulls = pa.nulls(len(names_of_rows))
        yield from (
            pa.table([columns.get(name, nulls) for name in schema.names], schema.names).cast(schema).to_batches()
        )


def _with_words(batch: pa.RecordBatch, shown: Sequence[str], omitted_facts: OmittedFacts) -> pa.RecordBatch:
    """The columns that are shown, the omitted facts in words among them, and the worst sentence where there is one."""
    table = pa.Table.from_batches([batch])
    names = [*shown, *(name for name in batch.schema.names if name == WORST and name not in shown)]
    arrays = [omitted_facts.worded(table) if name == OMITTED_FACTS else batch.column(name) for name in names]
    return pa.RecordBatch.from_arrays(arrays, names)


def _conditions(query: RowQuery, run: ColumnNames, names: Sequence[str]) -> Iterator[str]:
    label = next((name for name in map(run.output, ("fine", "rough")) if name in names), "")
    if (query.not_ok or query.labels) and not label:
        raise ColumnError(f"no column {run.output('fine')!r}: score the data first, with `scorer run`")
    if query.not_ok:
        yield f"{_quoted(label)} IS DISTINCT FROM 'OK'"
    if unknown := [label for label in query.labels if label not in (*FINE, "not_OK")]:
        raise UsageError(f"--label {unknown[0]!r} is not one of {', '.join(FINE)}")
    if query.labels:
        yield f"{_quoted(label)} IN ({', '.join(map(repr, query.labels))})"
    if query.where:
        yield query.where


def _worst(output: Output) -> Iterator[str]:
    """The column of worst sentences, of a run that has sentences."""
    names = output.columns
    sentences, text = names.output("sentences"), names.text
    if {sentences, text} <= {*output.schema.names}:
        sentences_column, text_column = _quoted(sentences), _quoted(text)
        least = f"list_min([sentence.entailment for sentence in {sentences_column}])"
        worst_spans = (
            f'[substring({text_column}, sentence.start + 1, sentence."end" - sentence.start) '
            f"for sentence in {sentences_column} if sentence.entailment = {least}]"
        )
        yield f"CASE WHEN len({sentences_column}) > 1 THEN {worst_spans}[1] END AS {WORST}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
