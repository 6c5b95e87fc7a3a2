"""The audit as one document, which the console, ``--json``, JUnit, Markdown, Prometheus and the HTML report show.

Rates and probabilities are between 0 and 1; a figure without any row or fact is null. ``schema`` rises when a key is
removed or changes its meaning; keys may be added under the same number.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from ..stats.intervals import Rate as Rate
from ..stats.paired import PairedRate
from ..storage.receipts import RowCounts as RowCounts
from .document_figures import ADDED_RATES as ADDED_RATES
from .document_figures import LEAST_ROWS_OF_INDEX as LEAST_ROWS_OF_INDEX
from .document_figures import RATES as RATES
from .document_figures import AddedRate as AddedRate
from .document_figures import AtMix as AtMix
from .document_figures import Change as Change
from .document_figures import Confidence as Confidence
from .document_figures import ConfidenceChange as ConfidenceChange
from .document_figures import DocumentPart, Share
from .document_figures import Group as Group
from .document_figures import GroupFigures as GroupFigures
from .document_figures import GroupRows as GroupRows
from .document_figures import Mix as Mix
from .document_figures import Predicate as Predicate
from .document_figures import RateChange as RateChange
from .document_figures import Test as Test
from .document_figures import describe as describe
from .document_rows import FactShown as FactShown
from .document_rows import Flip as Flip
from .document_rows import Flips as Flips
from .document_rows import Why as Why
from .document_rows import Worse as Worse
from .document_rows import WorseRow as WorseRow
from .document_rows import WorstRow as WorstRow

Status = Literal["pass", "warn", "fail"]
Severity = Literal["fail", "warn", "info"]


class BaselineChanges(DocumentPart):
    """Rows compared with the baseline, as multisets of row keys."""

    added: int
    """Rows in this run only."""
    removed: int
    """Rows in the baseline only."""
    kept: int
    """Rows in both runs."""
    errors_appeared: int
    """Kept rows that lost their label."""
    errors_gone: int
    """Kept rows that gained a label."""
    flips: Flips
    """Kept rows with different FINE labels."""


class Repeated(DocumentPart):
    """Rows that occur several times, by ``row_key`` and group of the first ``--by``."""

    rows: int
    """Rows beyond the first of each key."""
    keys: int
    """Keys with several rows."""
    most: int
    """Most rows of one key."""


class Baseline(DocumentPart):
    """The output that was compared with."""

    out: str
    """Name of the output."""
    partial: str | None
    """Inputs that were not scored; null if all were."""
    finished: str
    """End of the run, UTC, ISO 8601."""
    signature: str
    """Signature of the run."""
    same_signature: bool
    """Whether both runs have the same signature."""
    differs: list[str]
    """Differing parts of the signature, as ``key: before → after``."""
    rows: int
    """Number of rows."""


class Finding(DocumentPart, kw_only=True):
    """Something to look at."""

    kind: str
    """``changed`` (a group got worse), ``improved``, ``gate`` (one that no other finding explains), ``signature``,
    ``flips``, ``rows`` (a group is new, has no rows, or far more or fewer), ``repeated`` (rows that occur several
    times), ``mix`` (groups of other sizes move the rates), ``template``, ``trend`` (a rate of the history),
    ``backoff``, ``tokens``, ``language``, ``drift``, ``bundle``, ``errors``."""
    severity: Severity
    """Severity; findings are sorted by it."""
    message: str
    """The finding as a sentence."""
    group: Group = field(default_factory=dict)
    """The group that it is about."""
    predicate: str | None = None
    """Predicate of the facts that account for a change."""
    gates: list[str] = field(default_factory=list)
    """Messages of gates that report the same."""
    evidence: list[str] = field(default_factory=list)
    """Figures."""
    rows: list[WorseRow] = field(default_factory=list)
    """Some rows that got worse."""


class Gate(DocumentPart):
    """A gate on one group."""

    metric: str
    """Name of the metric."""
    group: Group
    """The group."""
    status: Literal["pass", "warn", "fail", "silent"]
    """Result of the gate."""
    value: float | None
    """Value that the thresholds apply to: the metric, or its change where there is ``against``; of ``rows`` the
    relative change, in either direction."""
    now: float | None
    """The metric in this run."""
    before: float | None
    """The metric in the baseline, or before the last nights."""
    low: float | None
    """Lower limit of the 95 % interval of ``value``."""
    high: float | None
    """Upper limit of the 95 % interval of ``value``."""
    warn: float | None
    """Threshold of a warning."""
    fail: float | None
    """Threshold of a failure."""
    fail_p: float | None
    """Probability below which the gate fails."""
    p: float | None
    """Of added rows and of the history, the probability of such an increase without a change."""
    alert_direction: Literal["above", "below"]
    """Side of a threshold that warns or fails."""
    against: Literal["baseline", "removed", "history"] | None
    """Rows that are compared with."""
    rows: int
    """Rows that the metric is about."""
    min_rows: int
    """Rows below which the gate is silent."""
    missing: Literal["fail", "pass"]
    """Result of the gate without a figure."""
    reason: str | None
    """Reason that it is silent or has no figure."""
    message: str
    """The result as a sentence."""
    since: str | None = None
    """Of the history, the first of the last nights at which it would have failed."""


class Checked(DocumentPart):
    """Whether anything was checked."""

    gates: int
    """Number of gates."""
    silent: int
    """Number of silent gates."""
    nothing_checked: bool
    """Whether no gate was given, or all were silent."""
    required: bool
    """Whether this is a failure (``--require-gates``)."""


class GroupComparison(DocumentPart):
    """Two groups of the first grouping, compared by their texts for the same input."""

    first: Group
    """The first group."""
    second: Group
    """The second group."""
    pairs: int
    """Pairs of texts for the same input."""
    rates: dict[str, PairedRate]
    """Rates of both groups, by name."""


class HistoryRow(DocumentPart):
    """A row of the history: one run and group."""

    night: str
    """End of the run, UTC, ISO 8601."""
    signature: str
    """Signature of the run."""
    status: Status
    """Result of the audit."""
    group: Group
    """The group."""
    rows: Annotated[int, Meta(ge=0)]
    """Number of rows."""
    mean_confidence: Share | None
    """Mean confidence of the labelled rows."""
    rates: dict[str, Share | None]
    """Rates, by name."""
    new: dict[str, Annotated[int, Meta(ge=0)]] = field(default_factory=dict)
    """As of :class:`GroupFigures`; empty where an earlier version wrote the row."""


class BundleShown(DocumentPart):
    """The model of the signature."""

    name: str
    """Name of the model."""
    sha: str
    """First 12 digits of its digest."""


class TemplatesShown(DocumentPart):
    """The template file of the signature."""

    sha: str
    """First 12 digits of its digest, or ``none``."""
    file: str | None
    """Path of the file with this digest, or null."""


class OptionsShown(DocumentPart):
    """Options of the audit."""

    by: list[list[str]]
    """Columns of each grouping."""


class Document(DocumentPart, kw_only=True):
    """One audit."""

    schema: int = 1
    """Version of the format."""
    out: str
    """Name of the output."""
    audited: str
    """Time of the audit, UTC, ISO 8601."""
    finished: str
    """End of the run, UTC, ISO 8601."""
    partial: str | None
    """Inputs that were not scored; null if all were."""
    status: Status
    """Result of the audit."""
    headline: str
    """Result in one to three sentences."""
    checked: Checked
    """Whether ``status`` means anything."""
    signature: str
    """Signature of the run."""
    bundle: BundleShown
    """The model."""
    templates: TemplatesShown
    """The template file."""
    device: str
    """Device of the run."""
    versions: dict[str, str]
    """Versions of packages."""
    options: OptionsShown
    """Options of the audit."""
    rows: RowCounts
    """Numbers of rows."""
    baseline: Baseline | None
    """The output that was compared with."""
    baseline_changes: BaselineChanges | None
    """Rows compared with the baseline."""
    findings: list[Finding]
    """Findings, the most severe first."""
    gates: list[Gate]
    """Results of the gates."""
    groups: list[GroupFigures]
    """All rows first, then the groups of each grouping by falling not_OK rate."""
    worst: list[WorstRow]
    """Sample of rows that are not OK."""
    worse: Worse | None
    """Rows that got worse since the baseline."""
    comparison: GroupComparison | None
    """Comparison of two groups; null where they share no input, or no two groups are the largest."""
    repeated: Repeated | None = None
    """Rows that occur several times."""
    answer: str | None = None
    """Without gates, the better group or the group that got worse, in a few words."""
    history: list[HistoryRow] = field(default_factory=list)
    """Rows of the history, oldest first."""
    notes: list[str]
    """Missing figures with the reasons, and remarks on the data."""
