"""All rows of an output as the estimate needs them: the metric's label, its confidence, groups, and strata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Meta

from ...errors import ColumnError, InputError
from ...metric.group_values import encode, spelled
from ...metric.inputs import ColumnNames
from ...scoring.output_columns import fine_codes, numbers, rough_codes
from ...scoring.output_files import data_files, open_parquet, run_columns
from ...scoring.places import Places
from ...scoring.plan import Plan
from ...scoring.rates_file import Count, labels_digest
from ...system.codec import Record
from ..gold import Scored, load, schema_names

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

PARTS, LABELS_OF_STRATUM = 4, 4
"""Strata of a label at most, and labels that a part of it should get on average."""
RATES = ("not_ok_rate", "omission_rate", "hallucination_rate")
LABELS = ("OK", "not_OK", "none")
SIDE = {"omission_rate": 1, "hallucination_rate": 2}
"""The bit of a FINE code that a rate counts."""


class Stratum(Record, frozen=True, kw_only=False):
    """Rows with the same label and a similar confidence of the metric.

    ``label``: ``OK``, ``not_OK``, or ``none`` for rows without a label (errors). ``low``, ``high``: confidence from
    ``low`` to below ``high``; ``None`` where a side is open.
    """

    label: Annotated[str, Meta(pattern="^(OK|not_OK|none)$")]
    low: float | None
    high: float | None

    @property
    def name(self) -> str:
        """In words, for the label file and for people."""
        bounds = f" from {self.low:.6g}" if self.low is not None else ""
        return self.label + bounds + (f" below {self.high:.6g}" if self.high is not None else "")


class Drawn(Stratum, frozen=True, kw_only=True):
    """How many rows of a stratum were drawn. ``probability`` of each row to be drawn."""

    rows: Count
    drawn: Count

    @classmethod
    def of(cls, stratum: Stratum, rows: int, drawn: int) -> Drawn:
        """From a stratum."""
        return cls(label=stratum.label, low=stratum.low, high=stratum.high, rows=rows, drawn=drawn)

    @property
    def probability(self) -> float:
        return self.drawn / self.rows


@dataclass(frozen=True)
class Population:
    """All rows. ``name``: the output as it was given. ``path``: where it is read. ``fine``: int8, -1 without a label,
    *Shape:* (rows,); ``has_sides``: whether the metric names sides. ``confidence``: float64, NaN without one.
    ``places``: the files and where their rows are. ``digest``: of row keys and
    labels."""

    name: str
    path: Path
    scored: Scored
    columns: ColumnNames
    files: list[Path]
    places: Places
    digest: str
    fine: npt.NDArray[np.int8]
    has_sides: bool
    confidence: Floats

    def __len__(self) -> int:
        return len(self.fine)

    @property
    def rates(self) -> tuple[str, ...]:
        """The rates that the metric has a label for."""
        if not self.has_sides:
            return RATES[:1]
        return RATES if self.scored.omissions_checked else (RATES[0], RATES[2])

    def predicted(self, rate: str) -> Bools:
        """What the metric says of every row. A row without a label counts as not_OK, and names no side."""
        if rate == RATES[0]:
            return np.asarray(self.fine != 0)
        return np.asarray((self.fine >= 0) & (self.fine & SIDE[rate] > 0))

    def groups(self, column: str) -> tuple[Ints, list[str]]:
        """Group of every row by a column, and the groups' names as all reports spell them.

        Raises:
            ColumnError: there is no such column, or it has lists or structs.
        """
        if not self.scored.has(column):
            raise ColumnError(f"no column {column!r} in {self.name}; the run may have dropped it (--keep)")
        codes, values = encode(self.scored.array(column), column)
        order = sorted(range(len(values)), key=lambda code: (values[code] is None, values[code] or ""))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return place[codes], [spelled(values[code]) for code in order]

    def keys(self, rows: Ints) -> list[str]:
        """``row_key`` of some rows in hexadecimal."""
        column = self.scored.table[self.columns.prefix + "row_key"].take(pa.array(rows))
        return [key.hex() for key in column.to_pylist()]


def read_population(path: Path, more: tuple[str, ...] = (), name: str = "") -> Population:
    """Read the labels of a run's output folder, or of a single scored file.

    Args:
        more: columns to read as well, as far as they exist.
        name: of the output, for people; by default the path.

    Raises:
        ScorerError: nothing to read, files scored differently, or no labels.
    """
    columns = run_columns(path)
    names, prefix = schema_names(path), columns.prefix
    output = [prefix + name for name in ("fine", "rough", "confidence", "error", "row_key")]
    named = {form: getattr(columns, form) or form for form in ("triples", "attributes", "facts", "mr")}
    scored = load(path, [*output, *named.values(), *(n for n in (columns.subject, columns.document) if n), *more])
    has_sides = prefix + "fine" in names
    if has_sides:
        fine = fine_codes(scored.array(prefix + "fine"), prefix + "fine")
    elif prefix + "rough" in names:
        fine = rough_codes(scored.array(prefix + "rough"), prefix + "rough")
    else:
        raise ColumnError(f"{path} has no column {prefix + 'fine'!r}: score it first with `scorer run`")
    if prefix + "row_key" not in names:
        raise ColumnError(f"{path} has no column {prefix + 'row_key'!r}, by which labels find their rows")
    if not len(fine):
        raise InputError(f"{path} has no rows")
    confidence = np.full(len(fine), np.nan)
    if prefix + "confidence" in names:
        confidence = numbers(scored.array(prefix + "confidence"), prefix + "confidence")
    files = data_files(path)
    lengths = []
    for file in files:
        with open_parquet(file) as parquet:
            lengths.append(parquet.metadata.num_rows)
    plan = Plan.load(path) if path.is_dir() else None
    relatives = [file.relative_to(path).as_posix() if path.is_dir() else file.name for file in files]
    places = Places.of(relatives, lengths, plan.inputs if plan is not None else {})
    return Population(
        name or str(path), path, scored, columns, files, places, labels_digest(path), fine, has_sides, confidence
    )


def make_strata(population: Population, labels: int) -> list[Stratum]:
    """Up to nine strata: OK and not_OK, each divided into up to four by confidence, and rows without a label.

    ``labels``: how many are planned; a part of a label gets at least :data:`LABELS_OF_STRATUM` of them in proportion.
    """
    found = []
    for label, rows in _by_label(population).items():
        confidence = population.confidence[rows]
        parts = min(PARTS, int(labels * len(rows) / max(len(population), 1)) // LABELS_OF_STRATUM)
        if len(rows) and label != "none" and parts > 1 and not np.isnan(confidence).any():
            cuts = np.unique(np.quantile(confidence, np.arange(1, parts) / parts))
            cuts = cuts[cuts > confidence.min()].tolist()
            found += [Stratum(label, low, high) for low, high in pairwise([None, *cuts, None])]
        elif len(rows):
            found.append(Stratum(label, None, None))
    return found


def classify(population: Population, strata: Sequence[Stratum]) -> Ints:
    """The stratum of every row; -1 for a row that is in none of them. *Shape:* (rows,), int64."""
    codes = np.full(len(population), -1, np.int64)
    rows_of = _by_label(population)
    for number, stratum in enumerate(strata):
        rows = rows_of[stratum.label]
        confidence = population.confidence[rows]
        inside = np.ones(len(rows), bool)
        if stratum.low is not None:
            inside &= confidence >= stratum.low
        if stratum.high is not None:
            inside &= confidence < stratum.high
        codes[rows[inside]] = number
    return codes


def _by_label(population: Population) -> dict[str, Ints]:
    fine = population.fine
    return {
        "OK": np.flatnonzero(fine == 0),
        "not_OK": np.flatnonzero(fine > 0),
        "none": np.flatnonzero(fine < 0),
    }
