"""Template files: made from references of single triples (``extract``), compared with data (``coverage``), and tried on
a sample of rows (``trial``, ``proposals``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..metric import ColumnNames
from ..system.arguments import CheckedFields, option


@dataclass(frozen=True, kw_only=True)
class ExtractOptions(CheckedFields):
    """Columns of references, and how one candidate of each predicate is chosen.

    ``choose``: that of most references (``first``), any with equal probability as in the paper (``random``), or the one
    that agrees best with other references according to a model (``nli``).
    """

    choose: Literal["first", "random", "nli"] = option(
        "Candidate to choose for each predicate: that of most references, a random one, or the one that the model of "
        "--bundle scores best.",
        default="first",
    )
    seed: int = option("Seed of the random choice, or of the order of references.", "N", 0)
    references: int = option("Maximum number of references that nli compares a candidate with.", "N", 16, min=1)
    text_column: str = option("Column of references: strings, or lists of strings.", "NAME", "text")
    triples_column: str | None = option("Column of triples. Default: triples.", "NAME", None, variable=True)
    mr_column: str | None = option("Column of E2E slots, used instead of triples.", "NAME", None, variable=True)

    @property
    def columns(self) -> ColumnNames:
        """The columns to read."""
        return ColumnNames(text=self.text_column, triples=self.triples_column, mr=self.mr_column)
