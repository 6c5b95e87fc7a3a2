"""The one road a row travels: window of rows → checks → unique pairs → probabilities → verdicts.

Everything that scores goes through here: the run over shards, the Python interface, the check of one row.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..inference.engine import Answers, Work
from ..metric.checks import Checks, Options, build_checks
from ..metric.columns import to_columns, to_details, to_sentences
from ..metric.inputs import ColumnNames, InputColumns, output_schema
from ..metric.rows import Rows
from ..metric.sentences import SentenceSide, add_sentences
from ..metric.templates import Templates
from ..metric.verdict import Verdicts, decide
from .counts import Counts, tally
from .reuse import Carried, Disagreement, Reuse
from .reuse.recheck import disagreements

Tag = TypeVar("Tag")

WINDOW_ROWS = 16384
WINDOW_BYTES = 32 << 20
"""The largest window by default: rows, and bytes of their columns as they stand in memory."""


class Model(Protocol):
    """What the pipeline asks of an engine; a stand-in for tests and benchmarks needs no more."""

    def prepare(self, texts: list[str], premise: npt.NDArray[np.int32], hypothesis: npt.NDArray[np.int32]) -> Work: ...

    def run(self, work: Work, stop: threading.Event | None = None) -> Answers: ...

    def give_up(self) -> None: ...


@dataclass
class Prepared:
    """A window on its way to the model. ``rows``: those to judge; ``carried``: what is known of the others."""

    rows: Rows
    checks: Checks
    work: Work
    carried: Carried | None = None


@dataclass
class Judged:
    """A window with its verdicts. ``tokens``: int64, *Shape:* (checks,), of each check's pair.

    ``rows`` and all that belongs to them are of the judged rows; ``carried`` has the others.
    """

    rows: Rows
    checks: Checks
    tokens: npt.NDArray[np.int64]
    answers: Answers
    verdicts: Verdicts
    counts: Counts
    carried: Carried | None = None

    def columns(self, *, sentences: bool = False, details: bool = False) -> list[pa.Array]:
        """The output columns, as :func:`scorer.metric.inputs.output_schema` orders them.

        Of the judged rows alone: :meth:`Pipeline.add_columns` puts the window together.
        """
        keys = self.carried.keys if self.carried is not None else None
        if self.carried is not None and len(self.carried.reused):
            keys = self.carried.keys.take(pa.array(self.carried.asked))
        columns = to_columns(self.rows, self.verdicts, keys)
        if sentences:
            columns.append(to_sentences(self.rows, self.checks, self.verdicts))
        if details:
            columns.append(to_details(self.rows, self.checks, self.answers.probabilities, self.answers.status))
        return columns


@dataclass
class Item(Generic[Tag]):
    """Something that travels through the pipeline in order: a window of rows, or only a tag (a shard's end, say)."""

    tag: Tag
    table: pa.Table | None = None
    columns: InputColumns | None = None


@dataclass
class Pipeline:
    """Templates, options and a model, put together.

    ``reuse``: earlier outputs whose labels are taken over. ``disagreements``: rows of the last window that were
    scored again and are not what their earlier output says.
    ``sentences``: what checking every sentence of a text needs; ``None`` where it was not asked for.
    ``tick``: called about once a second while the model works, for progress.
    ``seconds``: busy time of each stage, host seconds; stages overlap, so they add up to more than the run.
    """

    model: Model
    templates: Templates = field(default_factory=Templates)
    options: Options = field(default_factory=Options)
    names: ColumnNames = field(default_factory=ColumnNames)
    reuse: Reuse | None = None
    disagreements: list[Disagreement] = field(default_factory=list)
    sentences: SentenceSide | None = None
    tick: Callable[[], None] = lambda: None
    seconds: dict[str, float] = field(default_factory=lambda: {"read": 0.0, "prepare": 0.0, "infer": 0.0, "judge": 0.0})

    def prepare(self, rows: Rows) -> Prepared:
        """Build a window's checks and the model's work for them; rows whose labels are known need none."""
        carried = None
        if self.reuse is not None:
            started = time.perf_counter()
            carried = self.reuse.match(rows, self.templates, self.options)
            rows = carried.to_judge
            self.seconds["reuse"] = self.seconds.get("reuse", 0.0) + time.perf_counter() - started
        checks = build_checks(rows, self.templates, self.options)
        if self.sentences is not None:
            checks = add_sentences(checks, rows, self.sentences)
        return Prepared(rows, checks, self.model.prepare(checks.texts, checks.premise, checks.hypothesis), carried)

    def judge(self, prepared: Prepared, answers: Answers) -> Judged:
        """Turn the model's answers into verdicts."""
        verdicts = decide(
            prepared.rows,
            prepared.checks,
            answers.probabilities,
            answers.status,
            answers.truncated,
            omission_side=self.options.sides == "both",
        )
        work = prepared.work
        tokens = work.lengths[work.pairs.inverse]
        counts = self.count(prepared, verdicts)
        return Judged(prepared.rows, prepared.checks, tokens, answers, verdicts, counts, prepared.carried)

    def count(self, prepared: Prepared, verdicts: Verdicts) -> Counts:
        """The counts of a window, rows that were not judged included."""
        brought = prepared.carried.brought() if prepared.carried is not None else None
        return tally(prepared.rows, prepared.checks, prepared.work, verdicts, brought)

    def score(self, rows: Rows) -> Judged:
        """All stages of one window, one after the other."""
        prepared = self.prepare(rows)
        return self.judge(prepared, self.model.run(prepared.work))

    def add_columns(self, table: pa.Table, columns: InputColumns, judged: Judged) -> pa.Table:
        """The kept input columns of a window, then the output columns; schema metadata kept."""
        kept = table.select(list(columns.passed))
        arrays = judged.columns(sentences=self.names.sentences, details=self.names.details)
        if judged.carried is not None:
            names = [field.name for field in output_schema(self.names)]
            self._recheck(judged, judged.carried, dict(zip(names, arrays, strict=True)))
            arrays = judged.carried.merge(names, arrays)
        for added, array in zip(output_schema(self.names), arrays, strict=True):
            kept = kept.append_column(added.with_name(self.names.prefix + added.name), array)
        return kept

    def _recheck(self, judged: Judged, carried: Carried, fresh: dict[str, pa.Array]) -> None:
        """Compare the rows that were scored although they have a label, and count them."""
        again = pa.array(carried.again)
        stored = {name: column.take(again) for name, column in carried.labels.items()}
        found = disagreements(
            stored, fresh, judged.rows, judged.checks, judged.answers.probabilities, carried.own, carried.allowed
        )
        rows = carried.reused[carried.again].tolist()
        self.disagreements = [Disagreement(rows[i], carried.keys[rows[i]].as_py().hex(), what) for i, what in found]
        judged.counts["recheck"] = {"rows": len(rows), "disagreed": len(self.disagreements)}

    def stream(self, items: Iterable[Item[Tag]]) -> Iterator[tuple[Tag, pa.Table | None, Counts]]:
        """Score windows in order, three stages overlapped: preparing *k+1*, inference on *k*, the caller's *k-1*.

        Yields (tag, output table, counts) for each item, and (tag, None, {}) for items without rows. One thread reads
        and prepares, one owns the model; both end with the iteration, however it ends.
        """
        source = iter(items)
        stop = threading.Event()
        preparing, inferring = ThreadPoolExecutor(1, "prepare"), ThreadPoolExecutor(1, "infer")
        try:
            ahead = preparing.submit(self._next, source)
            waiting: tuple[Item[Tag], Prepared | None, Future[Answers] | None] | None = None
            while True:
                arrived = ahead.result()
                current = None
                if arrived is not None:
                    item, prepared = arrived
                    ahead = preparing.submit(self._next, source)
                    answers = inferring.submit(self._infer, prepared.work, stop) if prepared is not None else None
                    current = (item, prepared, answers)
                if waiting is not None:
                    yield self._finish(*waiting)
                if current is None:
                    return
                waiting = current
        finally:
            # Not waited for: a reader may hang, and whoever interrupted wants to leave. Both threads end by
            # themselves, the model's as the runtime gives up its call, the reader's when its source is closed.
            stop.set()
            self.model.give_up()
            for threads in (preparing, inferring):
                threads.shutdown(wait=False, cancel_futures=True)

    def _next(self, source: Iterator[Item[Tag]]) -> tuple[Item[Tag], Prepared | None] | None:
        started = time.perf_counter()
        item = next(source, None)
        self.seconds["read"] += time.perf_counter() - started
        if item is None:
            return None
        if item.table is None or item.columns is None:
            return item, None
        started = time.perf_counter()
        prepared = self.prepare(item.columns.rows(item.table))
        self.seconds["prepare"] += time.perf_counter() - started
        return item, prepared

    def _infer(self, work: Work, stop: threading.Event) -> Answers:
        started = time.perf_counter()
        answers = self.model.run(work, stop)
        self.seconds["infer"] += time.perf_counter() - started
        return answers

    def _finish(
        self, item: Item[Tag], prepared: Prepared | None, future: Future[Answers] | None
    ) -> tuple[Tag, pa.Table | None, Counts]:
        if item.table is None or item.columns is None or prepared is None or future is None:
            return item.tag, None, {}
        while True:
            try:
                answers = future.result(timeout=1.0)
                break
            except TimeoutError:
                self.tick()
        started = time.perf_counter()
        judged = self.judge(prepared, answers)
        table = self.add_columns(item.table, item.columns, judged)
        self.seconds["judge"] += time.perf_counter() - started
        return item.tag, table, judged.counts
