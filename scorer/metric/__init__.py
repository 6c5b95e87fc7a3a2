"""The metric of Dušek & Kasner (INLG 2020), without I/O and models: which checks are asked, and what the results mean.

A window of rows goes from ``inputs`` (which column holds what) by ``formats`` and ``attributes`` to ``facts``, by
``templates`` to ``checks`` and ``sentences``, and with their probabilities by ``verdict`` to ``columns``. Here are the
choices of a user; importing them costs no import of pyarrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..system.arguments import CheckedFields

REVISION = 4
"""Part of the signature; increased only if a label can change for the same model, templates and options."""

PLAIN_REVISION = 1
"""Of :mod:`.plain`; part of the signature of scores that were read so, increased with any change of its rules."""

FINE = ("OK", "omission", "hallucination", "omission+hallucination")

Protocol = Literal["paper", "nlgi_eval", "factspotter"]
"""The metric as in the paper, as its released code computes it, or FactSpotter (:mod:`.factspotter`), which looks
triples up in the text: no templates, no hallucination side."""
Sides = Literal["both", "hallucination", "omission"]
Reading = Literal["verbatim", "plain"]
"""Facts and texts as they are written, or in one notation (:mod:`.plain`)."""
MissingTemplate = Literal["backoff", "error"]
"""Treatment of a triple without a template: the general one, or an error that ends the run."""


@dataclass(frozen=True)
class Options:
    """The options that decide which checks are asked; all are part of the signature.

    ``optional``: (predicate, object) pairs that a text may leave out. ``sentences``: the sentence splitter, if the
    sentences of a text are checked too. ``worst_sentence``: whether the worst of several sentences counts as much as
    the whole text.
    """

    protocol: Protocol = "paper"
    sides: Sides = "both"
    optional: frozenset[tuple[str, str]] = frozenset()
    missing_template: MissingTemplate = "backoff"
    sentences: str | None = None
    reading: Reading = "verbatim"
    worst_sentence: bool = False


@dataclass(frozen=True)
class ColumnNames(CheckedFields):
    """The names of input and output columns.

    ``triples``, ``attributes``, ``facts``, ``mr``: the column of the facts, as triples, as attributes of a subject, as
    sentences or as E2E meaning representations; where none is given, a column of one of these names is looked for.
    ``attributes`` may also name several columns with commas between them, each an attribute. ``subject``: the column
    that names the subject of the attributes, or, where there is no such column, their key that does; ``name`` by
    default. ``document``: the column of source texts whose sentences are the facts. ``keep``: input columns to pass
    through (all by default). ``prefix``: of every output column. ``sentences``, ``details``: whether the output has
    these columns.
    """

    text: str = "text"
    triples: str | None = None
    facts: str | None = None
    mr: str | None = None
    keep: tuple[str, ...] | None = None
    prefix: str = ""
    details: bool = False
    sentences: bool = False
    attributes: str | None = None
    subject: str | None = None
    document: str | None = None
