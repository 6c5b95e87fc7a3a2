"""Human labels, joined to the rows of an output: from a label file, or from a column of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import ColumnError, InputError, UsageError
from ...metric.verdict import FINE
from ...scoring.output_columns import fine_codes, from_scores, numbers, rough_codes, rough_of
from ..inputs import find_inputs
from .estimates import Labelled
from .label_file import LabelledItem, SampleDesign, design_path, read_design, read_items, second_path
from .population import Drawn, Population, Stratum, classify

Codes = npt.NDArray[np.int8]


def from_files(population: Population, paths: Sequence[Path]) -> Labelled:
    """The labels of files that ``scorer sample`` wrote for this output: a first sample, and others drawn after it.

    Raises:
        InputError: a file cannot be read, has no labels, has none for a label of the metric, or names rows that the
            output does not have. UsageError: it was drawn from another output.
    """
    parts = [_one_file(population, path) for path in paths]
    rows = np.concatenate([part.rows for part in parts])
    if len(np.unique(rows)) < len(rows):
        raise InputError(f"--labels {paths[-1]} has rows of another --labels file; pass each file once")
    if any(part.strata_found != parts[0].strata_found for part in parts):
        raise InputError(f"--labels {paths[-1]} has other strata than {paths[0]}; draw it with --pilot {paths[0]}")
    fine, rough, second_fine, second_rough = (
        np.concatenate([part.codes[number] for part in parts]) for number in range(4)
    )
    strata = parts[0].strata_found
    codes = classify(population, strata)
    strata, codes = _collapsed(population, strata, codes, codes[rows], paths[0])
    counts = np.bincount(codes[codes >= 0], minlength=len(strata))
    labels = np.bincount(codes[rows], minlength=len(strata))
    design = [Drawn.of(one, int(n), int(k)) for one, n, k in zip(strata, counts, labels, strict=True)]
    skipped = sum(part.skipped for part in parts)
    twice = (second_rough >= 0).any()
    return Labelled(rows, codes[rows], fine, rough, design, True, skipped, None,
                    second_fine if twice else None, second_rough if twice else None)  # fmt: skip


@dataclass(frozen=True)
class _File:
    """``codes``: first FINE and ROUGH label, then those of the second person."""

    rows: npt.NDArray[np.int64]
    codes: tuple[Codes, Codes, Codes, Codes]
    strata_found: list[Stratum]
    skipped: int


def _one_file(population: Population, path: Path) -> _File:
    items, design = read_items(path), read_design(path)
    signature = population.scored.signature or ""
    if design.signature != signature:
        raise UsageError(
            f"--labels {path} was drawn from an output of another signature ({design.signature or 'none'}); this one "
            f"has {signature or 'none'}; draw a sample from this output, or use --calibration"
        )
    filled = [item for item in items if item.label is not None]
    if not filled:
        raise InputError(f"--labels {path} has no label yet; fill in the column label, or label in the HTML page")
    rows = _rows(population, filled, design, path)
    strata = [Stratum(one.label, one.low, one.high) for one in design.strata]
    counts = np.bincount(classify(population, strata) + 1, minlength=len(strata) + 1)
    if counts[0] or counts[1:].tolist() != [one.rows for one in design.strata]:
        raise InputError(
            f"--labels {path}: {population.name} has other rows in the strata of {design_path(path)}; give the output "
            "that the sample was drawn from"
        )
    again: dict[str, str] = {}
    if second_path(path).is_file():
        again = {item.item: item.label for item in read_items(second_path(path)) if item.label is not None}
    first = _codes([item.label for item in filled])
    second = _codes([again.get(item.item) for item in filled])
    return _File(rows, (*first, *second), strata, len(design.items) - len(filled))


def _codes(labels: Sequence[str | None]) -> tuple[Codes, Codes]:
    """FINE and ROUGH codes, int8, -1 for none."""
    fine = np.array([FINE.index(label) if label in FINE else -1 for label in labels], np.int8)
    rough = np.array([-1 if label is None else int(label != "OK") for label in labels], np.int8)
    return fine, rough


def _rows(
    population: Population, items: Sequence[LabelledItem], design: SampleDesign, path: Path
) -> npt.NDArray[np.int64]:
    """The rows that the ids stand for; their row keys must be those of the sample."""
    lines: dict[int, int] = {}
    for item in items:
        where = f"--labels {path}, line {item.line}"
        known = design.items.get(item.item)
        if known is None:
            raise InputError(f"{where}: item {item.item[:60]!r} is not in {design_path(path)}; do not change the ids")
        row = population.places.find(known.file, known.row)
        if row is None:
            raise InputError(
                f"{where}: {population.name} has no row {known.file}:{known.row}; give the output that the sample was "
                "drawn from"
            )
        if row in lines:
            raise InputError(f"{where}: item {item.item} is there twice (line {lines[row]}); keep one of them")
        lines[row] = item.line
    rows = np.array(list(lines), np.int64)
    for item, key in zip(items, population.keys(rows), strict=True):
        known = design.items[item.item]
        if known.row_key != key:
            raise InputError(
                f"--labels {path}, line {item.line}: row {known.file}:{known.row} of {population.name} is another row "
                f"now (row_key {key}, and {known.row_key} in the sample); draw a new sample from this output"
            )
    return rows


def _collapsed(
    population: Population,
    strata: Sequence[Stratum],
    codes: npt.NDArray[np.int64],
    labelled: npt.NDArray[np.int64],
    path: Path,
) -> tuple[list[Stratum], npt.NDArray[np.int64]]:
    """Strata without a label are joined to the one next to them, of the same label of the metric."""
    found: list[Stratum] = []
    number = np.arange(len(strata))
    for label in dict.fromkeys(one.label for one in strata):
        inside = [place for place, one in enumerate(strata) if one.label == label]
        has = [place for place in inside if (labelled == place).any()]
        if not has:
            raise InputError(
                f"--labels {path}: no row that the metric calls {label} has a label; its "
                f"{int(np.isin(codes, inside).sum()):,} rows would not be represented: label at least one of them"
            )
        for place in inside:
            number[place] = len(found) + max(0, sum(one <= place for one in has) - 1)
        for at, place in enumerate(has):
            low = strata[place].low if at else strata[inside[0]].low
            high = strata[has[at + 1]].low if at + 1 < len(has) else strata[inside[-1]].high
            found.append(Stratum(label, low, high))
    return found, np.where(codes >= 0, number[codes], -1)


def from_column(population: Population, name: str, threshold: float | None) -> Labelled:
    """The labels of a column of the data: FINE or ROUGH labels, or ratings that are OK from a threshold on.

    The labelled rows are taken for a random sample of all rows, or of all inputs: variances are between inputs.

    Raises:
        ColumnError: there is no such column, its values are not labels, or a threshold is missing or too much.
        InputError: all values are null.
    """
    if not population.scored.has(name):
        raise ColumnError(f"--label-column: no column {name!r} in {population.name}")
    column = population.scored.array(name)
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    is_text = is_text or pa.types.is_dictionary(column.type)
    if is_text == (threshold is not None):
        if is_text:
            raise ColumnError(f"--label-column {name!r} has labels, and --threshold applies to ratings; remove it")
        raise ColumnError(f"--label-column {name!r} has ratings; pass the lowest rating that means OK with --threshold")
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
    design = [Drawn.of(Stratum("all rows", None, None), len(population), len(rows))]
    inputs = find_inputs(population.scored, population.columns)
    codes = np.unique(inputs.codes[rows], return_inverse=True)[1].reshape(-1) if inputs.known else None
    return Labelled(rows, np.zeros(len(rows), np.int64), fine[rows], rough[rows], design, False, 0, codes)


def design_note(population: Population, labelled: Labelled) -> str:
    """What the labels of a column look like as a sample, and what the intervals take them for."""
    n = len(labelled.rows)
    if labelled.inputs is None:
        return f"the {n:,} labelled rows are taken to be a simple random sample of all {len(population):,} rows"
    many = int(labelled.inputs.max(initial=-1)) + 1
    whole = find_inputs(population.scored, population.columns).codes
    per_input = len(population) / len(np.unique(whole))
    drawn = f"the {n:,} labelled rows are of {many:,} inputs ({n / many:.1f} of {per_input:.1f} rows an input)"
    return f"{drawn}; variances are between inputs, which are taken to be a random sample"


def _is_rough(column: pa.Array) -> bool:
    """Whether a label is ``not_OK``, in the spelling of this program or of the papers' code."""
    return bool(pc.any(pc.is_in(column.cast(pa.string()), value_set=pa.array(["not_OK", "not OK"]))).as_py())
