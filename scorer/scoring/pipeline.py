"""What happens to every row: window of rows → checks → unique pairs → probabilities → verdicts.

Everything that scores goes through here: the run over shards, the Python interface, the check of one row.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..inference.engine import EncodedPairs, Predictions
from ..metric.checks import Checks, build_checks
from ..metric.columns import OUTPUT, output_schema, to_columns, to_details, to_sentences, to_worded_facts
from ..metric.facts import Rows
from ..metric.inputs import InputColumns
from ..metric.options import ColumnNames, Options
from ..metric.sentences import SentenceSide, add_sentences
from ..metric.templates import Templates
from ..metric.verdict import Verdicts, decide
from ..storage.counts import Counts
from .counts import ReusedCounts, count
from .prefetch import prefetch


class Model(Protocol):
    """What the pipeline asks of an engine; a stand-in for tests and benchmarks needs no more."""

    def encode(
        self, texts: list[str], premise: npt.NDArray[np.int32], hypothesis: npt.NDArray[np.int32]
    ) -> EncodedPairs: ...

    def predict(self, encoded: EncodedPairs, stop: threading.Event | None = None) -> Predictions: ...

    def cancel(self) -> None: ...


class ReuseMatch(Protocol):
    """What is known of a window before the model is asked: some of its rows have a label from an earlier output.

    ``keys``: of all rows. ``to_judge``: the rows that have none; ``to_score``: int64, their positions. ``reused``:
    int64, positions of the others.
    """

    keys: pa.Array
    to_judge: Rows
    to_score: npt.NDArray[np.int64]
    reused: npt.NDArray[np.int64]

    def merge(self, names: Sequence[str], columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Output columns of the judged rows to those of the whole window, in its order."""
        ...

    def counts(self) -> ReusedCounts: ...


class Reuse(Protocol):
    """Earlier outputs whose labels are taken over."""

    def match(self, rows: Rows, templates: Templates, options: Options) -> ReuseMatch: ...


@dataclass(frozen=True)
class Window:
    """Rows to score together. ``tag``: says to the caller whose they are."""

    tag: Any
    table: pa.Table
    columns: InputColumns


@dataclass(frozen=True)
class ScoredWindow:
    """What became of a :class:`Window`: its table with the output columns, and its counts."""

    tag: Any
    table: pa.Table
    counts: Counts


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


@dataclass
class Pipeline:
    """Templates, options and a model, put together.

    ``sentences``: what checking every sentence of a text needs; ``None`` where it was not asked for.
    ``seconds``: busy time of each stage, host seconds; stages overlap, so they add up to more than the run.
    ``computing``: the window that the model computes now, and its work, for progress.
    """

    model: Model
    templates: Templates = field(default_factory=Templates)
    options: Options = field(default_factory=Options)
    names: ColumnNames = field(default_factory=ColumnNames)
    sentences: SentenceSide | None = None
    seconds: dict[str, float] = field(default_factory=lambda: {"read": 0.0, "prepare": 0.0, "infer": 0.0, "judge": 0.0})
    computing: tuple[Window, EncodedPairs] | None = None

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

    def finish(self, window: Window, judged: Judged) -> ScoredWindow:
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
        self, items: Iterable[Window | Any], reuse: Reuse | None = None, stop: Callable[[], None] = lambda: None
    ) -> Generator[ScoredWindow | Any, None, None]:
        """Score windows in order, three stages overlapped: preparing *k+1*, inference on *k*, the caller's *k-1*.

        Whatever else is among the items, such as the end of a shard, keeps its place and is passed on as it is. The
        threads of the first two stages end with the iteration, however it ends.

        Args:
            reuse: earlier outputs, whose labels are taken over.
            stop: called when the iteration ends early; makes ``items`` end if it waits for others.
        """
        stopped = threading.Event()

        def stop_all() -> None:
            stopped.set()
            stop()
            self.model.cancel()

        prepared = prefetch(partial(self._prepare, reuse), self._timed(items), name="prepare", stop=stop)
        answered = prefetch(partial(self._infer, stopped), prepared, name="infer", stop=stop_all)
        with closing(answered):
            for item in answered:
                if not isinstance(item, _Answered):
                    yield item
                    continue
                started = time.perf_counter()
                scored = self.finish(item.window, self.judge(item.prepared, item.answers))
                self.seconds["judge"] += time.perf_counter() - started
                yield scored

    def _timed(self, items: Iterable[Any]) -> Generator[Any, None, None]:
        """The items; the time that they take to come is that of reading."""
        source = iter(items)
        try:
            while True:
                started = time.perf_counter()
                item = next(source, _END)
                self.seconds["read"] += time.perf_counter() - started
                if item is _END:
                    return
                yield item
        finally:
            if isinstance(source, Generator):
                source.close()

    def _prepare(self, reuse: Reuse | None, item: Any) -> Any:
        if not isinstance(item, Window):
            return item
        started = time.perf_counter()
        prepared = self.prepare(item.columns.rows(item.table), reuse)
        self.seconds["prepare"] += time.perf_counter() - started
        return _Prepared(item, prepared)

    def _infer(self, stopped: threading.Event, item: Any) -> Any:
        if not isinstance(item, _Prepared):
            return item
        started = time.perf_counter()
        self.computing = item.window, item.prepared.work
        answers = self.model.predict(item.prepared.work, stopped)
        self.computing = None
        self.seconds["infer"] += time.perf_counter() - started
        return _Answered(item.window, item.prepared, answers)


_END = object()


@dataclass(frozen=True)
class _Prepared:
    """A window that the model can be asked about."""

    window: Window
    prepared: Prepared


@dataclass(frozen=True)
class _Answered:
    """A window with the model's answers."""

    window: Window
    prepared: Prepared
    answers: Predictions
