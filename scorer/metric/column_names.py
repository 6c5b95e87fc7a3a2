"""Which columns the user named; apart from :mod:`.inputs`, so that it costs no import of pyarrow."""

from __future__ import annotations

from dataclasses import dataclass

from ..system.arguments import check_fields


@dataclass(frozen=True)
class ColumnNames:
    """The column names that the user gave. ``mr``: if set, the facts are E2E meaning representations in this column.
    ``keep``: input columns to pass through (all by default). ``prefix``: put before the name of every output column.
    ``sentences``, ``details``: whether the output has these columns."""

    text: str = "text"
    triples: str = "triples"
    mr: str | None = None
    keep: tuple[str, ...] | None = None
    prefix: str = ""
    details: bool = False
    sentences: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
