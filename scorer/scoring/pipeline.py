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
    """Interface of an engine to the pipeline; a stand-in for tests and benchmarks needs no more."""

    def encode(
        self, texts: list[str], premise: npt.NDArray[np.int32], hypothesis: npt.NDArray[np.int32]
    ) -> EncodedPairs: ...

    def predict(self, encoded: EncodedPairs, stop: threading.Event | None = None) -> Predictions: ...

    def cancel(self, stop: threading.Event) -> None: ...


@dataclass
class ReuseMatch:
    """A window, of which some rows have a label from an earlier output, before the model is asked.

    ``rows``: of the window. ``keys``: of all rows. ``reused``: int64, positions of the rows that have a label;
    ``labels``: their columns by name, in that order. ``facts``: of the window, as they are asked about; ``backoff``:
    bool, of the distinct ones. ``to_judge``: the other rows; ``to_score``: int64, their positions.
    """

    rows: Rows
    keys: pa.Array
    reused: npt.NDArray[np.int64]
    labels: dict[str, pa.Array]
    facts: FactTable
    backoff: npt.NDArray[np.bool_]
    to_score: npt.NDArray[np.int64] = field(init=False)
    to_judge: Rows = field(init=False)

    def __post_init__(self) -> None:
        self.to_score = np.setdiff1d(np.arange(len(self.rows)), self.reused)
        self.to_judge = self.rows if not len(self.reused) else take(self.rows, self.to_score)

    def merge(self, names: Sequence[str], columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Output columns of the judged rows to those of the whole window, in its order."""
        if not len(self.reused):
            return list(columns)
        order = pa.array(np.argsort(np.concatenate([self.to_score, self.reused])))
        known = {"row_key": self.keys, "reused": pa.array(np.isin(np.arange(len(self.rows)), self.reused))}
        return [
            known[name] if name in known else pa.concat_arrays([column, self.labels[name]]).take(order)
            for name, column in zip(names, columns, strict=True)
        ]


class LabelSource(Protocol):
    """Earlier outputs whose labels are taken over."""

    def find(
        self, keys: pa.Array, is_sought: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], dict[str, pa.Array]]: ...


@dataclass(frozen=True)
class Window:
    """Rows to score together. ``tag``: says to the caller whose they are."""

    tag: Any
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
    """Rows on their way to the model."""

    rows: Rows
    """Rows to judge."""
    checks: Checks
    """Checks of these rows."""
    work: EncodedPairs
    """Pairs of these checks, as the model takes them."""
    match: ReuseMatch | None = None
    """Rows of the window that have a label already; ``None`` where no earlier output is reused."""
    other_language: npt.NDArray[np.bool_] | None = None
    """bool, *Shape:* (rows to judge,): texts in a language that the model does not read; ``None`` where its languages
    are not known."""


@dataclass(frozen=True)
class Judged:
    """Rows with their verdicts."""

    prepared: Prepared
    answers: Predictions
    """Predictions of the model for the checks."""
    verdicts: Verdicts

    def columns(self, asked: ColumnNames) -> list[pa.Array]:
        """The output columns that were asked for, as :func:`scorer.metric.columns.output_schema` orders them, of the
        judged rows alone: :meth:`Pipeline.finish` puts the window together."""
        rows, checks, match, answers = self.prepared.rows, self.prepared.checks, self.prepared.match, self.answers
        keys = match.keys.take(pa.array(match.to_score)) if match is not None else None
        more: dict[str, Callable[[], pa.Array]] = {
            "sentences": partial(to_sentences, rows, checks, self.verdicts),
            "worded_facts": partial(to_worded_facts, rows, checks),
            "details": partial(to_details, rows, checks, answers.probabilities, answers.status),
        }
        added = [more[field.name]() for field in output_schema(asked)[len(OUTPUT) :]]
        return [*to_columns(rows, self.verdicts, keys), *added]


@dataclass(frozen=True)
class _PreparedWindow:
    """A window between the first two stages of :meth:`Pipeline.stream`."""

    window: Window
    prepared: Prepared


@dataclass(frozen=True)
class _AnsweredWindow:
    """A window behind the second stage of :meth:`Pipeline.stream`."""

    window: Window
    prepared: Prepared
    answers: Predictions


@dataclass
class Pipeline:
    """Templates, options and a model, put together."""

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
        """Add the time that this lasts to a stage."""
        started = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - started

    def prepare(self, rows: Rows, reuse: LabelSource | None = None) -> Prepared:
        """Build a window's checks and the model's work for them. Rows with a label in the outputs of ``reuse`` need
        none."""
        match = None
        if reuse is not None:
            with self.busy("reuse"):
                keys, is_sought = row_keys(rows), np.ones(len(rows), bool)
                is_sought[list(rows.errors)] = False  # what cannot be scored is not looked for
                joined = join(rows, self.templates, self.options.optional)
                backoff = np.array([fact.backoff for fact in verbalise(joined, self.templates, self.options)], bool)
                match = ReuseMatch(rows, keys, *reuse.find(keys, is_sought), joined.triples, backoff)
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

    def judge(self, prepared: Prepared, answers: Predictions) -> Judged:
        """Turn the model's answers into verdicts."""
        verdicts = decide(
            prepared.rows,
            prepared.checks,
            answers.probabilities,
            answers.status,
            answers.truncated,
            unknown=answers.unknown,
            other_language=prepared.other_language,
            omission_side=self.options.sides != "hallucination",
            mean=self.options.protocol == "factspotter",
            worst_sentence=self.options.worst_sentence,
            threshold=answers.threshold,
            contradiction=self.contradiction,
        )
        return Judged(prepared, answers, verdicts)

    def finish(self, window: Window, judged: Judged) -> ScoredWindow:
        """The kept input columns of a window, then the output columns; schema metadata kept."""
        schema = output_schema(self.names)
        arrays = judged.columns(self.names)
        if judged.prepared.match is not None:
            arrays = judged.prepared.match.merge([column.name for column in schema], arrays)
        columns = dict(zip([column.name for column in schema], arrays, strict=True))
        table, replaced = replace_bytes(window.table.select(list(window.columns.passed)))
        has_label = columns["fine"].is_valid().to_numpy(zero_copy_only=False)
        columns["note"] = with_note(columns["note"], replaced & has_label)
        for added in schema:
            table = table.append_column(added.with_name(self.names.output(added.name)), columns[added.name])
        if window.columns.marked:
            marks = window.columns.marks(window.table)
            table = table.append_column(MARKS.with_name(self.names.output(MARKS.name)), marks)
        return ScoredWindow(window.tag, table, count(judged, columns["note"]))

    def stream(
        self, items: Iterable[Window | Any], reuse: LabelSource | None = None, stop: Callable[[], None] = lambda: None
    ) -> Generator[ScoredWindow | Any, None, None]:
        """Score windows in order, three stages overlapped: preparing *k+1*, inference on *k*, the caller's *k-1*.

        Whatever else is among the items, such as the end of a shard, keeps its place and is passed on as it is. The
        threads of the first two stages end with the iteration, however it ends. ``stop``: called when it ends early;
        makes ``items`` end if it waits for others.
        """
        stopped = threading.Event()

        def stop_all() -> None:
            stopped.set()
            stop()
            self.model.cancel(stopped)

        prepared = prefetch(partial(self._prepare, reuse), items, name="prepare", stop=stop)
        answered = prefetch(partial(self._infer, stopped), prepared, name="infer", stop=stop_all)
        with closing(answered):
            for item in answered:
                if isinstance(item, _AnsweredWindow):
                    with self.busy("judge"):
                        item = self.finish(item.window, self.judge(item.prepared, item.answers))
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
            answers = self.model.predict(item.prepared.work, stopped)
            self.computing = None
        return _AnsweredWindow(item.window, item.prepared, answers)


def count(judged: Judged, notes: pa.Array) -> Counts:
    """The counts of a window, those of its rows included that were not judged. ``notes``: the column of its output."""
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


def count_facts(facts: FactTable, missing: npt.NDArray[np.bool_]) -> FactCounts:
    """Count the facts of the rows of a window. ``facts``: as they are asked about; ``missing``: bool, *Shape:*
    (distinct ones,), those without a template."""
    triples = facts.of_rows
    counts = np.bincount(triples.ids, minlength=len(triples.distinct))
    lacking = np.bincount(triples.ids[facts.spread(missing[facts.ids])], minlength=len(counts))
    by_predicate: dict[str, list[int]] = {}
    for triple, count, missed in zip(triples.distinct, counts.tolist(), lacking.tolist(), strict=True):
        counted = by_predicate.setdefault(triple.predicate, [0, 0])
        counted[0], counted[1] = counted[0] + count - missed, counted[1] + missed
    kept = most_frequent({predicate: PredicateCounts(*counted) for predicate, counted in by_predicate.items()})
    backoff = int(lacking.sum())
    return FactCounts(int(counts.sum()) - backoff, backoff, kept, triples.skipped)


def prefetch(
    function: Callable[[Item], Result], source: Iterable[Item], *, name: str, stop: Callable[[], None] = lambda: None
) -> Generator[Result, None, None]:
    """The results of ``function`` for the items of ``source``, in order, at most one of them ahead of the caller.

    An error of either is raised where its result would have come. When the caller closes this generator early,
    ``stop`` is called: it makes a call in progress return, and a source that waits for others end. The thread, which
    has ``name``, closes a generator that is its source, and has ended when this generator has, so that what it used may
    be closed; only one that is stuck for :data:`STUCK_SECONDS` is left behind.
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
            yield result  # type: ignore[misc]  # there is one where there is no error and no end
    finally:
        cancelled.set()
        if thread.is_alive():
            stop()
        deadline = time.monotonic() + STUCK_SECONDS
        while thread.is_alive() and time.monotonic() < deadline:
            with suppress(queue.Empty):  # a thread that waits for room goes on, and sees that it is cancelled
                results.get_nowait()
            thread.join(0.02)
