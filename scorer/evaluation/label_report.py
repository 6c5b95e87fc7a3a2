"""The JSON of ``scorer evaluate``, typed. The console shows the same object.

Figures are from 0 to 1 and correlations from -1 to 1, ``None`` where undefined: without a denominator, with fewer than
three values, with a constant column, or without the extra ``stats``. Intervals are 95 % over inputs. Keys that are
``NotRequired`` are absent where the run or its gold has nothing to say about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypedDict, cast

Ends = list[float] | None
"""Both ends of an interval."""

Kind = Literal["pearson", "spearman", "kendall"]
Level = Literal["sentence", "system"]
Confusion = dict[str, dict[str, int]]
"""Gold label → predicted label (or ``error``) → number of rows."""


class SideBlock(TypedDict):
    """Figures of omissions or of hallucinations, regardless of the other."""

    n: int
    precision: float | None
    recall: float | None
    f1: float | None
    interval: NotRequired[dict[str, Ends]]


class RoughBlock(SideBlock):
    """Figures of OK and not_OK; not_OK is the positive class."""

    accuracy: float | None
    confusion: NotRequired[Confusion | None]


class FineBlock(TypedDict):
    """Figures of the four labels."""

    n: int
    accuracy: float | None
    macro_f1: float | None
    interval: NotRequired[dict[str, Ends]]
    confusion: NotRequired[Confusion | None]


class Blocks(TypedDict):
    """One way of predicting labels, on some rows with gold; all but ``rough`` without figures where the gold has only
    ROUGH labels."""

    rough: RoughBlock
    fine: FineBlock
    omission: SideBlock
    hallucination: SideBlock
    inputs: NotRequired[int]


class GroupLine(Blocks):
    """The figures of the rows with one value of a column."""

    value: Any


class Ranking(TypedDict):
    """How well a low confidence finds the rows that are not OK, over all thresholds."""

    n: int
    roc_auc: float | None
    interval: NotRequired[Ends]


class LabelExtras(TypedDict, total=False):
    """What gold labels allow besides the figures of all rows."""

    strawmen: dict[str, Blocks]
    by: dict[str, list[GroupLine]]
    without_suspect: Blocks
    ranking: Ranking


class Correlation(TypedDict):
    """The coefficients of two columns over the ``n`` rows that have both."""

    n: int
    pearson: float | None
    spearman: float | None
    kendall: float | None
    interval: NotRequired[dict[Kind, Ends]]


class CorrelationLine(Correlation):
    """A metric with a rating. All names are ``None`` in the line that stands for no correlation."""

    metric: str | None
    human: str | None
    level: Level | None


class Difference(TypedDict):
    """Two correlations with the same rating: first minus second, its 95 % interval and two-sided bootstrap p-value over
    ``n`` rows. ``p``: corrected for the number of metrics that the first one is compared with (Holm); ``higher``:
    ``None`` if it is not below .05."""

    difference: float
    low: float
    high: float
    p: float
    higher: Literal["first", "second"] | None
    n: int


class Differences(TypedDict):
    """The comparison by each coefficient."""

    pearson: Difference | None
    spearman: Difference | None
    kendall: Difference | None


class ComparisonLine(Differences):
    """Two metrics compared by their correlations with one rating."""

    first: str
    second: str
    human: str
    level: Level


class RatingBlocks(TypedDict):
    """What human ratings allow. ``correlation``: of the first metric with the first rating."""

    correlation: CorrelationLine
    correlations: list[CorrelationLine]
    comparisons: list[ComparisonLine]


class Estimate(TypedDict):
    """Spearman's ρ over ``n`` rows, inputs or systems, with its interval."""

    n: int
    value: float | None
    interval: Ends


class MetricLine(TypedDict):
    """A metric with a rating. ``references``, ``trained``: whether it sees references, and was trained on this domain;
    ``None`` where that is not known. ``pooled``: over rows with a text; ``pooled_with_empty``: over all,
    without an interval. ``within``: mean over inputs, of rows with a text. ``system``: of the means of all rows."""

    metric: str
    human: str
    references: bool | None
    trained: bool | None
    pooled: Estimate
    pooled_with_empty: Estimate
    within: Estimate
    system: Estimate


class CalibrationLine(TypedDict):
    """Rows with a confidence from ``low`` to ``high``. ``confidence``: their mean. ``ok``: the share that is OK by the
    gold, with its ``interval``. ``calibrated``: mean of their calibrated confidences, the share that was predicted."""

    low: float
    high: float
    n: int
    confidence: float
    ok: float
    calibrated: float | None
    interval: Ends


class CalibrationBlock(TypedDict):
    """``error``: expected calibration error; ``brier``: mean squared error; both of the confidence as the probability
    of OK. ``calibrated_error``, ``calibrated_brier``: after cross-fitted isotonic regression; ``None`` with too few
    inputs. ``interval``: of each of the four."""

    n: int
    inputs: int
    error: float | None
    brier: float | None
    calibrated_error: float | None
    calibrated_brier: float | None
    interval: dict[str, Ends]
    lines: list[CalibrationLine]


class RowErrors(TypedDict):
    """Rows with errors, and their number by kind."""

    n: int
    kinds: dict[str, int]


class GoldColumns(TypedDict):
    """The columns that gold labels come from."""

    fine: str | None
    rough: str | None


class Rows(TypedDict):
    """What is evaluated. ``unlabelled``: rows that a baseline of scores gave no label."""

    schema: int
    path: str
    signature: str | None
    finished: bool
    rows: int
    errors: RowErrors
    unlabelled: int
    excluded_systems: list[str]
    gold: GoldColumns
    resamples: int


class LabelReport(Rows, Blocks, LabelExtras, RatingBlocks):
    """The whole report. ``metrics``: with ``--metric all``; ``calibration``: with ``--calibration``."""

    metrics: NotRequired[list[MetricLine]]
    calibration: NotRequired[CalibrationBlock]


def figure(blocks: Blocks, block: str, name: str) -> float | None:
    """The figure that is printed as ``block.name``: ``rough.accuracy``."""
    value: float | None = cast(Mapping[str, Any], blocks)[block][name]
    return value


def ends(blocks: Blocks, block: str, name: str) -> Ends:
    """Its interval, ``None`` if there is none."""
    found: Ends = cast(Mapping[str, Any], blocks)[block].get("interval", {}).get(name)
    return found
