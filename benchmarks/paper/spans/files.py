"""The sentences of a run, and Parquet files of errors that annotators found (``text_id``, ``char_start``,
``char_end``, ``category``). Offsets count code points."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    def of(self, texts: Container[str]) -> Spans:
        """The spans of some texts."""
        return self.take(np.array([text in texts for text in self.texts], bool))


@dataclass(frozen=True)
class Flags:
    """The sentences that a run checked, and those that it flagged: bool, *Shape:* (sentences,).

    ``known``: ids of the checked texts. ``unjudged``: number of texts without a result.
    """

    sentences: Spans
    flagged: npt.NDArray[np.bool_]
    known: list[str]
    unjudged: int
    signature: str | None


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
    """The flags of a run's output with ``--sentences``.

    Args:
        below: a sentence is flagged if its P(entailment) is below this value, or unknown.

    Raises:
        InputError: nothing to read. ColumnError: columns missing, a text twice.
    """
    output = Output.open(path)
    if "sentences" not in output.names:
        raise ColumnError(f"{path} has no sentences; score with --sentences")
    scored = load(output, ["text_id", "sentences"])
    ids = _strings(scored.table, "text_id", path)
    if len(set(ids)) < len(ids):
        raise ColumnError(f"{path}: a text_id occurs twice; give each text its own, since spans refer to it")
    column = scored.array("sentences")
    owners = np.repeat(np.arange(len(ids)), pc.fill_null(pc.list_value_length(column), 0).to_numpy())
    flat = pc.list_flatten(column)
    entailment = pc.struct_field(flat, "entailment").to_numpy(zero_copy_only=False).astype(np.float64)
    starts, ends = (np.array(pc.struct_field(flat, name).to_pylist(), np.int64) for name in ("start", "end"))
    judged = column.is_valid().to_pylist()
    return Flags(
        Spans([ids[owner] for owner in owners.tolist()], starts, ends),
        ~(entailment >= below),
        [name for name, there in zip(ids, judged, strict=True) if there],
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
    if "annotator" not in table.column_names:
        return {path.stem: _gold(path, table)}
    names = table["annotator"].cast(pa.string())
    found = sorted({name for name in names.to_pylist() if name is not None})
    return {name: _gold(path, table.filter(pc.equal(names, name))) for name in found}


def read_votes(path: Path) -> Votes:
    """The labels that all annotators gave (``item_id``, ``label``)."""
    table = _read(path)
    return Votes.collect(_strings(table, "item_id", path), _strings(table, "label", path))


def _gold(path: Path, table: pa.Table) -> Gold:
    names, ids = table.column_names, _strings(table, "text_id", path)
    starts, ends = (_column(table, name, path) for name in ("char_start", "char_end"))
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


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as e:
        raise InputError(f"{path} cannot be read as Parquet: {e}") from e


def _column(table: pa.Table, name: str, path: Path) -> list[Any]:
    if name not in table.column_names:
        raise ColumnError(f"{path} has no column {name!r}; its columns are {', '.join(table.column_names)}")
    return list(table[name].to_pylist())


def _strings(table: pa.Table, name: str, path: Path) -> list[str]:
    return [str(value) for value in _column(table, name, path)]
