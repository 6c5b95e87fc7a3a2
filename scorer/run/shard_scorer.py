"""Read footers, and score shards with one open scorer: shards in, written files and receipts out.

This runs in a worker process (:mod:`.worker`), or in the process of a program that asks for it; it knows nothing of
processes. It never makes a shard done: the driver publishes what it wrote.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path

import msgspec
import pyarrow as pa

from ..errors import ColumnError, ScorerError, ShardError
from ..inference.device import PADDED
from ..inference.engine import EXACT_PAIRS, ExactBound
from ..metric.inputs import InputColumns, find_columns
from ..scoring.pipeline import ScoredWindow, Window
from ..scoring.scorer import Scorer
from ..scoring.settings import Settings
from ..scoring.summary import total
from ..stats.percentages import percent
from ..storage.counts import Counts
from ..storage.plan import Budgets, ExactBudget
from ..storage.receipts import InputRecord, Provenance, Receipt, content_sha256
from ..storage.shards import (
    FIRST_ROWS,
    MEMORY,
    WINDOW_BYTES,
    WINDOW_ROWS,
    Shard,
    limit_rows,
    read_shards,
    read_windows,
    with_columns,
)
from ..storage.store import require_space
from ..storage.writer import ShardWriter
from ..system.closing import Closing
from ..system.progress import advanced
from .early_check import MOST_FILES, EarlyCheck, look_at_first_rows
from .messages import (
    Begin,
    FooterRead,
    Inspect,
    Open,
    Progress,
    ReuseInfo,
    ReuseLoaded,
    Score,
    ShardResult,
    WorkerInfo,
    kind_of,
)

_BOUND_ROWS, _BOUND_BYTES = 4096, 16 << 20
"""The bound of ``--exact`` is measured on so many first rows of a few shards, read in windows of so many bytes."""


def inspect_files(request: Inspect) -> Iterator[FooterRead]:
    """Read the footer of each file, in order."""
    settings = Settings.from_plan(request.settings, "the driver's request")
    left, unseen = request.limit, MOST_FILES if request.first_rows else 0
    for file in request.files:
        if left == 0:
            yield FooterRead()
            continue
        try:
            schema, shards = read_shards(file, request.split_rows)
            columns = columns_of(schema, settings)
        except (ShardError, ColumnError) as error:
            yield FooterRead(error=str(error), kind=kind_of(error))
            continue
        shards = [with_columns(one, columns.shape, keeps_all=columns.keeps_all) for one in limit_rows(shards, left)]
        if left is not None:
            left -= sum(shard.rows for shard in shards)
        first_rows = None
        if unseen and (first := next((shard for shard in shards if shard.rows), None)) is not None:
            first_rows = look_at_first_rows(first, columns)
            unseen = unseen - 1 if first_rows.all else 0
        yield FooterRead(shards=shards, first_rows=first_rows)


def columns_of(schema: pa.Schema, settings: Settings) -> InputColumns:
    """The columns of an input. FactSpotter takes triples apart.

    Raises:
        ColumnError: it cannot be scored.
    """
    found = find_columns(schema, settings.columns)
    if settings.protocol == "factspotter":
        return found.with_triples("the protocol factspotter asks about triples")
    return found


@dataclass(frozen=True)
class _ShardEnd:
    """All windows of a shard were read, or as many as could be. ``content``: the digest of the input."""

    task: Score
    content: Future[str | None]
    error: ScorerError | None


class ShardScorer(Closing):
    """An open ``scorer``, and the earlier outputs that it reuses.

    Args:
        log: is told what a user should know.

    Raises:
        ScorerError: the bundle or the device cannot be used, or an output of ``--reuse``.
    """

    def __init__(self, request: Open, log: Callable[[str], None]) -> None:
        settings = Settings.from_plan(request.settings, "the driver's request")
        self.scorer, self._log = open_scorer(settings, request.budgets, log), log
        self._measure_bound(request)
        self._reuse = None
        if request.reuse:
            from .reuse import Reuse

            self._reuse = Reuse.open(request.reuse, self.scorer.full_signature, self.scorer.settings.columns)
        self.info = self._describe()
        self._early = EarlyCheck(self._warnings, request.max_error_rate, log)
        self._contents = ThreadPoolExecutor(1, "digest of inputs")
        self._plan: Begin | None = None
        self._rows, self._computed_before = 0, self.scorer.engine.computed  # those of the bound do not count
        self._writing = 0.0
        self._seconds_before = dict(self.scorer.pipeline.seconds)

    def close(self) -> None:
        """Close the session, and what is reused."""
        self._contents.shutdown(wait=False, cancel_futures=True)
        if self._reuse is not None:
            self._reuse.close()
        self.scorer.close()

    def _measure_bound(self, request: Open) -> None:
        """With ``exact``, take the bound from the plan of the same signature and provider, or measure it."""
        scorer, bound = self.scorer, None
        if not scorer.engine.exact:
            return
        if request.budgets.exact is not None and request.bound_of == (
            scorer.full_signature.parts,
            scorer.engine.provider,
        ):
            bound = ExactBound(request.budgets.exact.pairs, request.budgets.exact.largest)
        scorer.engine.bound = bound or measure_bound(scorer, request.shards)

    def _describe(self) -> WorkerInfo:
        scorer, engine = self.scorer, self.scorer.engine
        manifest = engine.bundle.manifest
        names = ("tokenizers", "numpy", "pyarrow")
        return WorkerInfo(
            signature=scorer.full_signature.line,
            signature_parts=scorer.full_signature.parts,
            budgets=budgets_of(scorer),
            provider=engine.provider,
            origin=scorer.origin,
            versions={"onnxruntime": engine.runtime} | {name: metadata.version(name) for name in names},
            random_weights=manifest.source.random_init,
            forced=manifest.forced,
            reuse=self._reuse_info(),
        )

    def _reuse_info(self) -> ReuseInfo | None:
        if self._reuse is None:
            return None
        return ReuseInfo(
            digest=self._reuse.digest,
            planned=self._reuse.planned(),
            origins=self._reuse.origins(),
            outputs=self._reuse.summary(),
        )

    def begin(self, request: Begin) -> ReuseLoaded | None:
        """Score under a plan from here on; reads the keys of the outputs that are reused."""
        self._plan = request
        if self._reuse is None:
            return None
        for line in self._reuse.notes():
            self._log(line)
        self._reuse.load()
        return ReuseLoaded(outputs=self._reuse.summary())

    def progress(self) -> Progress:
        """How far it is. Any thread may ask."""
        computing, partial = self.scorer.pipeline.computing, 0.0
        if computing is not None:
            window, work = computing
            partial = work.share * len(window.table)
        return Progress(rows=self._rows, pairs=self.scorer.engine.computed, partial=partial, moved=advanced())

    def score(
        self, tasks: Iterable[Score], stop: Callable[[], None] = lambda: None
    ) -> Generator[ShardResult, None, None]:
        """Score shards as one stream of windows, so that the device never waits between two shards.

        Args:
            stop: called when this ends early; makes ``tasks`` end if they wait for more.

        Raises:
            ScorerError: the output cannot be written, or no shard can be scored. MemoryError: there is not enough.
        """
        writer: ShardWriter | None = None
        counts: list[Counts] = []
        try:
            # Closed here, not where it is deleted: the exception of a signal would be lost there.
            with closing(self.scorer.pipeline.stream(self._items(tasks), self._reuse, stop)) as stream:
                for item in stream:
                    began = time.perf_counter()
                    if isinstance(item, ScoredWindow):
                        writer = writer or self._open_writer(item)
                        writer.write(item.table)
                        counts.append(item.counts)
                        self._early.see(item.counts)
                        self._rows += len(item.table)
                        self._writing += time.perf_counter() - began
                        continue
                    task, error, finished = item.task, item.error, writer
                    result = ShardResult(relative=task.shard.relative, identity=task.shard.identity)
                    if error is not None or finished is None:
                        if finished is not None:
                            finished.abandon()
                        reason = error or ShardError(f"{task.shard.uri}: no window was read")
                        result = msgspec.structs.replace(result, error=str(reason), kind=kind_of(reason))
                    else:
                        receipt = self._finish(item, finished, counts, began)
                        result = msgspec.structs.replace(result, temporary=task.temporary, receipt=receipt)
                    writer, counts = None, []
                    yield result
        finally:
            if writer is not None:
                writer.abandon()

    def _items(self, tasks: Iterable[Score]) -> Generator[Window | _ShardEnd, None, None]:
        """Windows of all shards in order, and the end of each."""
        assert self._plan is not None
        budgets = self._plan.plan.budgets
        for task in tasks:
            shard, divisor = task.shard, 2 if task.halved else 1
            content = self._contents.submit(_content_of, shard)
            error: ScorerError | None = None
            try:
                for columns, table in read_windows(
                    shard,
                    self._find_columns,
                    max_rows=max(1, (budgets.window_rows or WINDOW_ROWS) // divisor),
                    max_bytes=max(1, (budgets.window_bytes or WINDOW_BYTES) // divisor),
                    first_rows=FIRST_ROWS if budgets.first_rows is None else budgets.first_rows,
                ):
                    yield Window(task, table, columns)
            except (ShardError, ColumnError) as failed:
                if isinstance(failed, ShardError) and failed.kind == MEMORY and not task.halved:
                    raise MemoryError(str(failed)) from failed
                error = failed
            yield _ShardEnd(task, content, error)

    def _find_columns(self, schema: pa.Schema) -> InputColumns:
        return columns_of(schema, self.scorer.settings)

    def _open_writer(self, scored: ScoredWindow) -> ShardWriter:
        shard, path = scored.tag.shard, Path(scored.tag.temporary)
        require_space(path.parent, shard.min_output_bytes, f"the output of {shard.relative}")
        final = path.with_name(Path(shard.relative).name)
        return ShardWriter(path, scored.table.schema, metadata=self.scorer.full_signature.footer, path=final)

    def _finish(self, end: _ShardEnd, writer: ShardWriter, counts: Sequence[Counts], began: float) -> Receipt:
        """Complete the file of a shard. ``began``: when the time that this takes begins to count."""
        assert self._plan is not None
        shard = end.task.shard
        written = writer.finish()
        self._writing += time.perf_counter() - began
        return Receipt(
            relative=shard.relative,
            input=InputRecord(
                uri=shard.uri, identity=shard.identity, content_sha256=end.content.result(), groups=shard.groups
            ),
            fingerprint=self._plan.plan.fingerprint(shard),
            output=written,
            counts=total(counts),
            plan=self._plan.digest,
            provenance=self._provenance(self._plan.run),
        )

    def _provenance(self, run: str) -> Provenance:
        """What made a shard, with the seconds and the pairs since the shard before."""
        origin, computed = self.scorer.origin, self.scorer.engine.computed
        seconds = dict(self.scorer.pipeline.seconds, write=self._writing)
        found = Provenance(
            run=run,
            worker=origin.device.words,
            origin=msgspec.to_builtins(origin),
            seconds={stage: round(value - self._seconds_before.get(stage, 0.0), 3) for stage, value in seconds.items()},
            computed=computed - self._computed_before,
        )
        self._seconds_before, self._computed_before = seconds, computed
        return found

    def _warnings(self, counts: Counts) -> Sequence[str]:
        """Warn of facts without a template, and of data that the bundle's own templates were not made for."""
        facts = counts.facts
        if not facts.backoff:
            return ()
        bundle = self.scorer.engine.bundle
        own_templates = self.scorer.settings.templates is None and bundle.templates_file is not None
        missing = sum(1 for entry in facts.by_predicate.values() if entry.backoff)
        share = facts.backoff / facts.all
        message = f"warning: {percent(share)} of the facts in the first window have no template (backoff)"
        if own_templates and missing > len(facts.by_predicate) / 2:
            message += (
                f"; {missing} of {len(facts.by_predicate)} predicates are outside what the bundle {bundle.name} was "
                "made for, so its labels may mean nothing here"
            )
        return (message,)


def open_scorer(settings: Settings, budgets: Budgets, log: Callable[[str], None]) -> Scorer:
    """A scorer as the settings say; budgets, layout and attention are those of an earlier run, if there was one."""
    return Scorer(
        **settings.arguments(),
        layout=budgets.layout or "auto",
        attention=budgets.attention,
        threads=budgets.threads,
        token_budget=budgets.batch_tokens,
        log=log,
    )


def budgets_of(scorer: Scorer) -> Budgets:
    """What a scorer cuts its work by; windows are the run's."""
    engine, bound = scorer.engine, scorer.exact_bound
    chosen = engine.device.spec.layouts != (PADDED,)  # where the device has a choice of layouts
    return Budgets(
        batch_tokens=engine.grid.token_budget,
        length_step=engine.grid.step,
        threads=engine.threads,
        exact=None if bound is None else ExactBudget(pairs=bound.pairs, largest=bound.largest),
        layout=engine.use.layout if chosen else None,
        attention=engine.use.attention if chosen else None,
    )


def measure_bound(scorer: Scorer, shards: Sequence[Shard]) -> ExactBound:
    """The bound of ``--exact`` on pairs from the beginnings of shards, until there are enough of them.

    Args:
        scorer: one with ``exact``.
    """
    find, bound = partial(columns_of, settings=scorer.settings), None
    for number, shard in enumerate(shards):
        missing = EXACT_PAIRS - (bound.pairs if bound is not None else 0)
        if missing <= 0:
            break
        share = -(-missing // (len(shards) - number))
        with suppress(ShardError, ColumnError):  # the run will quarantine it, and say why
            start = limit_rows([shard], _BOUND_ROWS)[0]
            for columns, table in read_windows(start, find, max_rows=_BOUND_ROWS, max_bytes=_BOUND_BYTES):
                work = scorer.pipeline.prepare(columns.rows(table)).work
                bound = scorer.engine.measure_bound(work, share, bound)
    return bound or ExactBound(0, scorer.report.bound)


def _content_of(shard: Shard) -> str | None:
    """SHA-256 of the input, beside the model; the hash of a text file is that of its whole content already."""
    if shard.file.form != "parquet":
        return None if "://" in shard.uri else shard.identity.footer_sha256
    return content_sha256(shard.uri, shard.identity)
