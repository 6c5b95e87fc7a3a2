"""The report of ``scorer rate``, from labels of the output, from an earlier run's, or from both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ...scoring.rates_file import RatesFile
from ...system.codec import Record
from ...system.formats import RATES_SCHEMA
from .calibration import Holding, Transfer, saved, saved_transfer, shift, still_holds, transfer
from .estimates import Agreement, Difference, TrueRate, agreement, differences, true_rates
from .given import design_note, from_column, from_files
from .population import read_population

SHIFTED = 0.1
"""Population stability index from which a distribution counts as shifted; the usual limit for *look into it*."""


class RateReport(Record, frozen=True, kw_only=True):
    """``rates``: from labels of this output. ``differences``: of groups. ``agreement``: of rows labelled twice.
    ``transferred``: from labels of the earlier output ``calibration``, where there are no others. ``holding``: whether
    the labels agree with those of it. ``shift``: how far the confidences moved since then (population stability
    index), ``None`` where that is not known."""

    schema: int = RATES_SCHEMA
    path: str
    signature: str | None
    finished: bool
    rows: int
    by: str | None
    rates: list[TrueRate]
    differences: list[Difference]
    agreement: list[Agreement]
    transferred: list[Transfer]
    holding: list[Holding]
    shift: float | None
    calibration: str | None

    @property
    def shifted(self) -> bool:
        """Whether the confidences moved so far that the calibration is in doubt."""
        return self.shift is not None and self.shift >= SHIFTED


def rate(
    path: Path,
    name: str,
    labels: Sequence[Path],
    column: str | None,
    threshold: float | None,
    by: str | None,
    earlier: RatesFile | None,
    note: Callable[[str], None],
) -> tuple[RateReport, RatesFile]:
    """The true rates of an output, and the file of them for later runs and for the audit.

    Args:
        path: output of a run, or one scored file. name: of it, for people.
        labels, column: files of labels, or the column of the output that has them; neither with ``earlier`` alone.
        threshold: lowest rating of the column that means OK.
        note: called with each remark for the reader of the figures.

    Raises:
        ScorerError: the output, the labels or the earlier rates cannot be used.
    """
    population = read_population(path, tuple(one for one in (by, column) if one), name)
    if not population.scored.finished:
        note(f"{name} is not finished: the rates cover only the shards that are done")
    labelled = None
    if labels:
        labelled = from_files(population, labels)
        if labelled.skipped:
            note(f"{labelled.skipped:,} rows of the sample have no label; they count as missing at random")
    elif column is not None:
        labelled = from_column(population, column, threshold)
        note(design_note(population, labelled))
    rates = true_rates(population, labelled, by) if labelled is not None else []
    transferred = transfer(population, earlier) if labelled is None and earlier is not None else []
    report = RateReport(
        path=population.name,
        signature=population.scored.signature,
        finished=population.scored.finished,
        rows=len(population),
        by=by,
        rates=rates,
        differences=differences(rates),
        agreement=agreement(population, labelled) if labelled is not None else [],
        transferred=transferred,
        holding=still_holds(rates, earlier) if earlier is not None else [],
        shift=shift(population, earlier) if earlier is not None else None,
        calibration=earlier.out if earlier is not None else None,
    )
    if labelled is None:
        return report, saved_transfer(population, transferred)
    return report, saved(population, rates, labelled, by)
