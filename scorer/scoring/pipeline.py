"""What happens to every row: window of rows → checks → unique pairs → probabilities → verdicts.

Everything that scores goes through here: the run over shards, the Python interface, the check of one row.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..inference.engine import EncodedPairs, Predictions
from ..metric.checks import Checks, build_checks
from ..metric.columns import OUTPUT, output_schema, to_columns, to_details, to_sentences, to_worded_facts
from ..metric.facts import Rows
from ..metric.options import ColumnNames, Options
from ..metric.sentences import SentenceSide, add_sentences
from ..metric.templates import Templates
from ..metric.verdict import Verdicts, decide
from ..storage.counts import Counts
from ..system.waiting import any_of, outcome
from .counts import count
from .windows import Mark, ScoredWindow, Tag, TextColumns, Window

if TYPE_CHECKING:
    from .reuse import Reuse, ReuseMatch

_WINDOWS = 2
"""Windows that the model is asked about at a time: one that it computes, and the next."""


class Model(Protocol):
    """What the pipeline asks of an engine; a stand-in for tests and benchmarks needs no more."""

    def encode(
        self, texts: list[str], premise: npt.NDArray[np.int32], hypothesis: npt.NDArray[np.int32]
    ) -> EncodedPairs: ...

    def predict(self, encoded: EncodedPairs, stop: threading.Event | None = None) -> Predictions: ...

    def cancel(self) -> None: ...


@dataclass
class Prepared:
    """A window on its way to the model. ``rows``: those to judge; ``match``: what is known of the others."""

    rows: Rows
    checks: Checks
    work: EncodedPairs
    match: ReuseMatch | None = None


@dataclass
class Judged:
    """A window with its verdicts. ``tokens``: int64, *Shape:* (checks,), of each check's pair.

    ``rows`` and all that belongs to them are of the judged rows; ``match`` has the others.
    """

    rows: Rows
    checks: Checks
    tokens: npt.NDArray[np.int64]
    answers: Predictions
    verdicts: Verdicts
    counts: Counts
    match: ReuseMatch | None = None

    def columns(self, asked: ColumnNames) -> list[pa.Array]:
        """The output columns that were asked for, as :func:`scorer.metric.inputs.output_schema` orders them.

        Of the judged rows alone: :meth:`Pipeline.finish` puts the window together.
        """
        keys = self.match.keys if self.match is not None else None
        if self.match is not None and len(self.match.reused):
            keys = self.match.keys.take(pa.array(self.match.to_score))
        more: dict[str, Callable[[], pa.Array]] = {
            "sentences": partial(to_sentences, self.rows, self.checks, self.verdicts),
            "worded_facts": partial(to_worded_facts, self.rows, self.checks),
            "details": partial(to_details, self.rows, self.checks, self.answers.probabilities, self.answers.status),
        }
        added = [more[field.name]() for field in output_schema(asked)[len(OUTPUT) :]]
        return [*to_columns(self.rows, self.verdicts, keys), *added]


@dataclass(frozen=True)
class Pipeline:
    """Templates, options and a model, put together.

    ``sentences``: what checking every sentence of a text needs; ``None`` where it was not asked for.
    ``seconds``: busy time of each stage, host seconds; stages overlap, so they add up to more than the run.
    """

    model: Model
    templates: Templates = field(default_factory=Templates)
    options: Options = field(default_factory=Options)
    names: ColumnNames = field(default_factory=ColumnNames)
    sentences: SentenceSide | None = None
    seconds: dict[str, float] = field(default_factory=lambda: {"read": 0.0, "prepare": 0.0, "infer": 0.0, "judge": 0.0})

    def prepare(self, rows: Rows, reuse: Reuse | None = None) -> Prepared:
        """Build a window's checks and the model's work for them.

        Args:
            reuse: earlier outputs, whose labels are taken over; rows that have one need no check.
        """
        match = None
        if reuse is not None:
            started = time.perf_counter()
            match = reuse.match(rows, self.templates, self.options)
            rows = match.to_judge
            self.seconds["reuse"] = self.seconds.get("reuse", 0.0) + time.perf_counter() - started
        checks = build_checks(rows, self.templates, self.options)
        if self.sentences is not None:
            checks = add_sentences(checks, rows, self.sentences)
        return Prepared(rows, checks, self.model.encode(checks.texts, checks.premise, checks.hypothesis), match)

    def judge(self, prepared: Prepared, answers: Predictions) -> Judged:
        """Turn the model's answers into verdicts."""
        verdicts = decide(
            prepared.rows,
            prepared.checks,
            answers.probabilities,
            answers.status,
            answers.truncated,
            unknown=answers.unknown,
            omission_side=self.options.sides == "both",
            mean=self.options.spots_facts,
            threshold=answers.threshold,
        )
        work = prepared.work
        tokens = work.lengths[work.pairs.inverse]
        counts = self.count(prepared, verdicts)
        return Judged(prepared.rows, prepared.checks, tokens, answers, verdicts, counts, prepared.match)

    def count(self, prepared: Prepared, verdicts: Verdicts) -> Counts:
        """The counts of a window, rows that were not judged included."""
        reused = prepared.match.counts() if prepared.match is not None else None
        return count(prepared.rows, prepared.checks, prepared.work, verdicts, reused)

    def score(self, rows: Rows) -> Judged:
        """All stages of one window, one after the other."""
        prepared = self.prepare(rows)
        return self.judge(prepared, self.model.predict(prepared.work))

    def finish(self, window: Window[Tag, TextColumns], judged: Judged) -> ScoredWindow[Tag]:
        """The kept input columns of a window, then the output columns; schema metadata kept."""
        schema = output_schema(self.names)
        arrays = judged.columns(self.names)
        if judged.match is not None:
            arrays = judged.match.merge([column.name for column in schema], arrays)
        table = window.table.select(list(window.columns.passed))
        for added, array in zip(schema, arrays, strict=True):
            table = table.append_column(added.with_name(self.names.prefix + added.name), array)
        return ScoredWindow(window.tag, table, judged.counts)

    def stream(
        self,
        items: Iterable[Window[Tag, TextColumns] | Mark],
        reuse: Reuse | None = None,
        tick: Callable[[Tag, float], None] = lambda tag, rows: None,
    ) -> Generator[ScoredWindow[Tag] | Mark, None, None]:
        """Score windows in order, three stages overlapped: preparing *k+1*, inference on *k*, the caller's *k-1*.

        Each :class:`Mark` is passed on in its place. One thread reads and prepares,
        one owns the model; both end with the iteration, however it ends.

        Args:
            reuse: earlier outputs, whose labels are taken over.
            tick: called about once a second while the model works, for progress, with the tag of the window and how
                many of its rows the work done so far amounts to.
        """
        source = iter(items)
        stop = threading.Event()
        preparing, inferring = ThreadPoolExecutor(1, "prepare"), ThreadPoolExecutor(1, "infer")
        ahead: Future[_Ready[Tag, TextColumns] | Mark | None] | None = preparing.submit(self._next, source, reuse)
        waiting: deque[_OnItsWay[Tag, TextColumns] | Mark] = deque()
        try:
            while ahead is not None or waiting:
                first = waiting[0] if waiting else None
                if isinstance(first, Mark):
                    waiting.popleft()
                    yield first
                    continue
                # The model is asked about the next window before this one is passed on, across the end of a shard too.
                asked = sum(isinstance(one, _OnItsWay) for one in waiting)
                if ahead is not None and asked < _WINDOWS and _comes_first(ahead, first, tick):
                    arrived = ahead.result()
                    ahead = preparing.submit(self._next, source, reuse) if arrived is not None else None
                    if isinstance(arrived, _Ready):
                        answers = inferring.submit(self._infer, arrived.prepared.work, stop)
                        waiting.append(_OnItsWay(arrived.window, arrived.prepared, answers))
                    elif arrived is not None:
                        waiting.append(arrived)
                elif first is not None:
                    yield self._finish(first, tick)
                    waiting.popleft()
        finally:
            # Not waited for: a reader may hang, and an interrupted run must end soon. Both threads end by
            # themselves, the model's as the runtime gives up its call, the reader's when its source is closed.
            stop.set()
            self.model.cancel()
            for threads in (preparing, inferring):
                threads.shutdown(wait=False, cancel_futures=True)

    def _next(
        self, source: Iterator[Window[Tag, TextColumns] | Mark], reuse: Reuse | None
    ) -> _Ready[Tag, TextColumns] | Mark | None:
        started = time.perf_counter()
        item = next(source, None)
        self.seconds["read"] += time.perf_counter() - started
        if not isinstance(item, Window):
            return item
        started = time.perf_counter()
        prepared = self.prepare(item.columns.rows(item.table), reuse)
        self.seconds["prepare"] += time.perf_counter() - started
        return _Ready(item, prepared)

    def _infer(self, work: EncodedPairs, stop: threading.Event) -> Predictions:
        started = time.perf_counter()
        answers = self.model.predict(work, stop)
        self.seconds["infer"] += time.perf_counter() - started
        return answers

    def _finish(self, item: _OnItsWay[Tag, TextColumns], tick: Callable[[Tag, float], None]) -> ScoredWindow[Tag]:
        answers = outcome(item.answers, partial(item.tell, tick))
        started = time.perf_counter()
        scored = self.finish(item.window, self.judge(item.prepared, answers))
        self.seconds["judge"] += time.perf_counter() - started
        return scored


@dataclass(frozen=True)
class _Ready(Generic[Tag, TextColumns]):
    """A window that is prepared."""

    window: Window[Tag, TextColumns]
    prepared: Prepared


@dataclass(frozen=True)
class _OnItsWay(Generic[Tag, TextColumns]):
    """A window that the model was asked about."""

    window: Window[Tag, TextColumns]
    prepared: Prepared
    answers: Future[Predictions]

    def tell(self, tick: Callable[[Tag, float], None]) -> None:
        """Tell how many of its rows the work done so far amounts to."""
        tick(self.window.tag, self.prepared.work.share * len(self.window.table))


def _comes_first(
    ahead: Future[Any], first: _OnItsWay[Tag, TextColumns] | None, tick: Callable[[Tag, float], None]
) -> bool:
    """Wait for the next window or for the answers of the first one; whether the next window is there."""
    if first is None:
        any_of([ahead])
    else:
        any_of([ahead, first.answers], partial(first.tell, tick))
    return ahead.done()
