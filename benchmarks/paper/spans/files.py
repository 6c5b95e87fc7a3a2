"""Files of spans, in Parquet: the flags of a metric, and the errors that annotators found.

Flags are the ``sentences`` of a run, or a file of spans (``text_id``, ``start``, ``end``; with ``flagged`` also those
that are not flagged). Gold is a file of errors (``text_id``, ``char_start``, ``char_end``, ``category``). Offsets count
code points.
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

from benchmarks.paper.spans.agreement import Votes
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

    def __post_init__(self) -> None:
        bad = np.flatnonzero((self.starts < 0) | (self.ends < self.starts)).tolist()
        if bad:
            place = f"{self.starts[bad[0]]} to {self.ends[bad[0]]}"
            raise InputError(f"a span of text {self.texts[bad[0]]!r} is from {place}; it cannot end before its start")

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, chosen: npt.NDArray[np.bool_]) -> Spans:
        """Some of the spans."""
        kept = [text for text, there in zip(self.texts, chosen.tolist(), strict=True) if there]
        return Spans(kept, self.starts[chosen], self.ends[chosen])


@dataclass(frozen=True)
class Flags:
    """The spans that a metric checked and flagged.

    ``units``: the spans that it checked; ``flagged``: bool, *Shape:* (units,). ``complete``: whether ``units`` has all
    checked spans, not only the flagged ones. ``known``: ids of the checked texts, ``None`` if only flags are known.
    ``systems``: system by id, where available. ``unjudged``: number of texts without a result.
    """

    units: Spans
    flagged: npt.NDArray[np.bool_]
    complete: bool
    known: list[str] | None
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
    unlocated: int
    columns: dict[str, dict[str, str]]

    def column(self, name: str) -> dict[str, str]:
        """The value of a column for each text that is mentioned.

        Raises:
            ColumnError: the file has no such column with one value for each text.
        """
        if name not in self.columns:
            known = ", ".join(self.columns) or "none"
            raise ColumnError(f"{name!r}: the gold has no column with one such value for each text; it has {known}")
        return self.columns[name]


def read_flags(path: Path, below: float) -> Flags:
    """The flags of a run's output with ``--sentences``, or of a file of spans.

    Args:
        below: a sentence is flagged if its P(entailment) is below this value, or unknown.

    Raises:
        InputError: nothing to read. ColumnError: columns missing, a text twice.
    """
    output = Output.open(path)
    if "sentences" not in output.names:
        return _given_flags(path, pq.read_table(path))
    scored = load(output, ["text_id", "system", "sentences"])
    ids = _strings(scored.table, "text_id", path)
    if len(set(ids)) < len(ids):
        raise ColumnError(f"{path}: a text_id occurs twice; give each text its own, since spans refer to it")
    column = scored.array("sentences")
    owners = np.repeat(np.arange(len(ids)), pc.fill_null(pc.list_value_length(column), 0).to_numpy())
    flat = pc.list_flatten(column)
    entailment = pc.struct_field(flat, "entailment").to_numpy(zero_copy_only=False).astype(np.float64)
    starts, ends = (np.array(pc.struct_field(flat, name).to_pylist(), np.int64) for name in ("start", "end"))
    judged = column.is_valid().to_pylist()
    known = [name for name, there in zip(ids, judged, strict=True) if there]
    units, systems = Spans([ids[owner] for owner in owners.tolist()], starts, ends), _systems(scored.table, ids)
    return Flags(units, ~(entailment >= below), True, known, systems, judged.count(False), scored.signature)


def read_annotators(path: Path) -> dict[str, Gold]:
    """The errors by annotator, the main one first: the annotator whose name comes first, or the file's stem where it
    has no column ``annotator``. A row without a position only mentions its text, and so does one whose
    ``is_gold_error`` is false.

    Raises:
        InputError: the file cannot be read. ColumnError: columns missing.
    """
    table = _read(path)
    if "annotator" not in table.column_names:
        return {path.stem: _gold(path, table)}
    names = table["annotator"].cast(pa.string())
    found = sorted({name for name in names.to_pylist() if name is not None})
    return {name: _gold(path, table.filter(pc.equal(names, name))) for name in found}


def read_votes(path: Path) -> tuple[Votes, list[str] | None]:
    """The labels that all annotators gave (``item_id``, ``label``), and the text of each item where the file has it."""
    table = _read(path)
    items = _strings(table, "item_id", path)
    votes = Votes.collect(items, _strings(table, "label", path))
    if "text_id" not in table.column_names:
        return votes, None
    of_item = dict(zip(items, _strings(table, "text_id", path), strict=True))
    return votes, [of_item[item] for item in votes.items]


def _given_flags(path: Path, table: pa.Table) -> Flags:
    start, end = _bounds(path, table)
    table = table.filter(pc.and_(pc.is_valid(table[start]), pc.is_valid(table[end])))
    ids, complete = _strings(table, "text_id", path), "flagged" in table.column_names
    flagged = np.array(table["flagged"].to_pylist() if complete else [True] * len(ids), bool)
    spans = Spans(ids, *(np.array(table[name].to_pylist(), np.int64) for name in (start, end)))
    return Flags(spans, flagged, complete, None, _systems(table, ids))


def _gold(path: Path, table: pa.Table) -> Gold:
    names, ids = table.column_names, _strings(table, "text_id", path)
    starts, ends = (table[name].to_pylist() for name in _bounds(path, table))
    given = table["category"].to_pylist() if "category" in names else [None] * len(ids)
    categories = [None if name is None else "_".join(name.replace("-", " ").split()).lower() for name in given]
    errors = [name is not None or start is not None for name, start in zip(categories, starts, strict=True)]
    if "is_gold_error" in names:
        errors = table["is_gold_error"].to_pylist()
    found = [row for row in range(len(ids)) if errors[row] and starts[row] is not None]
    places = (np.array([bound[row] for row in found], np.int64) for bound in (starts, ends))
    columns = {}
    for name in names:
        values: dict[str, str] = {}
        pairs = zip(ids, map(str, table[name].to_pylist()), strict=True)
        if all(values.setdefault(text, value) == value for text, value in pairs):
            columns[name] = values
    spans = Spans([ids[row] for row in found], *places)
    unlocated = sum(map(bool, errors)) - len(found)
    return Gold(spans, [categories[row] or NO_CATEGORY for row in found], set(ids), unlocated, columns)


def _systems(table: pa.Table, ids: Sequence[str]) -> dict[str, str]:
    values = table["system"].to_pylist() if "system" in table.column_names else []
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


def _bounds(path: Path, table: pa.Table) -> tuple[str, str]:
    found = next((pair for pair in _BOUNDS if set(pair) <= set(table.column_names)), None)
    if found is None:
        raise ColumnError(
            f"{path} has neither sentences (score with --sentences) nor spans (columns char_start and char_end, or "
            f"start and end); its columns are {', '.join(table.column_names)}"
        )
    return found
