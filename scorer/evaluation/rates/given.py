"""Labels of people, joined to the rows of an output: from a label file, or from a column of the data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import ColumnError, InputError, UsageError
from ...metric.verdict import FINE
from ...scoring.output_columns import fine_codes, from_scores, numbers, rough_codes, rough_of
from .estimates import Labelled
from .label_file import LabelledItem, read_items
from .population import Population, Stratum, classify
from .sampling import Drawn

Codes = npt.NDArray[np.int8]


def from_file(population: Population, path: Path) -> Labelled:
    """The labels of a file that ``scorer sample`` wrote for this output.

    Raises:
        InputError: the file cannot be read, has no labels, has none in a stratum, or names rows that the output does
            not have. UsageError: it was drawn from another output.
    """
    items = read_items(path)
    signature = population.scored.signature or ""
    other = next((item for item in items if item.signature and item.signature != signature), None)
    if other is not None:
        raise UsageError(
            f"--labels {path} was drawn from an output of another signature ({other.signature}); this one has "
            f"{signature or 'none'}; draw a sample from this output, or use --calibration"
        )
    filled = [item for item in items if item.label is not None]
    if not filled:
        raise InputError(f"--labels {path} has no label yet; fill in the column label, or label in the HTML page")
    rows = _rows(population, filled, path)
    strata = list(dict.fromkeys(item.stratum for item in items))
    design = _design(population, strata, items, filled, path)
    fine = np.array([FINE.index(item.label) if item.label in FINE else -1 for item in filled], np.int8)
    rough = np.array([int(item.label != "OK") for item in filled], np.int8)
    codes = np.array([strata.index(item.stratum) for item in filled], np.int64)
    return Labelled(rows, codes, fine, rough, design, True, len(items) - len(filled))


def _rows(population: Population, items: Sequence[LabelledItem], path: Path) -> npt.NDArray[np.int64]:
    numbers_found: dict[int, int] = {}
    for item in items:
        row = population.find(item.file, item.row)
        if row is None:
            raise InputError(
                f"--labels {path}, line {item.line}: {population.name} has no row {item.file}:{item.row}; give the "
                "output that the sample was drawn from"
            )
        if row in numbers_found:
            raise InputError(
                f"--labels {path}, line {item.line}: row {item.file}:{item.row} is there twice (line "
                f"{numbers_found[row]}); keep one of them"
            )
        numbers_found[row] = item.line
    rows = np.array(list(numbers_found), np.int64)
    for item, key in zip(items, population.keys(rows), strict=True):
        if item.row_key and item.row_key != key:
            raise InputError(
                f"--labels {path}, line {item.line}: row {item.file}:{item.row} of {population.name} is another row "
                f"now (row_key {key}, and {item.row_key} in the file); draw a new sample from this output"
            )
    return rows


def _design(
    population: Population,
    strata: list[Stratum],
    items: Sequence[LabelledItem],
    filled: Sequence[LabelledItem],
    path: Path,
) -> list[Drawn]:
    """The strata of the file, held against the output; their labelled rows count as drawn."""
    counts = np.bincount(classify(population, strata) + 1, minlength=len(strata) + 1)
    if counts[0]:
        raise InputError(
            f"--labels {path}: {counts[0]:,} rows of {population.name} are in no stratum of the file; give the output "
            "that the sample was drawn from, and keep all lines of the file"
        )
    design = []
    for number, stratum in enumerate(strata):
        said = next(item.rows for item in items if item.stratum == stratum)
        if said != counts[number + 1]:
            raise InputError(
                f"--labels {path}: stratum {stratum.name!r} has {counts[number + 1]:,} rows in {population.name}, and "
                f"{said:,} in the file; give the output that the sample was drawn from"
            )
        drawn = sum(item.stratum == stratum for item in filled)
        if not drawn:
            raise InputError(
                f"--labels {path}: no row of stratum {stratum.name!r} has a label; its {said:,} rows would not be "
                "represented: label at least one of them"
            )
        design.append(Drawn(stratum, said, drawn))
    return design


def from_column(population: Population, name: str, threshold: float | None) -> Labelled:
    """The labels of a column of the data: FINE or ROUGH labels, or ratings that are OK from a threshold on.

    The labelled rows are taken for a simple random sample of all rows.

    Raises:
        ColumnError: there is no such column, its values are no labels, or a threshold is missing or too much.
        InputError: all values are null.
    """
    if not population.scored.has(name):
        raise ColumnError(f"--label-column: no column {name!r} in {population.name}")
    column = population.scored.array(name)
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    is_text = is_text or pa.types.is_dictionary(column.type)
    if is_text == (threshold is not None):
        if is_text:
            raise ColumnError(f"--label-column {name!r} holds labels, and --threshold applies to ratings: remove it")
        raise ColumnError(f"--label-column {name!r} holds ratings; say from which rating on a row is OK: --threshold")
    fine = np.full(len(population), -1, np.int8)
    if threshold is not None:
        rough = from_scores(numbers(column, name), threshold)
    elif _is_rough(column):
        rough = rough_codes(column, name)
    else:
        fine = fine_codes(column, name)
        rough = rough_of(fine)
    rows = np.flatnonzero(rough >= 0)
    if not len(rows):
        raise InputError(f"--label-column {name!r} has no value in any row of {population.name}")
    design = [Drawn(Stratum("all rows"), len(population), len(rows))]
    return Labelled(rows, np.zeros(len(rows), np.int64), fine[rows], rough[rows], design, False)


def _is_rough(column: pa.Array) -> bool:
    """Whether a label is ``not_OK``, in the spelling of this program or of the papers' code."""
    return bool(pc.any(pc.is_in(column.cast(pa.string()), value_set=pa.array(["not_OK", "not OK"]))).as_py())
