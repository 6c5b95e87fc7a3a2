"""Files of spans, in Parquet: what a metric flagged, and the errors that annotators found.

Flags are the ``sentences`` of a run, or a file of spans (``text_id``, ``start``, ``end``; with ``flagged`` also those
that are not flagged). Gold is a file of errors (``text_id``, ``char_start``, ``char_end``, ``category``), or of each
annotator's labels (``item_id``, ``annotator``, ``label``), joined by majority. Offsets count code points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.paper.spans.agreement import Votes, collect, majority
from scorer.errors import ColumnError, InputError
from scorer.evaluation.gold import load
from scorer.scoring.outputs import Output

NO_CATEGORY = "no_category"
_BOUNDS = (("start", "end"), ("char_start", "char_end"))
Ints = npt.NDArray[np.int64]


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
    ``contents``, ``systems``: text and system by id, where available. ``unjudged``: texts without a result.
    """

    units: Spans
    flagged: npt.NDArray[np.bool_]
    complete: bool
    known: list[str] | None
    contents: dict[str, str] = field(default_factory=dict)
    systems: dict[str, str] = field(default_factory=dict)
    unjudged: int = 0
    signature: str | None = None

    @classmethod
    def all_of(cls, spans: Spans, known: list[str] | None, *, complete: bool = False) -> Flags:
        """Spans that are all flagged."""
        return cls(spans, np.ones(len(spans), bool), complete, known)


@dataclass(frozen=True)
class Gold:
    """Gold errors. ``categories``: the category of each error. ``mentioned``: ids of all texts in the file.
    ``unlocated``: number of errors without offsets. ``columns``: by name and text, of columns with one value a text.
    """

    errors: Spans
    categories: list[str]
    mentioned: set[str]
    unlocated: int = 0
    columns: dict[str, dict[str, str]] = field(default_factory=dict)

    def column(self, name: str) -> dict[str, str]:
        """The value of a column for each text that is mentioned.

        Raises:
            ColumnError: the file has no such column with one value for each text.
        """
        if name not in self.columns:
            known = ", ".join(self.columns) or "none"
            raise ColumnError(f"{name!r}: the gold has no column with one such value for each text; it has {known}")
        return self.columns[name]


def read_flags(path: Path, *, system: str = "system", below: float = 0.5) -> Flags:
    """The flags of a run's output with ``--sentences``, or of a file of spans.

    Args:
        below: a sentence is flagged if its P(entailment) is below this value, or unknown.

    Raises:
        InputError: nothing to read. ColumnError: columns missing, a text twice.
    """
    output = Output.open(path)
    names = output.names
    if "sentences" not in names:
        if _bounds_of(names) is None:
            raise ColumnError(
                f"{path} has neither sentences (score with --sentences) nor spans (columns start and end); its columns "
                f"are {', '.join(names)}"
            )
        return _given_flags(pq.read_table(path), system)
    text = output.columns.text
    scored = load(output, ["text_id", system, text, "sentences"])
    ids = _strings(scored.table, "text_id", path)
    if len(set(ids)) < len(ids):
        raise ColumnError(f"{path}: a text_id occurs twice; give each text its own, since spans refer to it")
    column = scored.array("sentences")
    lengths = np.asarray(pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False), np.int64)
    flat = pc.list_flatten(column)
    entailment = pc.struct_field(flat, "entailment").to_numpy(zero_copy_only=False).astype(np.float64)
    starts, ends = (np.array(pc.struct_field(flat, name).to_pylist(), np.int64) for name in ("start", "end"))
    judged = column.is_valid().to_pylist()
    return Flags(
        Spans([ids[owner] for owner in np.repeat(np.arange(len(ids)), lengths).tolist()], starts, ends),
        ~(entailment >= below),
        True,
        [name for name, there in zip(ids, judged, strict=True) if there],
        _by_id(ids, scored.table, text),
        _by_id(ids, scored.table, system),
        judged.count(False),
        scored.signature,
    )


def read_annotators(path: Path) -> dict[str, Gold]:
    """The errors by annotator, the main one first: the annotator whose name comes first, or the file's stem where it
    has no column ``annotator``. A row without a position only mentions its text, and so does one whose
    ``is_gold_error`` is false.

    Raises:
        InputError: the file cannot be read. ColumnError: columns missing.
    """
    table = _read(path)
    if {"item_id", "annotator", "label"} <= set(table.column_names):
        votes, table = read_votes(path)
        category = majority(votes)
        return {path.stem: _gold(table, [one is not None for one in category], category, path)}
    if "annotator" not in table.column_names:
        return {path.stem: _of_errors(table, path)}
    names = table["annotator"].cast(pa.string())
    found = sorted({name for name in names.to_pylist() if name is not None})
    return {name: _of_errors(table.filter(pc.equal(names, name)), path) for name in found}


def read_votes(path: Path) -> tuple[Votes, pa.Table]:
    """The labels that all annotators gave, and the first row of each item."""
    table = _read(path)
    items, labels = _strings(table, "item_id", path), _strings(table, "label", path)
    votes = collect(items, labels)
    first: dict[str, int] = {}
    for row, item in enumerate(items):
        first.setdefault(item, row)
    return votes, table.take([first[item] for item in votes.items])


def _given_flags(table: pa.Table, system: str) -> Flags:
    start, end = _bounds_of(table.column_names) or _BOUNDS[0]
    table = table.filter(pc.and_(pc.is_valid(table[start]), pc.is_valid(table[end])))
    ids = _strings(table, "text_id", Path("the file of spans"))
    complete = "flagged" in table.column_names
    flagged = np.array(table["flagged"].to_pylist() if complete else [True] * len(ids), bool)
    spans = _checked(Spans(ids, *(np.array(table[name].to_pylist(), np.int64) for name in (start, end))))
    return Flags(spans, flagged, complete, None, {}, _by_id(ids, table, system))


def _of_errors(table: pa.Table, path: Path) -> Gold:
    category = table["category"].to_pylist() if "category" in table.column_names else [None] * len(table)
    category = [None if name is None else "_".join(name.replace("-", " ").split()).lower() for name in category]
    if "is_gold_error" in table.column_names:
        errors = table["is_gold_error"].to_pylist()
    else:
        bounds = _bounds_of(table.column_names)
        placed = table[bounds[0]].is_valid().to_pylist() if bounds else [False] * len(table)
        errors = [name is not None or there for name, there in zip(category, placed, strict=True)]
    return _gold(table, errors, category, path)


def _gold(table: pa.Table, errors: Sequence[bool], categories: Sequence[str | None], path: Path) -> Gold:
    bounds = _bounds_of(table.column_names)
    if bounds is None:
        raise ColumnError(f"{path} has no columns char_start and char_end; its columns are {table.column_names}")
    ids = _strings(table, "text_id", path)
    starts, ends = (table[name].to_pylist() for name in bounds)
    found = [row for row in range(len(ids)) if errors[row] and starts[row] is not None]
    places = (np.array([of[row] for row in found], np.int64) for of in (starts, ends))
    return Gold(
        _checked(Spans([ids[row] for row in found], *places)),
        [categories[row] or NO_CATEGORY for row in found],
        set(ids),
        sum(map(bool, errors)) - len(found),
        _by_text(table, ids),
    )


def _by_text(table: pa.Table, ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Columns of single values that have one value per text, by name and text."""
    found = {}
    for name in table.column_names:
        values: dict[str, str] = {}
        column = map(str, table[name].to_pylist())
        if all(values.setdefault(text, value) == value for text, value in zip(ids, column, strict=True)):
            found[name] = values
    return found


def _by_id(ids: Sequence[str], table: pa.Table, name: str) -> dict[str, str]:
    values = table[name].to_pylist() if name in table.column_names else []
    return {one: value for one, value in zip(ids, values, strict=False) if value is not None}


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as e:
        raise InputError(f"{path} cannot be read as Parquet: {e}") from e


def _strings(table: pa.Table, name: str, path: Path) -> list[str]:
    if name not in table.column_names:
        raise ColumnError(f"{path} has no column {name!r}; its columns are {', '.join(table.column_names)}")
    return [str(value) for value in table[name].to_pylist()]


def _bounds_of(names: Sequence[str]) -> tuple[str, str] | None:
    return next((pair for pair in _BOUNDS if set(pair) <= set(names)), None)


def _checked(spans: Spans) -> Spans:
    bad = np.flatnonzero((spans.starts < 0) | (spans.ends < spans.starts))
    if len(bad):
        at = int(bad[0])
        raise InputError(f"a span of text {spans.texts[at]!r} is from {spans.starts[at]} to {spans.ends[at]}")
    return spans
