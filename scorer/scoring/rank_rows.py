"""A ranking as a run drives it: lists of candidates in, the position of the best one and all scores out.

Each candidate is a row of the metric. They go through the pipeline in pieces of a bounded size, which a row's
candidates may cross, and are put together again by row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from ..errors import UsageError
from ..metric.candidates import CANDIDATES, TEXT, CandidateColumns, CandidatePiece, Candidates, find_candidates
from ..metric.choices import Worse
from ..metric.column_names import ColumnNames
from ..metric.inputs import one_array, output_schema
from ..metric.ranking import CANDIDATE_ERRORS, REVISION, WORSE, best
from ..metric.verdict import FINE
from ..storage import Counts
from ..storage.counts import RowCounts
from ..storage.objects.uri import Location
from .metric_rows import MetricRows, ScorerRows
from .plan import Budgets
from .reuse import Reuse
from .row_scorer import Known, Starts
from .scorer import Scorer
from .settings import Settings
from .signature import Signature, of_parts
from .windows import WINDOW_ROWS, Mark, ScoredWindow, Tag, Window

SCORES = "scores"
_LEFT_OUT = ("rough", "reused")
"""Output columns of a run that :data:`SCORES` lacks: the first follows from ``fine``, the second is counted."""


class _OfMetric(NamedTuple):
    """See :class:`.row_scorer.Known`."""

    signature: Signature
    provider: str
    budgets: Budgets


def rank_schema(names: ColumnNames) -> list[pa.Field]:
    """The columns that a ranking adds, without the prefix."""
    fields = [
        pa.field(one.name, pa.string()) if one.name == "fine" else one
        for one in output_schema(names)
        if one.name not in _LEFT_OUT
    ]
    return [
        pa.field("best", pa.int32()),
        pa.field(SCORES, pa.list_(pa.struct(fields))),
        pa.field("error", pa.string()),
        pa.field("note", pa.string()),
    ]


@dataclass(frozen=True)
class _Piece(Generic[Tag]):
    """Some candidates of a window: ``start``: the first; ``last``: whether there are none behind them."""

    window: Window[Tag, CandidateColumns]
    found: Candidates
    start: int
    last: bool


@dataclass(frozen=True)
class RankRows(ScorerRows):
    """A ranking, list by list."""

    worse: Worse

    @property
    def signature(self) -> Signature:
        """That of the metric, and what orders the candidates."""
        return of_parts({**self.scorer.full_signature.parts, "rank": REVISION, "worse": self.worse})

    def warm_up(self, earlier: Known | None, starts: Starts[CandidateColumns]) -> RankRows:
        """As the metric; a plan of an earlier ranking has the metric's bound."""
        if earlier is not None and earlier.signature == self.signature:
            earlier = _OfMetric(self.scorer.full_signature, earlier.provider, earlier.budgets)
        warm = MetricRows(self.scorer).warm_up(earlier, [_AsRows(start) for start in starts])
        return replace(self, scorer=warm.scorer)

    def open_reuse(self, earlier: Sequence[Location]) -> Reuse:
        """Refuse: the scores of a ranking are not looked up.

        Raises:
            UsageError: always.
        """
        raise UsageError(f"--reuse {earlier[0]}: a ranking takes over no labels of earlier outputs; remove --reuse")

    def stream(
        self,
        items: Iterable[Window[Tag, CandidateColumns] | Mark],
        reuse: Reuse | None,
        tick: Callable[[Tag, float], None],
    ) -> Generator[ScoredWindow[Tag] | Mark, None, None]:
        """Score windows in order; see :meth:`.row_scorer.RowScorer.stream`."""
        pipeline = replace(self.scorer.pipeline, names=replace(self._names, prefix=""))
        gathered: list[ScoredWindow[_Piece[Tag]]] = []

        def piece_tick(piece: _Piece[Tag], texts: float) -> None:
            share = (piece.start + texts) / max(len(piece.found.texts), 1)
            tick(piece.window.tag, share * len(piece.window.table))

        with closing(pipeline.stream(_pieces(items), None, piece_tick)) as scored:
            for one in scored:
                if isinstance(one, Mark):
                    yield one
                    continue
                gathered.append(one)
                if one.tag.last:
                    yield self._fold(gathered)
                    gathered = []

    @property
    def _names(self) -> ColumnNames:
        return self.scorer.settings.columns

    def _fold(self, pieces: Sequence[ScoredWindow[_Piece[Tag]]]) -> ScoredWindow[Tag]:
        """The window that scored pieces are of."""
        window, found = pieces[0].tag.window, pieces[0].tag.found
        names = [field.name for field in output_schema(self._names)]
        scored = pa.concat_tables([piece.table for piece in pieces], promote_options="none").rename_columns(names)
        arrays = {name: one_array(scored, name) for name in names if name not in _LEFT_OUT}
        arrays["fine"] = one_array(scored.select(["fine"]).cast(pa.schema([("fine", pa.string())])), "fine")
        fine = pc.fill_null(pc.index_in(arrays["fine"], pa.array(FINE)), -1).to_numpy().astype(np.int8)
        confidence = pc.fill_null(arrays["confidence"], np.nan).to_numpy(zero_copy_only=False)
        chosen = best(found.offsets, fine, confidence, self.worse)
        errors, notes = _about_rows(found, fine, chosen, arrays["error"])
        added = rank_schema(self._names)
        kind = added[1].type.value_type
        scores = pa.StructArray.from_arrays([arrays[field.name] for field in kind], fields=list(kind))
        mask = pa.array(found.null) if found.null.any() else None
        columns = [
            pa.array((chosen - found.offsets[:-1]).astype(np.int32), mask=chosen < 0),
            pa.ListArray.from_arrays(pa.array(found.offsets.astype(np.int32)), scores, mask=mask),
            pa.array([errors.get(row) for row in range(len(chosen))], pa.string()),
            pa.array([notes.get(row) for row in range(len(chosen))], pa.string()),
        ]
        table = window.table.select(list(window.columns.passed))
        for field, column in zip(added, columns, strict=True):
            table = table.append_column(field.with_name(self._names.prefix + field.name), column)
        counts = structs.replace(
            Counts.total(piece.counts for piece in pieces),
            rows=RowCounts(
                len(chosen),
                len(chosen) - len(errors),
                0,
                dict(Counter(error.partition(":")[0] for error in errors.values())),
                dict(Counter(notes.values())),
            ),
            labels={name: int((fine[chosen[chosen >= 0]] == code).sum()) for code, name in enumerate(FINE)},
        )
        return ScoredWindow(window.tag, table, counts)


@dataclass(frozen=True)
class RankScoring:
    """How a ranking is set up for a run. ``opener``: opens a scorer of these settings with the budgets given."""

    settings: Settings
    opener: Callable[[Budgets], AbstractContextManager[Scorer]]
    worse: Worse = WORSE
    candidates: str = CANDIDATES

    def find_columns(self, schema: pa.Schema) -> CandidateColumns:
        """See :func:`scorer.metric.candidates.find_candidates`."""
        names = self.settings.columns
        return find_candidates(schema, names, self.candidates, rank_schema(names))

    @contextmanager
    def open(self, budgets: Budgets) -> Iterator[RankRows]:
        """Open the scorer; it is closed at the end."""
        with self.opener(budgets) as scorer:
            yield RankRows(scorer, self.worse)

    def to_plan(self) -> Mapping[str, object]:
        """What orders the candidates, the names of columns, and the settings of the metric."""
        settings = self.settings.to_plan()
        rank = {"worse": self.worse, "candidates": self.candidates}
        return {"rank": rank, "columns": settings.pop("columns"), "metric": settings}


@dataclass(frozen=True)
class _AsRows:
    """The first rows of a shard, with each candidate as a row."""

    start: Iterable[Window[None, CandidateColumns]]

    def __iter__(self) -> Iterator[Window[None, CandidatePiece]]:
        for item in _pieces(self.start):
            if isinstance(item, Window):
                yield Window(None, item.table, item.columns)


def _pieces(
    items: Iterable[Window[Tag, CandidateColumns] | Mark],
) -> Iterator[Window[_Piece[Tag], CandidatePiece] | Mark]:
    """The candidates of windows in pieces of a bounded number, at least one of each window; marks in their place."""
    for item in items:
        if not isinstance(item, Window):
            yield item
            continue
        found = item.columns.parse(item.table)
        count = len(found.texts)
        for start in range(0, max(count, 1), WINDOW_ROWS):
            end = min(start + WINDOW_ROWS, count)
            table = pa.table({TEXT: found.texts.slice(start, end - start)})
            yield Window(_Piece(item, found, start, end == count), table, found.piece(start, end))


def _about_rows(
    found: Candidates, fine: npt.NDArray[np.int8], chosen: npt.NDArray[np.int64], errors: pa.Array
) -> tuple[dict[int, str], dict[int, str]]:
    """Errors of rows without a best candidate, and notes of rows of which some candidates have no label."""
    reasons = {}
    known = found.errors()
    for row in np.flatnonzero(chosen < 0).tolist():
        reasons[row] = known[row] if row in known else errors[int(found.offsets[row])].as_py()
    without = np.unique(found.owner[fine < 0])
    return reasons, {row: CANDIDATE_ERRORS for row in without.tolist() if row not in reasons}
