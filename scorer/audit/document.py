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
    """Base of the structs of the document. Not frozen: corrected p-values and marks are filled in when all groups are
    known."""


class Flip(DocumentPart):
    """A row in both runs with different FINE labels."""

    row_key: str
    """Key of the row, in hexadecimal digits."""
    file: str
    """File of the output."""
    row: int
    """Row of the file, from 0."""
    before: str
    """FINE label in the baseline."""
    after: str
    """FINE label in this run."""


class Flips(DocumentPart):
    """Rows in both runs with different FINE labels."""

    count: int
    """Number of all such rows."""
    rows: list[Flip]
    """The first 1000 of them."""


class FactShown(DocumentPart):
    """A fact of a row."""

    subject: str
    """Subject."""
    predicate: str
    """Predicate."""
    object: str
    """Object."""
    sentence: str | None
    """Sentence by the template file; null where that file is not available."""
    entailment: float | None
    """P(text → fact); null where it is not known."""
    omitted: bool
    """Whether the text omits it."""
    contradicted: bool = False
    """Whether the text omits it and says it wrongly."""
    repeats: bool = False
    """Whether an earlier fact of the row has the same sentence, which says both."""


class WorstRow(DocumentPart):
    """A row of the sample."""

    kind: str
    """A FINE label that is not OK, ``empty_text``, or ``error:<kind>``."""
    id: str | None
    """Value of the column ``id``."""
    file: str
    """File of the output."""
    row: int
    """Row of the file, from 0."""
    row_key: str
    """Key of the row, in hexadecimal digits."""
    group: Group
    """Group of the row."""
    text: str | None
    """Text; null where there is none."""
    clipped: bool
    """Whether text or facts are cut."""
    facts: list[FactShown] | None
    """Facts; null where they were not kept or do not parse."""
    text_entailment: float | None
    """P(facts → text)."""
    confidence: float | None
    """Confidence of the label."""
    error: str | None
    """Error of the row."""
    note: str | None
    """Note on the row."""
    worst_sentence: str | None = None
    """Sentence that the facts support least and its P(entailment), of a row with a hallucination."""


Why = Literal["flipped", "rewritten", "new"]


class WorseRow(DocumentPart):
    """A row that got worse since the baseline."""

    why: Why
    """``flipped``: it is in both runs; ``rewritten``: it has a new text for facts with a text that was OK; ``new``: the
    baseline does not have its facts."""
    before: str | None
    """FINE label in the baseline."""
    text_before: str | None
    """Text in the baseline."""
    now: WorstRow
    """The row of this run."""


class Worse(DocumentPart):
    """Rows that got worse since the baseline."""

    flipped: int
    """Rows in both runs that are not OK any more."""
    rewritten: int
    """Rows with a new text that is not OK, for facts with a text that was."""
    better: int
    """Rows of both kinds that became OK."""
    added_failing: int
    """All added rows that are not OK."""
    rows: list[WorseRow]
    """Rows to read, at most a third of ``--worst`` of each kind."""


class Confidence(DocumentPart):
    """Confidences of labelled rows."""

    n: int
    """Number of labelled rows."""
    mean: float | None
    """Mean confidence; null without such rows."""


class Predicate(DocumentPart):
    """The facts of a predicate that were checked for omission, without those of blank texts."""

    predicate: str
    """Name of the predicate."""
    omission: Rate
    """Omission rate."""
    backoff: float | None
    """Share of its facts without a template over the whole run."""
    before: Rate | None
    """Omission rate in the same group of the baseline."""
    suspect: bool
    """Whether its template looks wrong."""
    sentence: str | None = None
    """Sentence of the template file that says it together with other predicates."""
    contradicted: Rate | None = None
    """Rate of facts that the text says wrongly; null where that is not known."""


class Test(DocumentPart):
    """Mantel and Haenszel's test of added and removed rows; of all rows, within the groups of the first ``--by``."""

    n_before: int
    """Rows of the baseline that were tested."""
    n_after: int
    """Rows of this run that were tested."""
    statistic: float
    """Excess of hits among the added rows, in standard deviations."""
    p: float
    """Two-sided mid-p."""
    q: float
    """``p`` corrected over all tests of the audit (Benjamini-Hochberg)."""
    significant: bool
    """Whether ``q`` is below 0.05."""


class RateChange(DocumentPart):
    """A rate of a group in both runs."""

    before: Rate
    """Rate in the baseline."""
    after: Rate
    """Rate in this run."""
    difference: float | None
    """The later rate minus the earlier one."""
    low: float | None
    """Lower limit of the 95 % interval of the difference."""
    high: float | None
    """Upper limit of the 95 % interval of the difference."""
    test: Test | None
    """Test of the difference; null if no row changed."""

    @property
    def significant(self) -> bool:
        """Whether the test says so."""
        return self.test is not None and self.test.significant


class AddedRate(DocumentPart):
    """A rate of the added rows of a group."""

    added: Rate
    """Rate of the added rows."""
    before: Rate
    """Rate of the removed rows or, where fewer than half as many were removed, of all rows of the baseline."""
    compared_with: Literal["removed", "baseline"]
    """The rows of ``before``."""
    low: float | None
    """Lower limit of the 95 % interval of the difference."""
    high: float | None
    """Upper limit of the 95 % interval of the difference."""
    p: float | None
    """One-sided p-value: the probability that chance alone makes the added rows this much worse; null where a side has
    no rows."""


class ConfidenceChange(DocumentPart):
    """Confidences of a group compared with the baseline."""

    before: Confidence
    """Confidences of the baseline."""
    psi: float | None
    """Population stability index over the deciles of the baseline's confidences."""


class AtMix(DocumentPart):
    """A figure of all rows in both runs, at the baseline's shares of the groups; added rates at the shares of the added
    rows."""

    now: float
    """Figure of this run."""
    before: float
    """Figure of the baseline."""
    low: float | None
    """Lower limit of the 95 % interval of the difference; null where there is none."""
    high: float | None
    """Upper limit of the 95 % interval of the difference."""

    @property
    def difference(self) -> float:
        """Now minus before."""
        return self.now - self.before


class GroupRows(DocumentPart):
    """Numbers of rows of a group."""

    group: Group
    """The group."""
    before: int
    """Rows in the baseline."""
    now: int
    """Rows in this run."""


class Mix(DocumentPart):
    """The groups that make up all rows."""

    grouping: list[str]
    """Columns of the first ``--by``."""
    distance: Share
    """Half the sum of the absolute differences of the shares of the groups, 0 to 1."""
    groups: list[GroupRows]
    """Groups by falling difference of rows, at most 50."""
    figures: dict[str, AtMix]
    """Rates, added rates, ``mean_confidence`` and ``backoff_rate`` over the groups that both runs have."""


class Change(DocumentPart):
    """A group compared with that of the baseline."""

    rows_before: int
    """Rows in the baseline; 0 for a new group."""
    added: int
    """Rows in this run only."""
    removed: int
    """Rows in the baseline only."""
    kept: int
    """Rows in both runs."""
    rewritten: int
    """Pairs of an added and a removed row with the same facts."""
    flips: int
    """Kept rows with different FINE labels."""
    backoff_before: Rate | None
    """Facts without a template in the baseline."""
    rates: dict[str, RateChange]
    """Changes of the rates, by name."""
    added_rates: dict[str, AddedRate]
    """Rates of the added rows, by name."""
    confidence: ConfidenceChange
    """Change of the confidences."""
    mix: Mix | None = None
    """Comparison at the same mix of groups, of all rows alone; null where they are not grouped."""


class GroupFigures(DocumentPart):
    """The figures of one group."""

    group: Group
    """The group."""
    grouping: list[str]
    """Columns that the group comes from; ``[]`` for all rows."""
    rows: int
    """Number of rows."""
    scored: int
    """Rows that this run scored."""
    reused: int
    """Rows with a reused label."""
    fine: dict[str, int]
    """Rows by FINE label."""
    rough: dict[str, int]
    """Rows by ROUGH label."""
    errors: dict[str, int]
    """Rows by kind of error."""
    notes: dict[str, int]
    """Rows by kind of note."""
    rates: dict[str, Rate]
    """Rates, by name."""
    design_effects: dict[str, float]
    """Variance of each rate, divided by that of as many independent rows."""
    backoff: Rate | None
    """Facts without a template; null where facts were not kept."""
    confidence: Confidence
    """Confidences of the labelled rows."""
    predicates: list[Predicate]
    """Predicates by falling omission rate, at most 200 (20 in a group)."""
    predicates_left_out: int
    """Number of further predicates."""
    change: Change | None = None
    """Comparison with the baseline."""
    new: dict[str, int] = field(default_factory=dict)
    """Rows that are neither reused nor in the baseline (``rows``), and how many of them count for each rate."""
    left_out: Rate | None = None
    """Rows that leave a fact out instead of saying it wrongly; null where that is not known."""


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
