"""The JSON of ``scorer evaluate --spans``, typed. The console shows the same object.

Shares are from 0 to 1, ``None`` without a denominator. Intervals are 95 % over texts, ``None`` where not computed.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from .label_report import Ends


class CategoryRecall(TypedDict):
    """Errors of one category (``n``), those of them that are flagged (``found``), and their share."""

    n: int
    found: int
    recall: float | None
    interval: NotRequired[Ends]


class FigureIntervals(TypedDict):
    """Intervals of three figures."""

    precision: Ends
    recall: Ends
    f1: Ends


class FlagFigures(TypedDict):
    """``flags``, and those that meet an error (``right``); F1 of the two shares."""

    flags: int
    right: int
    recall: float | None
    precision: float | None
    f1: float | None
    interval: FigureIntervals


class SpanFigures(FlagFigures):
    """``errors`` and ``found`` of them."""

    errors: int
    found: int


class UnitFigures(FlagFigures):
    """All units (sentences, or texts), and those with an error."""

    units: int
    with_error: int


class SpanBlocks(TypedDict):
    """The figures of one way of flagging. ``units``: ``None`` where only flagged spans are known."""

    all: SpanFigures
    without_not_checkable: SpanFigures
    categories: dict[str, CategoryRecall]
    units: UnitFigures | None


class GroupLine(SpanBlocks):
    """The figures of the texts with one value of a ``--by`` column, and those of flagging every unit of them."""

    value: str
    texts: int
    flag_everything: SpanFigures | None


class RivalLine(TypedDict):
    """One way of flagging the texts that it and the gold know. ``kind``: ``output``, ``everything`` (every sentence),
    ``annotator`` (of GOLD), or ``rival`` (of a file of rivals).
    ``spans``: flags as they are; ``sentences``: a sentence of the output is flagged where a flag meets it, ``None``
    where the sentences are not known; ``by_text``: a text is flagged where it has a flag."""

    name: str
    kind: str
    texts: int
    spans: SpanFigures
    sentences: UnitFigures | None
    by_text: UnitFigures


class PublishedFigures(TypedDict):
    """Figures that a paper prints about other texts."""

    source: str
    metric: str
    recall: list[float]
    precision: list[float]
    fleiss_kappa: float


class Kappa(TypedDict):
    """Fleiss' κ, its number of items, and its interval over texts; ``None`` with fewer than two annotators or one
    label."""

    kappa: float | None
    n: int
    interval: Ends


class Kappas(TypedDict):
    """κ over the items that all annotators gave a category, over all items, and the published one."""

    typed_by_all: Kappa
    all_items: Kappa
    published: float


class Majority(TypedDict):
    """Items that an annotator marked, those that the majority calls errors, and these by category."""

    items: int
    errors: int
    categories: dict[str, int]


class AnnotatorAgreement(TypedDict):
    """How far annotators agree."""

    annotators: int
    fleiss_kappa: Kappas


class AgreementBlock(AnnotatorAgreement):
    """How far annotators agree, and what their majority says."""

    majority: Majority


class SpanReport(SpanBlocks):
    """The whole report. ``by``: the system, where it is known, and the columns of ``--by``. ``about``: what the gold
    counts and the metric cannot find."""

    schema: int
    path: str
    gold: str
    signature: str | None
    finished: bool
    flagged_below: float | None
    texts: int
    not_in_gold: int
    unjudged: int
    unlocated: int
    located_by_sentence: int
    resamples: int
    by: dict[str, list[GroupLine]]
    rivals: list[RivalLine]
    published: PublishedFigures
    about: str
    agreement: AgreementBlock | None
