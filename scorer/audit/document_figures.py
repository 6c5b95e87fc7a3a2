"""The figures of groups in the document of an audit, and how they changed since the baseline."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from ..scoring.output_columns import spelled
from ..stats.intervals import Rate

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
    """A group compared with the same group of the baseline."""

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
    """Variance of each rate, divided by the variance with as many independent rows."""
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
    not_ok_by_note: dict[str, int] = field(default_factory=dict)
    """Rows with a kind of note that are not OK or have an error."""
