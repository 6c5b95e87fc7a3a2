"""Read the errors in texts that annotators found.

Gold is a Parquet or CSV file of errors (``text_id``, ``char_start``, ``char_end``, ``category``), or of the labels of
each annotator (``item_id``, ``annotator``, ``label``), which are combined by majority. All offsets count code points of
the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import ColumnError, InputError
from .agreement import Votes, collect, majority
from .span_files import Spans, bounds_of, column_of, positions, read_file, refuse_bad_bounds, strings

NO_CATEGORY = "no_category"


@dataclass(frozen=True)
class Gold:
    """Gold errors. ``categories``: the category of each error. ``mentioned``: ids of all texts in the file.
    ``unlocated``: number of errors whose position is unknown. ``by_sentence``: number of errors of which only the
    sentence is known. ``columns``: by name and text, of columns that have one value per text.
    """

    errors: Spans
    categories: list[str]
    mentioned: set[str]
    unlocated: int = 0
    by_sentence: int = 0
    columns: dict[str, dict[str, str]] = field(default_factory=dict)

    def column(self, name: str, option: str) -> dict[str, str]:
        """The value of a column for each text that is mentioned.

        Raises:
            ColumnError: the file has no such column with one value for each text.
        """
        if name not in self.columns:
            known = ", ".join(self.columns) or "none"
            raise ColumnError(
                f"{option} {name!r}: the gold has no column with one such value for each text; it has {known}"
            )
        return self.columns[name]


@dataclass(frozen=True)
class Annotators:
    """Gold of several annotators. ``main``: of the first. ``others``: by name, of each of the others. ``name``: of the
    first, or the file's where it does not name annotators."""

    main: Gold
    others: dict[str, Gold]
    name: str


def read_gold(path: Path, contents: dict[str, str], id_column: str) -> Gold:
    """The gold errors, each with its position and category.

    A row whose ``is_gold_error`` is false, or that has neither category nor position, only mentions its text. An error
    without offsets is searched for in the text by its ``sentence`` and ``span``; if the span occurs twice in the
    sentence, its position is the whole sentence.

    Raises:
        InputError: the file cannot be read, or was made from other texts than these. ColumnError: columns missing.
    """
    table = read_file(path, id_column)
    if not {"item_id", "annotator", "label"} <= set(table.column_names):
        return _of_errors(path, table, contents, id_column)
    votes, table = read_votes(path, table)
    category = majority(votes)
    return _locate(table, [name is not None for name in category], category, contents, id_column, path)


def _of_errors(path: Path, table: pa.Table, contents: dict[str, str], id_column: str) -> Gold:
    """The errors of a table with a row for each of them, and for each text without any."""
    ids = strings(column_of(table, id_column, path))
    category = strings(table["category"]) if "category" in table.column_names else [None] * len(ids)
    category = [None if name is None else "_".join(name.replace("-", " ").split()).lower() for name in category]
    if "is_gold_error" in table.column_names:
        errors = [bool(value) for value in table["is_gold_error"].to_pylist()]
    else:
        placed = _placed(table)
        errors = [name is not None or there for name, there in zip(category, placed, strict=True)]
    return _locate(table, errors, category, contents, id_column, path)


def read_annotators(path: Path, contents: dict[str, str], id_column: str) -> Annotators:
    """The errors by annotator, where the file has a column ``annotator``; otherwise all as one annotator's.

    The annotator whose name comes first is the main one.

    Raises:
        InputError, ColumnError: as :func:`read_gold`.
    """
    table = read_file(path, id_column)
    if "annotator" not in table.column_names or "label" in table.column_names:
        return Annotators(read_gold(path, contents, id_column), {}, path.stem)
    names = strings(table["annotator"])
    parts = {}
    for name in sorted({name for name in names if name is not None}):
        part = table.filter(pa.array([one == name for one in names]))
        parts[name] = _of_errors(path, part, contents, id_column)
    if not parts:
        raise InputError(f"{path} has a column annotator without any value")
    main, *others = parts
    return Annotators(parts[main], {name: parts[name] for name in others}, main)


def read_votes(path: Path, table: pa.Table | None = None) -> tuple[Votes, pa.Table]:
    """The labels that all annotators gave, and the first row of each item.

    Raises:
        InputError: the file cannot be read. ColumnError: columns missing.
    """
    table = read_file(path, "text_id") if table is None else table
    items, labels = (strings(column_of(table, name, path)) for name in ("item_id", "label"))
    votes = collect([str(item) for item in items], [str(label) for label in labels])
    first: dict[str, int] = {}
    for row, item in enumerate(items):
        first.setdefault(str(item), row)
    return votes, table.take([first[item] for item in votes.items])


def _locate(
    table: pa.Table,
    errors: Sequence[bool],
    categories: Sequence[str | None],
    contents: dict[str, str],
    id_column: str,
    path: Path,
) -> Gold:
    ids = [str(name) for name in strings(column_of(table, id_column, path))]
    bounds = bounds_of(table.column_names)
    empty: list[Any] = [None] * len(ids)
    starts, ends = (positions(table[name]) for name in bounds) if bounds else (empty, empty)
    sentences, spans = (strings(table[name]) if name in table.column_names else empty for name in ("sentence", "span"))
    sentence_starts = positions(table["sent_char_start"]) if "sent_char_start" in table.column_names else empty
    found: list[tuple[str, int, int, str]] = []
    unlocated = by_sentence = compared = unlike = 0
    for row, name in enumerate(ids):
        if not errors[row]:
            continue
        text, span = contents.get(name), spans[row]
        start, end = starts[row], ends[row]
        if start is None or end is None:
            place = _find(text, sentences[row], span, sentence_starts[row])
            if place is None:
                unlocated += 1
                continue
            start, end, whole = place
            by_sentence += whole
        elif text is not None and span is not None:
            compared += 1
            unlike += "".join(text[start:end].split()) != "".join(span.split())
        found.append((name, start, end, categories[row] or NO_CATEGORY))
    if unlike > compared / 2:
        raise InputError(
            f"{path}: {unlike} of {compared} errors are not at their offsets in these texts; it was made from other "
            "texts (for example tokenised ones), or its offsets are not code points: pass the file for these texts"
        )
    made = Spans(
        [e[0] for e in found], np.array([e[1] for e in found], np.int64), np.array([e[2] for e in found], np.int64)
    )
    refuse_bad_bounds(made)
    return Gold(made, [e[3] for e in found], set(ids), unlocated, by_sentence, _by_text(table, ids))


def _by_text(table: pa.Table, ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Columns of single values that have one value per text, by name and text."""
    found = {}
    for name in table.column_names:
        if pa.types.is_nested(table.schema.field(name).type):
            continue
        values: dict[str, str] = {}
        column = map(str, table[name].to_pylist())
        if all(values.setdefault(text, value) == value for text, value in zip(ids, column, strict=True)):
            found[name] = values
    return found


def _find(
    text: str | None, sentence: str | None, span: str | None, sentence_start: int | None
) -> tuple[int, int, bool] | None:
    """The position of an error that has no offsets: (start, end, whether this is its whole sentence)."""
    if not sentence:
        return None
    at = text.find(sentence) if text is not None else -1
    if at < 0:
        if sentence_start is None:
            return None
        at = sentence_start
    if span and sentence.count(span) == 1:
        return at + sentence.index(span), at + sentence.index(span) + len(span), False
    return at, at + len(sentence), True


def _placed(table: pa.Table) -> list[bool]:
    bounds = bounds_of(table.column_names)
    return [value is not None for value in table[bounds[0]].to_pylist()] if bounds else [False] * len(table)
