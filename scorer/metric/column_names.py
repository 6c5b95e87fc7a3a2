"""Which columns the user named; apart from :mod:`.inputs`, so that it costs no import of pyarrow."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ..errors import ColumnError
from ..system.arguments import check_fields

_OPTION = re.compile(r"--(?:(keep|prefix)|([a-z]+)-column)\b")


@dataclass(frozen=True)
class ColumnNames:
    """The names of input and output columns. Every field is an argument of the same name; none has to be given.

    ``text``: the column of texts. ``triples``, ``attributes``, ``facts``, ``mr``: the column of the facts, as triples,
    as attributes of a subject, as sentences or as E2E meaning representations; where none is given, a column of one of
    these names is looked for. ``attributes`` may also name several columns with commas between them, each an attribute.
    ``subject``: the column that names the subject of the attributes, or, where there is no such column, their key that
    does; ``name`` by default. ``document``: the column of source texts whose sentences
    are the facts. ``keep``: input columns to pass through (all by default).
    ``prefix``: put before the name of every output column. ``sentences``, ``details``: whether the output has these
    columns.
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

    def inputs(self) -> ColumnNames:
        """The input columns alone: none is passed through, and output columns have their own names."""
        return replace(self, keep=(), prefix="", details=False, sentences=False)

    def __post_init__(self) -> None:
        check_fields(self)


def of_python(error: ColumnError) -> ColumnError:
    """An error whose message names the fields of :class:`ColumnNames` in place of the options of a command."""
    return type(error)(_OPTION.sub(lambda option: f"ColumnNames({option[1] or option[2]}=...)", str(error)))
