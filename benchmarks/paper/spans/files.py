"""The sentences of a run, and Parquet files of errors that annotators found (``text_id``, ``char_start``,
``char_end``, ``category``). Offsets count code points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.paper.spans.agreement import Votes
from scorer.errors import ColumnError, InputError
from scorer.evaluation.gold import load
from scorer.scoring.outputs import Output

NO_CATEGORY = "no_category"


@dataclass(frozen=True)
class Flags:
    """The sentences that a run checked: ``text_id``, ``char_start``, ``char_end``, ``flagged``. ``known``: ids of the
    checked texts. ``unjudged``: number of texts without a result."""

    sentences: pa.Table
    known: list[str]
    unjudged: int
    signature: str | None


@dataclass(frozen=True)
class Gold:
    """An annotator's errors: ``text_id``, ``char_start``, ``char_end``, ``category``. ``mentioned``: ids of all texts.
    ``unlocated``: number of errors without offsets. ``columns``: by name and text, of columns with one value a text."""

    errors: pa.Table
    mentioned: set[str]
    unlocated: int
    columns: dict[str, dict[str, str]]

    def column(self, name: str) -> dict[str, str]:
        """The value of a column for each text that is mentioned; a ColumnError unless each text has one."""
        if name not in self.columns:
            known = ", ".join(self.columns) or "none"
            raise ColumnError(f"{name!r}: the gold has no column with one such value for each text; it has {known}")
        return self.columns[name]


def read_flags(path: Path, below: float) -> Flags:
    """The flags of a run's output with ``--sentences``: sentences whose P(entailment) is below a value, or unknown."""
    output = Output.open(path)
    if "sentences" not in output.names:
        raise ColumnError(f"{path} has no sentences; score with --sentences")
    scored = load(output, ["text_id", "sentences"])
    ids = _column(scored.table, "text_id", path).cast(pa.string()).combine_chunks()
    if len(ids.unique()) < len(ids):
        raise ColumnError(f"{path}: a text_id occurs twice; give each text its own, since spans refer to it")
    column = scored.array("sentences")
    flat = pc.list_flatten(column)
    supported = pc.fill_null(
        pc.greater_equal(pc.struct_field(flat, "entailment"), pa.scalar(below, pa.float32())), False
    )
    places = {f"char_{end}": pc.struct_field(flat, end).cast(pa.int64()) for end in ("start", "end")}
    owners = ids.take(pc.list_parent_indices(column))
    sentences = pa.table({"text_id": owners, **places, "flagged": pc.invert(supported)})
    judged = column.is_valid()
    return Flags(sentences, ids.filter(judged).to_pylist(), pc.sum(pc.invert(judged)).as_py(), scored.signature)


def read_annotators(path: Path) -> dict[str, Gold]:
    """The errors by annotator, the main one first: the annotator whose name comes first, or the file's stem where it
    has no column ``annotator``. A row without a position only mentions its text, and so does one whose
    ``is_gold_error`` is false."""
    table = _read(path)
    if "annotator" not in table.column_names:
        return {path.stem: _gold(path, table)}
    names = table["annotator"].cast(pa.string())
    return {
        name: _gold(path, table.filter(pc.equal(names, name)))
        for name in sorted(names.drop_null().unique().to_pylist())
    }


def read_votes(path: Path) -> Votes:
    table = _read(path)
    return Votes.collect(*(_column(table, name, path).cast(pa.string()).to_pylist() for name in ("item_id", "label")))


def _gold(path: Path, table: pa.Table) -> Gold:
    kinds = {"text_id": pa.string(), "char_start": pa.int64(), "char_end": pa.int64()}
    places = {name: _column(table, name, path).cast(kind) for name, kind in kinds.items()}
    ids = places["text_id"].to_pylist()
    given = table["category"].to_pylist() if "category" in table.column_names else [None] * len(table)
    categories = [None if name is None else "_".join(name.replace("-", " ").split()).lower() for name in given]
    marked = np.array([name is not None for name in categories]) | places["char_start"].is_valid().to_numpy()
    if "is_gold_error" in table.column_names:
        marked = table["is_gold_error"].to_numpy()
    errors = pa.table({**places, "category": pa.array([name or NO_CATEGORY for name in categories])})
    errors = errors.filter(pa.array(marked, pa.bool_())).drop_null()
    for row in errors.filter(pc.less(errors["char_end"], errors["char_start"])).to_pylist():
        place = f"{row['char_start']} to {row['char_end']}"
        raise InputError(f"a span of text {row['text_id']!r} is from {place}; it cannot end before its start")
    columns = {}
    for name in table.column_names:
        values: dict[str, str] = {}
        pairs = zip(ids, map(str, table[name].to_pylist()), strict=True)
        if all(values.setdefault(text, value) == value for text, value in pairs):
            columns[name] = values
    return Gold(errors, set(ids), int(marked.sum()) - len(errors), columns)


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as e:
        raise InputError(f"{path} cannot be read as Parquet: {e}") from e


def _column(table: pa.Table, name: str, path: Path) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise ColumnError(f"{path} has no column {name!r}; its columns are {', '.join(table.column_names)}")
    return table[name]
