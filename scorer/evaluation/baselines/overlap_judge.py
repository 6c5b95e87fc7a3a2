"""The overlap metrics as a baseline."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...errors import ColumnError
from ...metric.columns import OUTPUT, to_columns
from ...metric.rows import Rows
from . import overlap
from .judges import nothing_said
from .reference_counts import ReferenceCounts, reference_lists


class OverlapJudge:
    """Scores against references, without labels. Output columns of a run in the input are kept, so that both kinds of
    scores can be in one file.

    Args:
        text, references: the columns.
        counts: of all references, see :func:`.reference_counts.count_references`.
    """

    name = "overlap"
    keeps_labels = True

    def __init__(self, text: str, references: str, counts: ReferenceCounts) -> None:
        self.text, self.references = text, references
        self.metric = overlap.Overlap(counts)
        self.depends_on = f"|references:{counts.digest[:12]}"

    def columns(self, rows: Rows, table: pa.Table) -> list[tuple[str, pa.Array]]:
        for name in (self.text, self.references):
            if name not in table.schema.names:
                raise ColumnError(f"no column {name!r}; overlap needs texts, and a list of references for each row")
        found = self.metric.scores([rows.text_of(r) for r in range(len(rows))], self._references(table))
        extra = [
            (name, pa.array(found[:, c].astype(np.float32), mask=np.isnan(found[:, c])))
            for c, name in enumerate(overlap.COLUMNS)
        ]
        if set(OUTPUT.names) <= set(table.schema.names):
            return extra
        return [*zip(OUTPUT.names, to_columns(rows, nothing_said(rows)), strict=True), *extra]

    def _references(self, table: pa.Table) -> list[list[str] | None]:
        kind = table.schema.field(self.references).type
        lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
        if not lists or not (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)):
            raise ColumnError(f"column {self.references!r} is {kind}, but references are list<string>")
        return reference_lists(table[self.references])
