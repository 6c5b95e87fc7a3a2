"""Compare an output with an earlier one: figures, drift, gates and history in one document, with several reports.

``scan`` puts the rows into a ``database``, ``queries`` read it, and ``builder`` builds the ``document``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..storage.location import Location, StoreUri
from ..system.arguments import CheckedFields, option

if TYPE_CHECKING:
    from .document import Document

__all__ = ["AuditOptions", "audit"]


@dataclass(frozen=True)
class AuditOptions(CheckedFields):
    """Options of an audit."""

    baseline: Path | StoreUri | tuple[Path | StoreUri, ...] | None = None
    """The output to compare with, or its parts."""
    gates: tuple[Path, ...] = ()
    """TOML files of gates."""
    by: tuple[tuple[str, ...], ...] = ()
    """Groupings, each a tuple of columns; by default the column ``system``, if there is one."""
    history: Path | None = None
    """The history file."""
    compare: tuple[str, str] | None = option(
        "Compare these two values of the first --by column, paired by input. Default: the two largest groups, unless a "
        "third is as large.",
        "A B",
        None,
    )
    across_signatures: bool = option("Compare even if the baseline's signature differs.", default=False)
    require_gates: bool = option("Exit 1 if nothing was checked: no gates, or all of them silent.", default=False)
    allow_partial: bool = option(
        "Accept a run without all shards or parts, and compare partial with complete runs.", default=False
    )
    worst: int = option("Number of example rows for each kind of error.", "N", 30, min=0)


def audit(out: Location | Sequence[Location], options: AuditOptions | None = None) -> Document:
    """Audit the finished output folder ``out``, or the parts of one.

    Raises:
        OutputError: no finished output, or one that changed while it was read.
        UsageError: signatures that differ, a partial output against a complete one, or an invalid gate or option.
        ColumnError: a column to group by does not exist.
    """
    from . import history
    from .builder import DocumentBuilder

    options = options or AuditOptions()
    history_rows = history.read(options.history) if options.history is not None else None
    document = DocumentBuilder(out, options, history_rows).document()
    if options.history is not None:
        document.history = history.append(options.history, document)
    return document
