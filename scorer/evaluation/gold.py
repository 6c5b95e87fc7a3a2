"""A scored output, the gold labels that it is compared with, and which of its rows share an input."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import ColumnError, UsageError
from ..metric import ColumnNames, Sides
from ..metric.column_paths import holders_of, one_array
from ..metric.columns import MARKS
from ..metric.facts import FactTable
from ..metric.inputs import find_facts, read_facts, restore_marks
from ..metric.joining import OptionalFacts
from ..scoring.output_columns import fine_codes, from_scores, group_codes, numbers, rough_codes, rough_of
from ..scoring.outputs import Output
from .label_figures import Codes, Floats, Indices

_WITHOUT_RESTAURANT = "_ignore_restaurant"
SLOT_COUNTS = ("added", "missing", "valerr")
"""Columns of a file of the E2E slot script."""


@dataclass(frozen=True)
class Scored:
    """Columns of a scored folder or file."""

    table: pa.Table
    """The columns."""
    signature: str | None
    """Signature of the run; ``None`` if the files have none."""
    finished: bool
    """Whether the run is complete; always true for a single file."""
    sides: Sides = "both"
    """Sides that the run checked."""
    optional: OptionalFacts = frozenset()
    """Facts that texts were allowed to omit."""

    def has(self, name: str) -> bool:
        """Whether the table has this column, or a field of a struct of this name with dots."""
        return bool(holders_of(self.table.schema, name))

    def array(self, name: str) -> pa.Array:
        return one_array(self.table, name)

    def groups(self, name: str) -> tuple[Indices, list[Any]]:
        """See :func:`.group_codes`."""
        return group_codes(self.array(name), name)


def load(output: Output, columns: Iterable[str] | None = None) -> Scored:
    """Read the columns that exist among some names, or all columns.

    Raises:
        InputError: a file cannot be read, files of different columns.
    """
    needed = None
    if columns is not None:
        holders = [holder for name in dict.fromkeys(columns) for holder in holders_of(output.schema, name) or [name]]
        needed = list(dict.fromkeys(holders))
    return Scored(
        output.table(needed),
        output.signature or None,
        output.coverage.is_complete,
        output.sides,
        output.optional,
    )


@dataclass(frozen=True)
class Inputs:
    """The input of each row. Where no column identifies the inputs, each row counts as its own."""

    codes: Indices
    """Number of the input of each row. int64, *Shape:* (rows,)."""
    lengths: Indices | None
    """Number of facts of each row, int64, *Shape:* (rows,); ``None`` without a column of facts."""
    known: bool = True
    """Whether a column identifies the inputs; without one there are no intervals."""


def fact_columns(names: ColumnNames) -> tuple[str, ...]:
    """The columns that may have the facts, by their usual names and by the names of the run, and their marks."""
    named_columns = (names.triples, names.attributes, names.subject, names.facts, names.mr, names.document)
    return (
        "triples",
        "facts",
        "mr",
        "attributes",
        names.output(MARKS.name),
        *(name for name in named_columns if name),
    )


def find_inputs(scored: Scored, names: ColumnNames, column: str | None = None) -> Inputs:
    """Inputs by their facts in any order, or by a column. A row with facts that do not parse is its own input.

    Raises:
        ColumnError: ``column`` does not exist, or has lists or structs.
    """
    if column is not None and not scored.has(column):
        raise ColumnError(f"--input-column {column!r}: no such column; name a column of the scored files")
    parsed = _facts(scored, names)
    if column is not None:
        codes = scored.groups(column)[0]
    else:
        codes = _by_facts(parsed) if parsed is not None else np.arange(len(scored.table))
    return Inputs(codes, parsed.lengths if parsed is not None else None, column is not None or parsed is not None)


def _facts(scored: Scored, names: ColumnNames) -> FactTable | None:
    """The facts of all rows, from the column that a run would read."""
    try:
        facts, form = find_facts(scored.table.schema, names)
    except ColumnError:
        return None
    return read_facts(restore_marks(scored.table, names), facts, form, names.subject)


def _by_facts(parsed: FactTable) -> Indices:
    code_of: dict[bytes, int] = {}
    codes = np.empty(len(parsed.lengths), np.int64)
    for row, (start, end) in enumerate(pairwise(parsed.offsets.tolist())):
        key = np.sort(parsed.ids[start:end]).tobytes() or b"row %d" % row
        codes[row] = code_of.setdefault(key, len(code_of))
    return codes


def finite(column: pa.Array, name: str) -> Floats:
    """A column of :func:`numbers`; NaN where a value is missing or not finite. float64, *Shape:* (rows,)."""
    values = numbers(column, name)
    return np.where(np.isfinite(values), values, np.nan)


def human_ratings(scored: Scored, column: str) -> Floats:
    """A column of ratings; NaN for none. float64, *Shape:* (rows,).

    Raises:
        ColumnError: missing or not numeric.
    """
    if not scored.has(column):
        raise ColumnError(f"no column {column!r} of human ratings; name an existing column with --human")
    return finite(scored.array(column), column)


def predicted(scored: Scored, names: ColumnNames) -> tuple[Codes | None, Codes]:
    """The metric's FINE labels, ``None`` if it has only ROUGH ones, and its ROUGH labels, -1 for none.

    Raises:
        ColumnError: there is neither column, or it has unknown labels.
    """
    fine, rough = names.output("fine"), names.output("rough")
    if scored.has(fine):
        codes = fine_codes(scored.array(fine), fine)
        return codes, rough_of(codes)
    if scored.has(rough):
        return None, rough_codes(scored.array(rough), rough)
    raise ColumnError(f"no column {fine!r}; score the data first, or pass the --prefix with which it was scored")


@dataclass(frozen=True)
class GoldLabels:
    """Gold labels of rows. int8, *Shape:* (rows,), -1 for no label."""

    fine: Codes | None = None
    """FINE labels."""
    rough: Codes | None = None
    """ROUGH labels."""
    fine_name: str | None = None
    """Column of the FINE labels."""
    rough_name: str | None = None
    """Column that the ROUGH labels come from."""


def find_gold(
    scored: Scored, ratings: Sequence[str], gold_fine: str | None, gold_rough: str | None, threshold: float | None
) -> GoldLabels:
    """Gold labels; with a ``threshold``, of the first column of ``ratings``.

    A run in which ``eatType=restaurant`` is optional is compared with gold in which it is optional too.

    Raises:
        ColumnError: a named column does not exist, has unknown labels or none at all, there is no gold of any kind, or
            none with that optional fact, although the gold follows from counts of slots.
        UsageError: a threshold that is not a number.
    """
    if threshold is not None:
        if not math.isfinite(threshold):
            raise UsageError(f"--threshold {threshold:g} is not a rating; write a finite number")
        if not ratings:
            raise ColumnError("--threshold needs a column of human scores; name it with --human")
        column = ratings[0]
        return GoldLabels(
            rough=from_scores(human_ratings(scored, column), threshold), rough_name=f"{column} >= {threshold:g}"
        )
    names = {"gold_fine": gold_fine, "gold_rough": gold_rough}
    if not gold_fine and not gold_rough:
        optional = ("eatType", "restaurant") in scored.optional
        suffix = _WITHOUT_RESTAURANT if optional and scored.has("gold_fine" + _WITHOUT_RESTAURANT) else ""
        if optional and not suffix and scored.has("gold_fine") and all(map(scored.has, SLOT_COUNTS)):
            raise ColumnError(
                "eatType=restaurant is optional in the run and not in gold_fine, which follows from counts of slots; "
                "`scorer convert e2e` writes gold_fine_ignore_restaurant for a file with the column diff; --gold-fine "
                "gold_fine compares regardless"
            )
        names = {name: name + suffix if scored.has(name + suffix) else None for name in names}
    codes_of: dict[str, Codes | None] = {}
    for kind, name in names.items():
        codes_of[kind] = None
        if not name:
            continue
        if not scored.has(name):
            raise ColumnError(f"no gold column {name!r}; name an existing column")
        codes = codes_of[kind] = (fine_codes if kind == "gold_fine" else rough_codes)(scored.array(name), name)
        if not (codes >= 0).any() and (name in (gold_fine, gold_rough) or not ratings):
            raise ColumnError(f"the gold column {name!r} has no label in any row; name another column")
    (fine, rough), (fine_name, rough_name) = codes_of.values(), names.values()
    if rough is None and fine is not None:
        rough, rough_name = rough_of(fine), fine_name
    if rough is None and not ratings:
        raise ColumnError(
            "nothing to compare with: no gold_fine, gold_rough or human_* column; name one with --gold-fine, "
            "--gold-rough or --human"
        )
    return GoldLabels(fine, rough, fine_name, rough_name)
