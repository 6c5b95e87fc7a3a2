"""Rows that the document of an audit shows one by one: flips, the worst rows, what got worse."""

from __future__ import annotations

from typing import Literal

import msgspec


class Part(msgspec.Struct, kw_only=True):
    """Base of the document's parts. Not frozen: corrected p-values and marks come when all groups are known."""


Group = dict[str, str | None]
"""Columns and their values as text, ``None`` for null; ``{}`` is all rows."""


class Flip(Part):
    """A row in both runs whose FINE label differs. ``file``, ``row``: of this run. ``difference``: largest change of a
    stored entailment probability; ``beyond_bound``: more than the measured bounds explain, null where not known."""

    row_key: str
    file: str
    row: int
    file_before: str
    row_before: int
    before: str
    after: str
    difference: float | None
    beyond_bound: bool | None


class Flips(Part):
    """``count`` of all, ``beyond_bound`` of them (null where no bound is known), ``allowed``: what the bounds explain.

    ``rows``: at most 1000, those beyond the bound first.
    """

    count: int
    beyond_bound: int | None
    allowed: float | None
    rows: list[Flip]


class FactShown(Part):
    """A fact of a row. ``sentence``: as the template file has it, null where that file is not available."""

    subject: str
    predicate: str
    object: str
    sentence: str | None
    entailment: float | None
    omitted: bool


class WorstRow(Part):
    """A row of the sample: per kind, those of least confidence. ``kind``: a FINE label that is not OK, ``empty_text``,
    or ``error:<kind>``. ``text`` and facts are data, cut after some thousand characters (``clipped``); ``id``: of the
    column ``id``, null without one. ``facts`` is null where the facts were not kept or do not parse."""

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


Why = Literal["flipped", "rewritten", "new"]


class WorseRow(Part):
    """A row that got worse. ``why``: ``flipped`` (in both runs, OK before), ``rewritten`` (a new text for facts whose
    text was OK) or ``new`` (a new text for facts that the baseline does not have). ``before``, ``text_before``: FINE
    label and text of the baseline, null where it has none. ``now``: the row of this run."""

    why: Why
    before: str | None
    text_before: str | None
    now: WorstRow


class Worse(Part):
    """What got worse since the baseline. ``flipped``: kept rows that were OK and are not; ``rewritten``: facts whose
    text was OK and is replaced by one that is not; ``better``: rows of both kinds that went the other way.
    ``added_failing``: added rows that are not OK, whatever was there before. ``rows``: some to read, at most a third of
    ``--worst`` of each kind."""

    flipped: int
    rewritten: int
    better: int
    added_failing: int
    rows: list[WorseRow]
