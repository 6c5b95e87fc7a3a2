"""The audit as one document, which the console, ``--json``, JUnit, Markdown, Prometheus and the HTML report show.

Rates and probabilities are between 0 and 1; a figure without any row or fact is null. ``schema`` rises when a key is
removed or changes its meaning; keys may be added under the same number.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from ..scoring.output_columns import spelled
from ..stats.intervals import Rate as Rate
from ..stats.paired import PairedRate as PairedRate
from ..storage.receipts import RowCounts as RowCounts

Status = Literal["pass", "warn", "fail"]
Severity = Literal["fail", "warn", "info"]
Share = Annotated[float, Meta(ge=0, le=1)]
Group = dict[str, str | None]
"""Columns and their values as text, ``None`` for null; ``{}`` is all rows."""

RATES = ("not_ok_rate", "omission_rate", "contradicted_rate", "hallucination_rate", "error_rate", "empty_rate")
"""Rates over rows, in the order in which they are shown; keys of :class:`GroupFigures` ``rates`` and of changes."""
ADDED_RATES = tuple(f"added_{name}" for name in RATES if name != "empty_rate")
"""The same rates over the added rows alone; keys of :class:`Change` ``added_rates``."""
LEAST_ROWS_OF_INDEX = 500
"""The stability index of fewer rows cannot be judged: without any change it often exceeds 0.1 by chance."""


def describe(group: Group) -> str:
    """A group in words: ``system=tgen, domain=pubs``."""
    return ", ".join(f"{column}={spelled(value)}" for column, value in group.items()) or "all rows"


class DocumentPart(msgspec.Struct):
    """Base of the document's parts. Not frozen: corrected p-values and marks come when all groups are known."""


class Flip(DocumentPart):
    """A row in both runs whose FINE label differs."""

    row_key: str
    file: str
    row: int
    before: str
    after: str


class Flips(DocumentPart):
    """``count`` of all; ``rows``: the first 1000."""

    count: int
    rows: list[Flip]


class FactShown(DocumentPart):
    """A fact of a row. ``sentence``: as the template file has it, null where that file is not available. ``repeats``:
    an earlier fact of the row has the same sentence, which says both. ``contradicted``: of an omitted one, the text
    says it wrongly."""

    subject: str
    predicate: str
    object: str
    sentence: str | None
    entailment: float | None
    omitted: bool
    contradicted: bool = False
    repeats: bool = False


class WorstRow(DocumentPart):
    """A row of the sample. ``kind``: a FINE label that is not OK, ``empty_text``, or ``error:<kind>``. ``id``: of the
    column ``id``. ``clipped``: text or facts are cut. ``facts``: null where they were not kept or do not parse."""

    kind: str
    id: str | None
    file: str
    row: int
    row_key: str
    group: Group
    text: str | None
    clipped: bool
    facts: list[FactShown] | None
    text_entailment: float | None
    confidence: float | None
    error: str | None
    note: str | None
    worst_sentence: str | None = None
    """The sentence that the facts support least and its P(entailment), of a row with a hallucination."""


Why = Literal["flipped", "rewritten", "new"]


class WorseRow(DocumentPart):
    """A row that got worse: it is in both runs (``flipped``), has a new text for facts whose text was OK
    (``rewritten``), or facts that the baseline does not have (``new``). ``before``, ``text_before``: FINE label and
    text of the baseline. ``now``: the row of this run."""

    why: Why
    before: str | None
    text_before: str | None
    now: WorstRow


class Worse(DocumentPart):
    """Rows that got worse since the baseline, by kind as in :class:`WorseRow`; ``better``: those that went the other
    way. ``added_failing``: all added rows that are not OK. ``rows``: at most a third of ``--worst`` of each kind."""

    flipped: int
    rewritten: int
    better: int
    added_failing: int
    rows: list[WorseRow]


class Confidence(DocumentPart):
    """Confidences of ``n`` labelled rows."""

    n: int
    mean: float | None


class Predicate(DocumentPart):
    """A predicate's facts that were checked for omission, those of blank texts left out. ``contradicted``: those that
    the text says wrongly, null where that is not known. ``backoff``: share of its facts without a template over the
    whole run. ``before``: omission rate in the same group of the baseline. ``suspect``: its template looks wrong.
    ``sentence``: of the template file, that says it together with others."""

    predicate: str
    omission: Rate
    backoff: float | None
    before: Rate | None
    suspect: bool
    sentence: str | None = None
    contradicted: Rate | None = None


class Test(DocumentPart):
    """Mantel and Haenszel's test of added against removed rows; of all rows, within the groups of the first ``--by``.
    ``q``: p corrected over all tests of the audit
    (Benjamini-Hochberg). ``significant``: q below 0.05."""

    n_before: int
    n_after: int
    statistic: float
    p: float
    q: float
    significant: bool


class RateChange(DocumentPart):
    """A rate of a group in both runs, the difference with its 95 % interval, and its test: null if no row changed."""

    before: Rate
    after: Rate
    difference: float | None
    low: float | None
    high: float | None
    test: Test | None

    @property
    def significant(self) -> bool:
        """Whether the test says so."""
        return self.test is not None and self.test.significant


class AddedRate(DocumentPart):
    """A rate of the added rows of a group, and ``before`` of the removed ones or, where fewer than half as many were
    removed, of all of the baseline's. ``low``, ``high``: 95 % interval of the difference. ``p``: how often chance alone
    makes the added rows this much worse (one-sided); null where a side has no rows."""

    added: Rate
    before: Rate
    compared_with: Literal["removed", "baseline"]
    low: float | None
    high: float | None
    p: float | None


class ConfidenceChange(DocumentPart):
    """``psi``: population stability index over the deciles of the baseline's confidences. ``before``: these."""

    before: Confidence
    psi: float | None


class AtMix(DocumentPart):
    """A figure of all rows in both runs if its groups had the shares that they had in the baseline, and the 95 %
    interval of the difference; null where there is none. Of added rates: at the mix of the added rows."""

    now: float
    before: float
    low: float | None
    high: float | None

    @property
    def difference(self) -> float:
        """Now minus before."""
        return self.now - self.before


class GroupRows(DocumentPart):
    """The rows of a group in both runs."""

    group: Group
    before: int
    now: int


class Mix(DocumentPart):
    """The groups that all rows consist of. ``grouping``: the first of ``--by``. ``distance``: half the sum of the
    absolute differences of their shares of the rows, 0 to 1. ``groups``: by falling difference of rows, at most 50.
    ``figures``: rates, added rates, ``mean_confidence`` and ``backoff_rate`` over the groups that both runs have."""

    grouping: list[str]
    distance: Share
    groups: list[GroupRows]
    figures: dict[str, AtMix]


class Change(DocumentPart):
    """A group against that of the baseline; a new group has 0 ``rows_before``. ``rewritten``: pairs of an added and a
    removed row with the same facts. ``flips``: kept rows whose FINE label differs. ``mix``: of all rows alone, null
    where they are not grouped."""

    rows_before: int
    added: int
    removed: int
    kept: int
    rewritten: int
    flips: int
    backoff_before: Rate | None
    rates: dict[str, RateChange]
    added_rates: dict[str, AddedRate]
    confidence: ConfidenceChange
    mix: Mix | None = None


class GroupFigures(DocumentPart):
    """The rows of one group; ``new``: rows that are neither reused nor in the baseline (``rows``), and how many of
    these count for each rate. ``grouping``: the columns that made it, ``[]`` for all rows. ``fine``, ``rough``: rows
    by label; ``errors``, ``notes``: by kind. ``design_effects``: the variance of each rate over that of as many
    independent rows. ``left_out``: rows that leave a fact out instead of saying it wrongly, null where that is not
    known. ``backoff``: facts without a template, null where facts were not kept. ``predicates``: by falling omission
    rate, at most 200 (20 in a group); ``predicates_left_out`` counts the rest."""

    group: Group
    grouping: list[str]
    rows: int
    scored: int
    reused: int
    fine: dict[str, int]
    rough: dict[str, int]
    errors: dict[str, int]
    notes: dict[str, int]
    rates: dict[str, Rate]
    design_effects: dict[str, float]
    backoff: Rate | None
    confidence: Confidence
    predicates: list[Predicate]
    predicates_left_out: int
    change: Change | None = None
    new: dict[str, int] = field(default_factory=dict)
    left_out: Rate | None = None


class BaselineChanges(DocumentPart):
    """Rows as multisets of row keys. ``errors_appeared``, ``errors_gone``: kept rows that lost or gained a label."""

    added: int
    removed: int
    kept: int
    errors_appeared: int
    errors_gone: int
    flips: Flips


class Repeated(DocumentPart):
    """Rows that are there several times, by ``row_key`` and group of the first ``--by``. ``rows``: those beyond the
    first of each key. ``keys``: keys with several rows. ``most``: rows of one key."""

    rows: int
    keys: int
    most: int


class Baseline(DocumentPart):
    """The output that was compared with. ``differs``: parts of the signature, as ``key: before → after``."""

    out: str
    partial: str | None
    finished: str
    signature: str
    same_signature: bool
    differs: list[str]
    rows: int


class Finding(DocumentPart, kw_only=True):
    """Something to look at, the most severe first. ``kind``: ``changed`` (a group got worse) ``improved`` ``gate`` (one
    that no other finding explains) ``signature`` ``flips`` ``rows`` (a group is new, has no rows, or far more or
    fewer) ``repeated`` (rows that are there several times) ``mix`` (groups of other sizes move the rates)
    ``template`` ``trend`` (a rate of the history) ``backoff`` ``tokens`` ``language`` (texts that
    the model does not read) ``drift`` ``bundle`` ``errors``. ``predicate``: of the facts that account for a change.
    ``gates``: messages of gates that say so too. ``evidence``: figures. ``rows``: some that got worse."""

    kind: str
    severity: Severity
    message: str
    group: Group = field(default_factory=dict)
    predicate: str | None = None
    gates: list[str] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    rows: list[WorseRow] = field(default_factory=list)


class Gate(DocumentPart):
    """A gate on one group. ``value``: what the thresholds apply to, the metric or its change where there is
    ``against``; of ``rows`` the relative change, in either direction. ``now``, ``before``: the metric in both runs.
    ``p``, ``fail_p``: for added rows, the chance of such an increase without a change, and below which chance the
    gate fails. ``alert_direction``: the side of a threshold that warns or fails. ``missing``: its result when there
    is no figure. ``since``: of the history, the first of the last nights at which it would have failed. ``reason``:
    why it is silent or has no figure."""

    metric: str
    group: Group
    status: Literal["pass", "warn", "fail", "silent"]
    value: float | None
    now: float | None
    before: float | None
    low: float | None
    high: float | None
    warn: float | None
    fail: float | None
    fail_p: float | None
    p: float | None
    alert_direction: Literal["above", "below"]
    against: Literal["baseline", "removed", "history"] | None
    rows: int
    min_rows: int
    missing: Literal["fail", "pass"]
    reason: str | None
    message: str
    since: str | None = None


class Checked(DocumentPart):
    """Whether anything was checked. ``nothing_checked``: no gate was given, or all were ``silent``. ``required``: that
    is a failure (``--require-gates``)."""

    gates: int
    silent: int
    nothing_checked: bool
    required: bool


class GroupComparison(DocumentPart):
    """Two groups of the first grouping, over ``pairs`` of their texts for the same input."""

    first: Group
    second: Group
    pairs: int
    rates: dict[str, PairedRate]


class HistoryRow(DocumentPart):
    """A row of the history: one run and group. ``night``: when the run finished, UTC, ISO 8601. ``new``: as of
    :class:`GroupFigures`; empty where an earlier version wrote it."""

    night: str
    signature: str
    status: Status
    group: Group
    rows: Annotated[int, Meta(ge=0)]
    mean_confidence: Share | None
    rates: dict[str, Share | None]
    new: dict[str, Annotated[int, Meta(ge=0)]] = field(default_factory=dict)


class BundleShown(DocumentPart):
    """The model, as the signature has it. ``sha``: 12 digits."""

    name: str
    sha: str


class TemplatesShown(DocumentPart):
    """The template file. ``sha``: 12 digits, or ``none``. ``file``: where it was found with these digits, or null."""

    sha: str
    file: str | None


class OptionsShown(DocumentPart):
    """``by``: the groupings."""

    by: list[list[str]]


class Document(DocumentPart, kw_only=True):
    """One audit. ``groups``: all rows first, then each grouping's groups, by falling not_OK rate. ``history``: oldest
    first. ``notes``: figures that are missing, and why. ``partial``: what of the inputs was not scored. ``checked``:
    whether ``status`` means anything. ``comparison``: null where no input is shared, or no two groups are the largest.
    ``answer``: without gates, who is better or what got worse, in a few words."""

    schema: int = 1
    out: str
    audited: str
    finished: str
    partial: str | None
    status: Status
    headline: str
    checked: Checked
    signature: str
    bundle: BundleShown
    templates: TemplatesShown
    device: str
    versions: dict[str, str]
    options: OptionsShown
    rows: RowCounts
    baseline: Baseline | None
    baseline_changes: BaselineChanges | None
    findings: list[Finding]
    gates: list[Gate]
    groups: list[GroupFigures]
    worst: list[WorstRow]
    worse: Worse | None
    comparison: GroupComparison | None
    repeated: Repeated | None = None
    answer: str | None = None
    history: list[HistoryRow] = field(default_factory=list)
    notes: list[str]
