"""The JSON of ``scorer templates extract`` and ``scorer templates check``, typed. The console shows the same objects.

Shares are from 0 to 1. A template belongs to a ``predicate``, and in a per-object map to an ``object``.
"""

from __future__ import annotations

from typing import NotRequired, TypedDict


class ReferenceCounts(TypedDict):
    """References read and used, the share used, and those that gave no template by reason."""

    all: int
    used: int
    share: float | None
    rejected: dict[str, int]


class PredicateCoverage(TypedDict):
    """Predicates of the references: ``usable`` ones, those with a template (``covered``), and those that are both.

    ``share``: of the usable predicates that have a template. ``missing``: the predicates without one.
    """

    all: int
    usable: int
    covered: int
    usable_covered: int
    share: float | None
    missing: list[str]


class ExtractionCounts(TypedDict):
    """What the references gave; ``candidates``: number of distinct templates."""

    references: ReferenceCounts
    predicates: PredicateCoverage
    candidates: int


class ExtractionReport(ExtractionCounts):
    """What was written and how it was chosen. ``pairs``: pairs of texts that the model compared."""

    schema: int
    out: str
    candidates_file: str
    choose: str
    seed: int
    pairs: int


class CandidateLine(TypedDict):
    """One candidate in the file of candidates. ``chosen`` stands only with the chosen one."""

    template: str
    count: int
    object: NotRequired[str]
    score: NotRequired[float]
    chosen: NotRequired[bool]


TemplateContent = dict[str, int | str | dict[str, str]]
"""The content of a template file: predicate → template, or → object → template; ``$version``."""


RowsBlock = TypedDict("RowsBlock", {"in": int, "errors": dict[str, int]})
"""Rows read (``in``), and those with an error by kind."""


class FactsBlock(TypedDict):
    """Facts with a template and by backoff; ``share``: of those by backoff."""

    all: int
    template: int
    backoff: int
    share: float


class MissingLine(TypedDict):
    """A predicate, or an object of a per-object map, that the template file lacks."""

    predicate: str
    object: NotRequired[str]
    facts: int
    share: float


class WithoutSlotLine(TypedDict):
    """A template that does not name a part of its triple; ``slots``: those it lacks."""

    predicate: str
    template: str
    slots: list[str]
    object: NotRequired[str]
    facts: int
    share: float


class CoverageBlocks(TypedDict):
    """What the template file covers. ``unused``: predicates of the file that do not occur in the data."""

    rows: RowsBlock
    facts: FactsBlock
    missing: list[MissingLine]
    missing_values: list[MissingLine]
    without_slot: list[WithoutSlotLine]
    unused: list[str]


class TemplatesBlock(TypedDict):
    """The template file: its digest, and number of predicates."""

    sha256: str
    predicates: int


class CheckReport(CoverageBlocks):
    """What ``scorer templates check`` found."""

    schema: int
    templates: TemplatesBlock
