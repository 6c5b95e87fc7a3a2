"""Which columns the user named; apart from :mod:`.inputs`, so that it costs no import of pyarrow."""

from __future__ import annotations

from dataclasses import dataclass

from ..system.arguments import check_fields


@dataclass(frozen=True)
class ColumnNames:
    """The names the user gave. ``mr`` set forces E2E meaning representations; ``keep``: input columns to pass through
    (all by default); ``prefix`` goes before every output column; ``sentences``, ``details``: whether there are such."""

    text: str = "text"
    triples: str = "triples"
    mr: str | None = None
    keep: tuple[str, ...] | None = None
    prefix: str = ""
    details: bool = False
    sentences: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
