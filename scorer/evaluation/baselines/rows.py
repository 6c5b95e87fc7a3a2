"""A baseline as a run over shards drives it: the plan, receipts and resuming of any run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import pyarrow as pa

from ...errors import ColumnError
from ...metric.inputs import ColumnNames, InputColumns
from ...metric.refusals import BadRows
from ...metric.verdict import FINE
from ...scoring.plain_rows import PlainRows
from ...scoring.plan import Budgets
from ...scoring.windows import ScoredWindow, Tag, Window
from ...storage import Counts
from ...storage.counts import RowCounts
from .judges import Judge, is_scored
from .writing import add_columns, inputs_of, signature_of


@dataclass(frozen=True)
class BaselineColumns:
    """All columns of a shard are read and kept; ``inputs``: those with the texts and facts. ``settings``: of the
    baseline."""

    inputs: InputColumns
    settings: Mapping[str, object]
    needed: tuple[str, ...]

    @property
    def keeps_all(self) -> bool:
        return True

    @property
    def shape(self) -> Mapping[str, object]:
        return {**self.inputs.shape, "baseline": dict(self.settings)}

    def bad_rows(self, table: pa.Table) -> BadRows | None:
        """See :meth:`.InputColumns.bad_rows`."""
        return self.inputs.bad_rows(table)


class BaselineRows(PlainRows[BaselineColumns]):
    """Adds the columns of a baseline; counts rows, errors, notes and labels, and no facts or checks."""

    def __init__(self, judge: Judge) -> None:
        super().__init__(signature_of(judge))
        self._judge = judge

    def score(self, window: Window[Tag, BaselineColumns]) -> ScoredWindow[Tag]:
        rows = window.columns.inputs.rows(window.table)
        table = add_columns(window.table, self._judge.columns(rows, window.table))
        errors, notes, fine = (_counted(table[name]) for name in ("error", "note", "fine"))
        scored = len(table) - sum(errors.values())
        labels = {name: fine[name] for name in FINE}
        return ScoredWindow(window.tag, table, Counts(RowCounts(len(table), scored, 0, errors, notes), labels))


@dataclass(frozen=True)
class BaselineScoring:
    """How a baseline is set up for a run."""

    judge: Judge
    names: ColumnNames

    def find_columns(self, schema: pa.Schema) -> BaselineColumns:
        """Find the columns of a shard.

        Raises:
            ColumnError: a column is missing, of another type, or has the name of an output column.
        """
        if is_scored(schema):
            raise ColumnError("it has the output columns of a run; give --out F.parquet to compare both in one file")
        return BaselineColumns(inputs_of(self.judge, schema, self.names), self.judge.settings, tuple(schema.names))

    @contextmanager
    def open(self, budgets: Budgets) -> Iterator[BaselineRows]:
        """The row scorer; nothing is to be closed."""
        yield BaselineRows(self.judge)

    def to_plan(self) -> Mapping[str, object]:
        """The name of the baseline, and the names of columns."""
        return {"baseline": self.judge.name, **self.judge.settings, "columns": asdict(self.names)}


def _counted(column: pa.ChunkedArray) -> Counter[str]:
    """How often each value occurs, without its side (``too_long:premise`` counts as ``too_long``); nulls apart."""
    found: Counter[str] = Counter()
    for one in column.cast(pa.string()).value_counts().to_pylist():
        if one["values"] is not None:
            found[one["values"].partition(":")[0]] += one["counts"]
    return found
