"""Which columns the user named; apart from :mod:`.inputs`, so that it costs no import of pyarrow."""

from __future__ import annotations

from dataclasses import dataclass

from ..system.arguments import check_fields


@dataclass(frozen=True)
class ColumnNames:
    """The column names that the user gave. ``triples``, ``facts``, ``mr``: the column of the facts, as triples, as
    sentences or as E2E meaning representations; where none is given, a column of one of these names is looked for.
    ``keep``: input columns to pass through (all by default). ``prefix``: put before the name of every output column.
    ``sentences``, ``details``: whether the output has these columns."""

    text: str = "text"
    triples: str | None = None
    facts: str | None = None
    mr: str | None = None
    keep: tuple[str, ...] | None = None
    prefix: str = ""
    details: bool = False
    sentences: bool = False

    def inputs(self) -> ColumnNames:
        """The input columns alone: none is passed through, and output columns have their own names."""
        return ColumnNames(text=self.text, triples=self.triples, facts=self.facts, mr=self.mr, keep=())

    def __post_init__(self) -> None:
        check_fields(self)
