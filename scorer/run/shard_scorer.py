"""Score shards with one open scorer: shards in, written files and receipts out.

This runs in a worker process (:mod:`.worker`), or in the process of a program (:mod:`.inline`). It never makes a shard
done: the driver publishes what it wrote.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from importlib import metadata
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ..errors import ColumnError, ScorerError, ShardError, UnseenInputError
from ..inference.bundle import Bundle
from ..scoring.opening import OpenScorer
from ..scoring.pipeline import ScoredWindow, Window
from ..scoring.summary import total
from ..storage.local_files import require_space
from ..storage.receipts import Counts, InputRecord, Provenance, Receipt, content_sha256
from ..storage.shards import MEMORY, Shard, read_windows
from ..storage.windows import ShardWriter
from ..system.waiting import in_thread
from .executors import Begin, Open, Progress, ReuseInfo, Score, ShardResult, WorkerInfo
from .inspection import (
    HOPELESS_AFTER_ROWS,
    columns_of,
    kind_of,
    parse_start,
    refuse_hopeless,
    warning_of_backoff,
    warnings_of_sentences,
)

_BOUND_ROWS, _BOUND_BYTES = 4096, 16 << 20
"""The bound of ``--exact`` is measured on so many first rows of a few shards, read in windows of so many bytes."""


@dataclass
class _ShardOutput:
    """The output of a shard while it is scored."""

    task: Score
    """The request to score it."""
    content: Future[str | None]
    """SHA-256 of the input."""
    error: ScorerError | None = None
    """Why the input cannot be read; ``None`` if it can."""
    writer: ShardWriter | None = None
    """Writer of the file; ``None`` before the first window."""
    counts: list[Counts] = field(default_factory=list)
    """Counts of each window."""


class ShardScorer:
    """Scores shards with an open scorer and the earlier outputs that it reuses.

    Args:
        request: the request to open the scorer.
        log: called with each line for the user.
        bundle: the opened bundle; ``None`` to open it here.
    """

    def __init__(self, request: Open, log: Callable[[str], None], bundle: Bundle | None = None) -> None:
        settings, self._log = request.settings, log
        budgets = None if request.plan is None else request.plan.budgets
        self.scorer = OpenScorer(settings, budgets, log, bundle)
        if note := self.scorer.note_of_threads:
            log(note)
        if self.scorer.engine.exact:
            self._measure_bound(request)
        self._reuse = None
        if request.reuse:
            from .reuse import Reuse

            self._reuse = Reuse(request.reuse, self.scorer.full_signature, settings.columns)
        engine, bundle = self.scorer.engine, self.scorer.engine.bundle
        names = ("tokenizers", "numpy", "pyarrow")
        self.info = WorkerInfo(
            signature=self.scorer.full_signature.line,
            signature_parts=self.scorer.full_signature.parts,
            budgets=self.scorer.budgets,
            provider=engine.provider,
            origin=self.scorer.origin,
            versions={"onnxruntime": engine.runtime} | {name: metadata.version(name) for name in names},
            random_weights=bundle.manifest.source.random_init,
            forced=bundle.manifest.forced,
            reuse=self._reuse.info() if self._reuse is not None else ReuseInfo(),
        )
        own_templates = settings.templates is None and bundle.templates_file is not None
        self._made_for, self._max_error_rate = bundle.name if own_templates else "", request.max_error_rate
        self._seen: Counts | None = Counts()  # of the first rows, until there are enough to tell
        self._warnings: list[str] | None = None  # of the first window
        self._plan: Begin | None = None
        self._rows, self._computed_before = 0, engine.computed  # those of the bound do not count
        self._seconds_before = dict(self.scorer.pipeline.seconds)

    def _measure_bound(self, request: Open) -> None:
        """Measure the bound of ``exact``, unless it was taken from a plan of the same signature and provider."""
        scorer, plan = self.scorer, request.plan
        signature = scorer.full_signature.parts, scorer.engine.provider
        if plan is None or plan.budgets.exact is None or (plan.signature_parts, plan.provider) != signature:
            sample = (parse_start(shard, scorer.settings, _BOUND_ROWS, _BOUND_BYTES) for shard in request.shards)
            scorer.measure_bound([(scorer.pipeline.prepare(rows).work for rows in windows) for windows in sample])

    def begin(self, request: Begin) -> None:
        """Take the plan to score under, and read the keys of the outputs that are reused."""
        self._plan = request
        if self._reuse is not None:
            self._reuse.load()
            self.info = replace(self.info, reuse=self._reuse.info())

    def progress(self) -> Progress:
        """Report progress. Any thread may ask."""
        rows, computing = float(self._rows), self.scorer.pipeline.computing
        if computing is not None:
            window, work = computing
            share = min(1.0, work.computed_tokens / max(work.padded_tokens, 1))  # by tokens: long pairs take longer
            rows += share * len(window.table)
        return Progress(rows=rows, pairs=self.scorer.engine.computed)

    def score(
        self, tasks: Iterable[Score], stop: Callable[[], None] = lambda: None
    ) -> Generator[ShardResult, None, None]:
        """Score shards as one stream of windows, so that the device never waits between two shards.

        Args:
            tasks: requests to score a shard.
            stop: called when this ends early; ends ``tasks`` if they wait for more.
        """
        output: _ShardOutput | None = None
        try:
            # Closed here, not where it is deleted: the exception of a signal would be lost there.
            with closing(self.scorer.pipeline.stream(self._items(tasks), self._reuse, stop)) as stream:
                for item in stream:
                    if isinstance(item, ScoredWindow):
                        output = item.tag
                        with self.scorer.pipeline.busy("write"):
                            self._write(item)
                    else:
                        yield self._finish(item)
        finally:
            if output is not None and output.writer is not None:
                output.writer.abandon()

    def _items(self, tasks: Iterable[Score]) -> Generator[Window | _ShardOutput, None, None]:
        """Windows of all shards in order, and after those of a shard its output."""
        assert self._plan is not None
        budgets = self._plan.plan.budgets
        assert budgets.window_rows is not None and budgets.window_bytes is not None and budgets.first_rows is not None
        find_columns = partial(columns_of, settings=self.scorer.settings)
        for task in tasks:
            shard, divisor = task.shard, 2 if task.halved else 1
            output, seconds = _ShardOutput(task, in_thread(partial(_content_of, shard))), self.scorer.pipeline.seconds
            try:
                start = time.perf_counter()
                for columns, table in read_windows(
                    shard,
                    find_columns,
                    max_rows=max(1, budgets.window_rows // divisor),
                    max_bytes=max(1, budgets.window_bytes // divisor),
                    first_rows=budgets.first_rows,
                ):
                    seconds["read"] += time.perf_counter() - start
                    if self._warnings is None:
                        self._warnings = warnings_of_sentences(columns, table, self.scorer.pipeline)
                    yield Window(output, table, columns)
                    start = time.perf_counter()
            except (ShardError, ColumnError) as failed:
                if isinstance(failed, ShardError) and failed.kind == MEMORY and not task.halved:
                    raise MemoryError(str(failed)) from failed
                output.error = failed
            yield output

    def _write(self, scored: ScoredWindow) -> None:
        output: _ShardOutput = scored.tag
        if output.writer is None:
            shard, path = output.task.shard, Path(output.task.temporary)
            require_space(path.parent, shard.min_output_bytes, f"the output of {shard.relative}")
            final = path.with_name(Path(shard.relative).name)
            footer = self.scorer.full_signature.footer
            output.writer = ShardWriter(path, scored.table.schema, metadata=footer, path=final)
        output.writer.write(scored.table)
        output.counts.append(scored.counts)
        if self._seen is not None:
            if not self._seen.rows.all:
                backoff = warning_of_backoff(scored.counts.facts, self._made_for)
                for warning in [*([backoff] if backoff else []), *(self._warnings or [])]:
                    self._log(warning)
            self._seen = total([self._seen, scored.counts])
            if self._seen.rows.all >= HOPELESS_AFTER_ROWS:
                refuse_hopeless(self._seen, self._max_error_rate)
                self._seen = None
        self._rows += len(scored.table)

    def _finish(self, output: _ShardOutput) -> ShardResult:
        """Complete the file of a shard."""
        assert self._plan is not None
        self._rows, shard, writer = 0, output.task.shard, output.writer
        result = ShardResult(relative=shard.relative, identity=shard.identity)
        if writer is None or output.error is not None:
            error = output.error or ShardError(f"{shard.file.uri}: no window was read")
            if writer is not None:
                writer.abandon()
            unseen = isinstance(error, UnseenInputError)
            return replace(result, error=str(error), kind=kind_of(error), unseen=unseen)
        with self.scorer.pipeline.busy("write"):
            written_file = writer.finish()
        content = output.content.result()
        receipt = Receipt(
            relative=shard.relative,
            input=InputRecord(uri=shard.file.uri, identity=shard.identity, content_sha256=content, groups=shard.groups),
            fingerprint=self._plan.plan.fingerprint(shard),
            output=written_file,
            counts=total(output.counts),
            plan=self._plan.digest,
            halved=output.task.halved,
            provenance=self._provenance(self._plan.run),
        )
        return replace(result, temporary=output.task.temporary, receipt=receipt)

    def _provenance(self, run: str) -> Provenance:
        """Provenance of a shard, with the seconds and the pairs since the shard before."""
        origin, computed = self.scorer.origin, self.scorer.engine.computed
        seconds = dict(self.scorer.pipeline.seconds)
        provenance = Provenance(
            run=run,
            worker=origin.device.description,
            origin=msgspec.to_builtins(origin),
            seconds={stage: round(value - self._seconds_before.get(stage, 0.0), 3) for stage, value in seconds.items()},
            computed=computed - self._computed_before,
        )
        self._seconds_before, self._computed_before = seconds, computed
        return provenance


def _content_of(shard: Shard) -> str | None:
    """SHA-256 of the input, taken while the model computes; that of a text file is in its identity already."""
    if shard.file.form != "parquet":
        return None if "://" in shard.file.uri else shard.identity.footer_sha256
    return content_sha256(shard.file.uri, shard.identity)
