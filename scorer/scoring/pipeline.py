"""The pipeline of every row: window of rows → checks → unique pairs → probabilities → verdicts."""

from __future__ import annotations

import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..inference.engine import EncodedPairs, Predictions
from ..metric import ColumnNames, Options
from ..metric.checks import Checks, build_checks, verbalise
from ..metric.columns import (
    MARKS,
    OUTPUT,
    output_schema,
    row_keys,
    to_columns,
    to_details,
    to_sentences,
    to_worded_facts,
)
from ..metric.fact_templates import Templates
from ..metric.facts import FactTable, Rows, take
from ..metric.inputs import InputColumns
from ..metric.joining import join
from ..metric.languages import LanguageSide
from ..metric.sentences import SentenceSide, add_sentences
from ..metric.verdict import FINE, Verdicts, by_worst_sentence, decide
from ..storage.receipts import CheckCounts, Counts, FactCounts, PredicateCounts, RowCounts, TokenCounts
from ..system.waiting import check_signals
from .summary import most_frequent
from .valid_strings import replace_bytes, with_note

STUCK_SECONDS = 5.0
_LOOK_SECONDS = 1.0
Item = TypeVar("Item")
Result = TypeVar("Result")


class Model(Protocol):
    """Interface of an engine to the pipeline; stand-ins of tests and benchmarks implement it, too."""

    def encode(
        self, texts: list[str], premise: npt.NDArray[np.int32], hypothesis: npt.NDArray[np.int32]
    ) -> EncodedPairs: ...

    def predict(self, encoded: EncodedPairs, stop: threading.Event | None = None) -> Predictions: ...

    def cancel(self, stop: threading.Event) -> None: ...


@dataclass
class ReuseMatch:
    """A window before the model runs, with the labels that earlier outputs have for some of its rows."""

    rows: Rows
    """All rows of the window."""
    keys: pa.Array
    """Row keys, *Shape:* (rows,)."""
    reused: npt.NDArray[np.int64]
    """Positions of the rows with a label of an earlier output."""
    labels: dict[str, pa.Array]
    """Output columns of the reused rows by name, in the order of ``reused``."""
    facts: FactTable
    """Facts of all rows, with sentences in place of the facts that they say."""
    backoff: npt.NDArray[np.bool_]
    """Whether a fact has no template, *Shape:* (distinct facts,)."""
    to_score: npt.NDArray[np.int64] = field(init=False)
    """Positions of the other rows."""
    to_judge: Rows = field(init=False)
    """The other rows."""

    def __post_init__(self) -> None:
        self.to_score = np.setdiff1d(np.arange(len(self.rows)), self.reused)
        self.to_judge = self.rows if not len(self.reused) else take(self.rows, self.to_score)

    def merge(self, names: Sequence[str], columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Extend output columns of the judged rows to the whole window, in its order."""
        if not len(self.reused):
            return list(columns)
        order = pa.array(np.argsort(np.concatenate([self.to_score, self.reused])))
        of_window = {"row_key": self.keys, "reused": pa.array(np.isin(np.arange(len(self.rows)), self.reused))}
        return [
            of_window[name] if name in of_window else pa.concat_arrays([column, self.labels[name]]).take(order)
            for name, column in zip(names, columns, strict=True)
        ]


class LabelSource(Protocol):
    """Earlier outputs that lend their labels."""

    def find(
        self, keys: pa.Array, is_sought: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], dict[str, pa.Array]]:
        """Positions of the rows with a label among those that are sought (bool, *Shape:* (rows,)), and the output
        columns of these."""


@dataclass(frozen=True)
class Window:
    """Rows to score together."""

    tag: Any
    """Value of the caller that identifies the window; it comes back with the result."""
    table: pa.Table
    columns: InputColumns


@dataclass(frozen=True)
class ScoredWindow:
    """Result of a :class:`Window`: its table with the output columns, and its counts."""

    tag: Any
    table: pa.Table
    counts: Counts


@dataclass(frozen=True)
class Prepared:
    """Rows with their checks, ready for the model."""

    rows: Rows
    """Rows to judge."""
    checks: Checks
    """Checks of these rows."""
    work: EncodedPairs
    """Encoded pairs of these checks."""
    match: ReuseMatch | None = None
    """Rows of the window with a label of an earlier output; ``None`` where no earlier output is reused."""
    other_language: npt.NDArray[np.bool_] | None = None
    """bool, *Shape:* (rows to judge,): texts in a language that the model does not read; ``None`` where its languages
    are not known."""


@dataclass(frozen=True)
class Judged:
    """Rows with their verdicts."""

    prepared: Prepared
    predictions: Predictions
    """Predictions of the model for the checks."""
    verdicts: Verdicts

    def columns(self, names: ColumnNames) -> list[pa.Array]:
        """The output columns of the judged rows, in the order of :func:`scorer.metric.columns.output_schema`.

        :meth:`Pipeline.finish` adds the rows that were not judged.
        """
        rows, checks, match = self.prepared.rows, self.prepared.checks, self.prepared.match
        keys = match.keys.take(pa.array(match.to_score)) if match is not None else None
        optional: dict[str, Callable[[], pa.Array]] = {
            "sentences": partial(to_sentences, rows, checks, self.verdicts),
            "worded_facts": partial(to_worded_facts, rows, checks),
            "details": partial(to_details, rows, checks, self.predictions.probabilities, self.predictions.status),
        }
        optional_columns = [optional[field.name]() for field in output_schema(names)[len(OUTPUT) :]]
        return [*to_columns(rows, self.verdicts, keys), *optional_columns]


@dataclass(frozen=True)
class _PreparedWindow:
    """A window between the first two stages of :meth:`Pipeline.stream`."""

    window: Window
    prepared: Prepared


@dataclass(frozen=True)
class _PredictedWindow:
    """A window after the second stage of :meth:`Pipeline.stream`."""

    window: Window
    prepared: Prepared
    predictions: Predictions


@dataclass
class Pipeline:
    """The stages from rows to labels, with the templates, the options and the model that they use."""

    model: Model
    templates: Templates = field(default_factory=Templates)
    options: Options = field(default_factory=Options)
    names: ColumnNames = field(default_factory=ColumnNames)
    sentences: SentenceSide | None = None
    """Functions and limits of the checks of sentences; ``None`` where sentences are not checked."""
    contradiction: float | None = None
    """Threshold of contradicted facts, as :func:`.decide` takes it."""
    languages: LanguageSide | None = None
    """Notes texts in a language that the model does not read; ``None`` where its languages are not known."""
    seconds: dict[str, float] = field(default_factory=lambda: {"read": 0.0, "prepare": 0.0, "infer": 0.0, "judge": 0.0})
    """Busy seconds of each stage; stages overlap."""
    computing: tuple[Window, EncodedPairs] | None = None
    """The window that the model computes now, and its work, for progress."""

    @contextmanager
    def busy(self, stage: str) -> Iterator[None]:
        """Add the duration of a block to the seconds of a stage."""
        started = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - started

    def prepare(self, rows: Rows, reuse: LabelSource | None = None) -> Prepared:
        """Build the checks of a window and encode them, except for rows with a label in the outputs of ``reuse``."""
        match = None
        if reuse is not None:
            with self.busy("reuse"):
                match = self._find_reused(rows, reuse)
            rows = match.to_judge
        rows = join(rows, self.templates, self.options.optional)
        checks = build_checks(rows, self.templates, self.options)
        if self.sentences is not None:
            checks = add_sentences(checks, rows, self.sentences)
        work = self.model.encode(checks.texts, checks.premise, checks.hypothesis)
        if self.options.worst_sentence:
            work.always_exact = np.zeros(len(work.lengths), bool)
            work.always_exact[work.pairs.inverse[by_worst_sentence(checks)]] = True
        other_language = None if self.languages is None else self.languages.rows(rows, checks)
        return Prepared(rows, checks, work, match, other_language)

    def _find_reused(self, rows: Rows, reuse: LabelSource) -> ReuseMatch:
        keys, is_sought = row_keys(rows), np.ones(len(rows), bool)
        is_sought[list(rows.errors)] = False
        joined = join(rows, self.templates, self.options.optional)
        backoff = np.array([fact.backoff for fact in verbalise(joined, self.templates, self.options)], bool)
        return ReuseMatch(rows, keys, *reuse.find(keys, is_sought), joined.triples, backoff)

    def judge(self, prepared: Prepared, predictions: Predictions) -> Judged:
        """Turn the predictions of the model into verdicts."""
        verdicts = decide(
            prepared.rows,
            prepared.checks,
            predictions.probabilities,
            predictions.status,
            predictions.truncated,
            unknown=predictions.unknown,
            other_language=prepared.other_language,
            omission_side=self.options.sides != "hallucination",
            mean=self.options.protocol == "factspotter",
            worst_sentence=self.options.worst_sentence,
            threshold=predictions.threshold,
            contradiction=self.contradiction,
        )
        return Judged(prepared, predictions, verdicts)

    def finish(self, window: Window, judged: Judged) -> ScoredWindow:
        """The table of a window: its input columns that pass through, then the output columns; metadata is kept."""
        schema = output_schema(self.names)
        arrays = judged.columns(self.names)
        if judged.prepared.match is not None:
            arrays = judged.prepared.match.merge([column.name for column in schema], arrays)
        columns = dict(zip([column.name for column in schema], arrays, strict=True))
        table, has_replaced_bytes = replace_bytes(window.table.select(list(window.columns.passed)))
        has_label = columns["fine"].is_valid().to_numpy(zero_copy_only=False)
        columns["note"] = with_note(columns["note"], has_replaced_bytes & has_label)
        for column in schema:
            table = table.append_column(column.with_name(self.names.output(column.name)), columns[column.name])
        if window.columns.marked:
            marks = window.columns.marks(window.table)
            table = table.append_column(MARKS.with_name(self.names.output(MARKS.name)), marks)
        return ScoredWindow(window.tag, table, count(judged, columns["note"]))

    def stream(
        self, items: Iterable[Window | Any], reuse: LabelSource | None = None, stop: Callable[[], None] = lambda: None
    ) -> Generator[ScoredWindow | Any, None, None]:
        """Score windows in order. Three stages overlap: preparing *k+1*, inference on *k*, the caller's work on *k-1*.

        The threads of the first two stages end with the iteration, however it ends.

        Args:
            items: windows; other items, such as the end of a shard, are yielded as they are, in their places.
            reuse: earlier outputs with labels.
            stop: called when the iteration ends early; must end ``items`` if they wait for others.
        """
        stopped = threading.Event()

        def stop_all() -> None:
            stopped.set()
            stop()
            self.model.cancel(stopped)

        prepared = prefetch(partial(self._prepare, reuse), items, name="prepare", stop=stop)
        predicted = prefetch(partial(self._infer, stopped), prepared, name="infer", stop=stop_all)
        with closing(predicted):
            for item in predicted:
                if isinstance(item, _PredictedWindow):
                    with self.busy("judge"):
                        item = self.finish(item.window, self.judge(item.prepared, item.predictions))
                yield item

    def _prepare(self, reuse: LabelSource | None, item: Any) -> Any:
        if not isinstance(item, Window):
            return item
        with self.busy("prepare"):
            return _PreparedWindow(item, self.prepare(item.columns.rows(item.table), reuse))

    def _infer(self, stopped: threading.Event, item: Any) -> Any:
        if not isinstance(item, _PreparedWindow):
            return item
        with self.busy("infer"):
            self.computing = item.window, item.prepared.work
            predictions = self.model.predict(item.prepared.work, stopped)
            self.computing = None
        return _PredictedWindow(item.window, item.prepared, predictions)


def count(judged: Judged, notes: pa.Array) -> Counts:
    """The counts of all rows of a window, reused ones included. ``notes``: its output column."""
    prepared, verdicts = judged.prepared, judged.verdicts
    rows, facts, backoff = prepared.rows, prepared.rows.triples, prepared.checks.backoff
    match = prepared.match
    checks, work, errors, reused = prepared.checks, prepared.work, Counter[str](), 0
    errors.update(error.kind for error in verdicts.errors.values())
    scored = len(rows) - len(verdicts.errors)
    labels = np.bincount(verdicts.columns["fine"].indices.drop_null(), minlength=len(FINE))
    if match is not None:
        rows, facts, backoff, reused = match.rows, match.facts, match.backoff, len(match.reused)
        labels += np.bincount(match.labels["fine"].indices, minlength=len(FINE))
    by_note = Counter(note for joined in notes.drop_null().to_pylist() for note in joined.split("+"))
    return Counts(
        RowCounts(len(rows), scored, reused, dict(errors), dict(by_note)),
        dict(zip(FINE, labels.tolist(), strict=True)),
        count_facts(facts, backoff),
        CheckCounts(len(checks.row), len(work.lengths), sum(len(b.pairs) for b in work.batches), work.recomputed),
        TokenCounts(work.real_tokens, work.padded_tokens),
    )


def count_facts(facts: FactTable, is_backoff: npt.NDArray[np.bool_]) -> FactCounts:
    """Count the facts of the rows of a window.

    Args:
        facts: facts with sentences in place of those that they say.
        is_backoff: bool, *Shape:* (distinct facts,), facts without a template.
    """
    triples = facts.of_rows
    totals = np.bincount(triples.ids, minlength=len(triples.distinct))
    backoffs = np.bincount(triples.ids[facts.spread(is_backoff[facts.ids])], minlength=len(totals))
    by_predicate: dict[str, list[int]] = {}
    for triple, total, backoff in zip(triples.distinct, totals.tolist(), backoffs.tolist(), strict=True):
        counts = by_predicate.setdefault(triple.predicate, [0, 0])
        counts[0], counts[1] = counts[0] + total - backoff, counts[1] + backoff
    frequent = most_frequent({predicate: PredicateCounts(*counts) for predicate, counts in by_predicate.items()})
    backoff_total = int(backoffs.sum())
    return FactCounts(int(totals.sum()) - backoff_total, backoff_total, frequent, triples.skipped)


def prefetch(
    function: Callable[[Item], Result], source: Iterable[Item], *, name: str, stop: Callable[[], None] = lambda: None
) -> Generator[Result, None, None]:
    """The results of ``function`` for the items of ``source``, in order, at most one of them ahead of the caller.

    An error of either is raised in place of the result. If ``source`` is a generator, the thread closes it. The thread
    has ended when this generator has, so that the caller may close resources of the thread; only a thread that is stuck
    for :data:`STUCK_SECONDS` is left behind.

    Args:
        name: name of the thread.
        stop: called when the caller closes this generator early; must make a call in progress return, and end a source
            that waits for others.
    """
    results: queue.Queue[tuple[Result | None, BaseException | None, bool]] = queue.Queue(1)
    cancelled = threading.Event()
    items: Iterator[Item] = iter(source)

    def work() -> None:
        error: BaseException | None = None
        try:
            with closing(items) if isinstance(items, Generator) else nullcontext():
                for item in items:
                    results.put((function(item), None, False))
                    if cancelled.is_set():
                        break
        except BaseException as raised:
            error = raised
        results.put((None, error, True))

    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    try:
        while True:
            # Limited and repeated: a library may install a handler of SIGINT with SA_RESTART, and an unlimited wait
            # would never see the signal.
            try:
                result, error, is_end = results.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                check_signals()
                continue
            if error is not None:
                raise error
            if is_end:
                return
            yield result  # type: ignore[misc]  # without an error and before the end, the result is set
    finally:
        cancelled.set()
        if thread.is_alive():
            stop()
        deadline = time.monotonic() + STUCK_SECONDS
        while thread.is_alive() and time.monotonic() < deadline:
            with suppress(queue.Empty):  # a thread that waits for room continues, and sees that it is cancelled
                results.get_nowait()
            thread.join(0.02)
