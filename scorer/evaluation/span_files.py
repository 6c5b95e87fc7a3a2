"""Read the spans of texts that a metric flagged.

They are the ``sentences`` of a run, or a Parquet or CSV file of spans (``text_id``, ``start``, ``end``). All offsets
count code points of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ..errors import ColumnError, InputError
from ..metric.columns import SENTENCES
from ..metric.inputs import check_unique
from ..scoring.output_files import run_columns
from . import gold as scored_files

Ints = npt.NDArray[np.int64]
CSV = (".csv", ".tsv")
LARGEST_OFFSET = 1 << 31


@dataclass(frozen=True)
class Spans:
    """Spans of texts. ``texts``: the id of the text of each span. ``starts``, ``ends``: int64, *Shape:* (spans,), code
    points."""

    texts: list[str]
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Flags:
    """The spans that a metric checked and flagged.

    ``units``: the spans that it checked; ``flagged``: bool, *Shape:* (units,). ``complete``: whether ``units`` has all
    checked spans, not only the flagged ones. ``known``: ids of the checked texts, ``None`` if only flags are known.
    ``contents``: the texts by id, where available. ``systems``: the system by id. ``unjudged``: number of texts without
    a result.
    """

    units: Spans
    flagged: npt.NDArray[np.bool_]
    complete: bool
    known: list[str] | None
    contents: dict[str, str] = field(default_factory=dict)
    systems: dict[str, str] = field(default_factory=dict)
    unjudged: int = 0
    signature: str | None = None
    finished: bool = True


def read_flags(path: Path, *, id_column: str, system: str, prefix: str | None, below: float) -> Flags:
    """The flags of a run's output, or of a file of spans.

    Args:
        below: a sentence is flagged if its P(entailment) is below this value, or unknown.

    Raises:
        InputError, UsageError, ColumnError: nothing to read, files of different signatures, columns missing.
    """
    if path.suffix.lower() in CSV:
        return _given_flags(read_file(path, id_column), id_column, system)
    names = scored_files.schema_names(path)
    columns = run_columns(path)
    sentences = (columns.prefix if prefix is None else prefix) + "sentences"
    if sentences not in names:
        if bounds_of(names) is None:
            raise ColumnError(
                f"{path} has neither a column {sentences!r} (score with --sentences) nor spans (columns start and "
                f"end); its columns are {', '.join(names)}"
            )
        return _given_flags(read_file(path, id_column), id_column, system)
    scored = scored_files.load(path, [id_column, system, columns.text, sentences])
    ids = strings(column_of(scored.table, id_column, path))
    _refuse_repeated(ids, id_column, path)
    column = scored.array(sentences)
    if not column.type.equals(SENTENCES.type):
        raise ColumnError(f"column {sentences!r} is {column.type}, but a run writes {SENTENCES.type}")
    lengths = np.asarray(pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False), np.int64)
    flat = pc.list_flatten(column)
    entailment = pc.struct_field(flat, "entailment").to_numpy(zero_copy_only=False).astype(np.float64)
    owners = np.repeat(np.arange(len(ids)), lengths)
    judged = column.is_valid().to_numpy(zero_copy_only=False)
    texts = strings(scored.table[columns.text]) if scored.has(columns.text) else [None] * len(ids)
    systems = strings(scored.table[system]) if scored.has(system) else [None] * len(ids)
    return Flags(
        Spans(
            [str(ids[owner]) for owner in owners.tolist()],
            integers(pc.struct_field(flat, "start")),
            integers(pc.struct_field(flat, "end")),
        ),
        ~(entailment >= below),
        True,
        [str(name) for name, there in zip(ids, judged.tolist(), strict=True) if there and name is not None],
        {str(name): text for name, text in zip(ids, texts, strict=True) if text is not None},
        {str(name): text for name, text in zip(ids, systems, strict=True) if text is not None},
        int((~judged).sum()),
        scored.signature,
        scored.finished,
    )


def _given_flags(table: pa.Table, id_column: str, system: str) -> Flags:
    names = table.column_names
    bounds = bounds_of(names)
    if bounds is None or id_column not in names:
        raise ColumnError(
            f"spans need the columns {id_column}, start and end (or char_start and char_end); the columns are "
            f"{', '.join(names)}"
        )
    table = table.filter(pc.and_(pc.is_valid(table[bounds[0]]), pc.is_valid(table[bounds[1]])))
    ids = [str(name) for name in strings(table[id_column])]
    complete = "flagged" in names
    flagged = np.array([bool(value) for value in table["flagged"].to_pylist()] if complete else [True] * len(ids), bool)
    systems = strings(table[system]) if system in names else [None] * len(ids)
    spans = Spans(ids, integers(table[bounds[0]]), integers(table[bounds[1]]))
    refuse_bad_bounds(spans)
    return Flags(spans, flagged, complete, None, {}, {i: s for i, s in zip(ids, systems, strict=True) if s is not None})


def read_file(path: Path, id_column: str) -> pa.Table:
    text = dict.fromkeys(
        (id_column, "category", "system", "item_id", "annotator", "label", "sentence", "span"), pa.string()
    )
    try:
        if path.suffix.lower() in CSV:
            parse = pacsv.ParseOptions(
                delimiter="\t" if path.suffix.lower() == ".tsv" else ",", newlines_in_values=True
            )
            convert = pacsv.ConvertOptions(column_types=text, strings_can_be_null=True)
            table = pacsv.read_csv(path, parse_options=parse, convert_options=convert)
        else:
            table = pq.read_table(path)
        check_unique(table.schema)
        for name in bounds_of(table.column_names) or ():
            positions(table[name])
    except ColumnError as e:
        raise ColumnError(f"{path}: {e}") from e
    except (pa.ArrowException, OSError) as e:
        kind = "CSV" if path.suffix.lower() in CSV else "Parquet"
        raise InputError(f"{path} cannot be read as {kind}: {e}") from e
    return table


def bounds_of(names: Sequence[str]) -> tuple[str, str] | None:
    pairs = (("start", "end"), ("char_start", "char_end"))
    return next((pair for pair in pairs if set(pair) <= set(names)), None)


def column_of(table: pa.Table, name: str, path: Path) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise ColumnError(f"{path} has no column {name!r}; its columns are {', '.join(table.column_names)}")
    return table[name]


def strings(column: pa.ChunkedArray) -> list[str | None]:
    try:
        values: list[str | None] = column.cast(pa.string()).to_pylist()
    except (pa.ArrowException, UnicodeDecodeError) as e:
        raise ColumnError(f"a column is {column.type}, but strings are needed there: {e}; write it as strings") from e
    return values


def positions(column: pa.ChunkedArray) -> list[int | None]:
    """Offsets, ``None`` where there are none."""
    try:
        values: list[int | None] = column.cast(pa.int64()).to_pylist()
    except pa.ArrowException as e:
        raise ColumnError(f"offsets must be integers, but a column is {column.type}: {e}; write integers") from e
    return values


def integers(column: Any) -> Ints:
    return np.array(positions(column), np.int64)


def _refuse_repeated(ids: Sequence[str | None], column: str, path: Path) -> None:
    seen: set[str | None] = set()
    for name in ids:
        if name in seen:
            raise ColumnError(
                f"{path}: {column} {name!r} occurs twice; give each text its own, since spans refer to it"
            )
        seen.add(name)


def refuse_bad_bounds(spans: Spans) -> None:
    bad = np.flatnonzero((spans.starts < 0) | (spans.ends < spans.starts) | (spans.ends > LARGEST_OFFSET))
    if len(bad):
        first = int(bad[0])
        raise InputError(
            f"a span of text {spans.texts[first]!r} is from {spans.starts[first]} to {spans.ends[first]}; offsets are "
            f"code points from 0 to {LARGEST_OFFSET:,}, and the start must not be after the end"
        )
