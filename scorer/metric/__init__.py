"""The metric of Dušek & Kasner (INLG 2020), without I/O and models: the checks of a row, and the label from them.

A window of rows goes from ``inputs`` (the columns) by ``formats`` and ``attributes`` to ``facts``, by
``fact_templates`` to ``checks`` and ``sentences``, and with their probabilities by ``verdict`` to ``columns``. This
module has the options of a user; importing them does not import pyarrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..system.arguments import CheckedFields

REVISION = 4
"""Part of the signature; increased only if a label can change for the same model, templates and options."""

PLAIN_REVISION = 1
"""Revision of :mod:`.plain`: part of the signature under ``--reading plain``, increased with any change of a rule."""

FINE = ("OK", "omission", "hallucination", "omission+hallucination")
"""The position of a label is 1 for an omission plus 2 for a hallucination."""

OTHER_LANGUAGE = "other_language"
"""The note of a text that is probably in a language that the model does not read."""

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
    """The options that decide which checks are asked; all are part of the signature."""

    protocol: Protocol = "paper"
    sides: Sides = "both"
    optional: frozenset[tuple[str, str]] = frozenset()
    """(predicate, object) pairs that a text may leave out."""
    missing_template: MissingTemplate = "backoff"
    sentences: str | None = None
    """Name of the sentence splitter, if the sentences of a text are checked too."""
    reading: Reading = "verbatim"
    worst_sentence: bool = False
    """Whether the worst of several sentences counts as much as the whole text."""


@dataclass(frozen=True)
class ColumnNames(CheckedFields):
    """The names of input and output columns.

    The facts are in one of the columns ``triples``, ``attributes``, ``facts``, ``mr`` and ``document``. If none is
    given, a column with one of the first four names is looked for.
    """

    text: str = "text"
    """Column of the texts."""
    triples: str | None = None
    """Column of triples."""
    facts: str | None = None
    """Column of facts as sentences."""
    mr: str | None = None
    """Column of E2E meaning representations."""
    keep: tuple[str, ...] | None = None
    """Input columns to pass through; all by default."""
    prefix: str = ""
    """Prefix of every output column."""
    details: bool = False
    """Whether the output has the columns ``worded_facts`` and ``details``."""
    sentences: bool = False
    """Whether the output has the column ``sentences``."""
    attributes: str | None = None
    """Column of attributes of a subject, or several columns with commas between them, each an attribute."""
    subject: str | None = None
    """Column that names the subject of the attributes, otherwise the key that does; ``name`` by default."""
    document: str | None = None
    """Column of source texts; their sentences are the facts."""

    def output(self, name: str) -> str:
        """The name of an output column in a file: the prefix, then ``name``."""
        return self.prefix + name
