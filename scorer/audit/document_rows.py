"""Single rows in the document of an audit: rows with another label, the worst rows, and rows that got worse."""

from __future__ import annotations

from typing import Literal

from .document_figures import DocumentPart, Group


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
    """Kind of the row:

    - ``flipped``: it is in both runs
    - ``rewritten``: it has a new text for facts with a text that was OK
    - ``new``: the baseline does not have its facts
    """
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
