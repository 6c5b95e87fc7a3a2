"""The engine: interned pairs in, probabilities out.

Work has two halves, so that they can overlap: :meth:`Engine.prepare` is host work (tokenise, deduplicate, pack) and
may run in any one thread; :meth:`Engine.run` belongs to the one thread that owns the device.

How pairs share calls is chosen by what keeps a pair's numbers its own (DESIGN: isolation): see :mod:`.batches`.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import BundleError, DeviceError
from ..status import NOT_FINITE, NOT_TOKENISED, SCORED, TOO_LONG
from ..system.waiting import outcome, prompt_switching
from .batches import Batch, Feed, Grid, Layout, Padded, Work, cut_to_fit, distinct_pairs
from .bundle import PRECISIONS, Bundle
from .cache import Use
from .choosing import choose
from .devices import PACKED, Device
from .exact import fixed_shapes
from .execution import candidates, recorded
from .facts import known_budget, read_facts, refuse_disagreement, usual_budget
from .first_use import require_smoke_test
from .model_session import Calls, ModelSession
from .packed import Packed
from .schemes import THRESHOLD
from .sessions import available_threads, resolve_device, runtime
from .texts import PLAIN, PairForm, TextTokenizer, form_of

__all__ = ["Answers", "Engine", "Work"]

AHEAD = 2
"""Calls that wait in the thread of the device behind the one that it makes."""


@dataclass(frozen=True)
class Answers:
    """What the model said of every asked pair.

    ``probabilities``: float32, *Shape:* (asked, 3), contradiction, neutral, entailment; NaN without an answer, and
    where the model has no such class. ``status``: int8, *Shape:* (asked,), of :mod:`scorer.status`. ``truncated``:
    bool, *Shape:* (asked,). ``unknown``: the same, pairs of which the tokenizer does not know a character; ``None``
    where it knows all. ``threshold``: the least P(entailment) that passes, of a model that has no other classes.
    """

    probabilities: npt.NDArray[np.float32]
    status: npt.NDArray[np.int8]
    truncated: npt.NDArray[np.bool_]
    threshold: float = THRESHOLD
    unknown: npt.NDArray[np.bool_] | None = None


class Engine:
    """A variant of a bundle on a device.

    Args:
        bundle: an open bundle.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``; a named one that does not start is an error.
        precision: ``auto`` (the first of :func:`precisions`), or a variant (:data:`.choices.PRECISIONS`).
        token_budget: tokens a batch, padding included; by default from the device.
        threads: processors to use on the CPU; by default all this process may run on.
        exact: make sure that the fp32 variant can answer for this one (:mod:`.exact_engine`); nothing to do for fp32.
        truncate: cut pairs that are too long instead of refusing them.
        form: what surrounds the texts of a pair; by default the tokenizer's own pair encoding.
        warn: told what a user should know, such as a batch that did not fit the device.
        layout: ``auto``, ``packed`` or ``padded`` (:mod:`.batches`).
        attention: operator and kernels as a plan recorded them; by default what the device prefers.
        device_memory: GiB of a GPU's memory that each session may take; 0 for all.
        in_smoke_test: this is the process that a variant is tried in; elsewhere nothing of it is opened before it was.

    Raises:
        BundleError: no such variant, or damaged, or it does not run in bounded time and memory.
        DeviceError: the device does not start, or does not run the precision that was named.
        MissingDependencyError: the runtime that the precision needs is not installed.
    """

    def __init__(
        self,
        bundle: Bundle,
        *,
        device: str = "auto",
        precision: str = "auto",
        token_budget: int | None = None,
        step: int = 8,
        threads: int | None = None,
        exact: bool = False,
        truncate: bool = False,
        form: PairForm = PLAIN,
        warn: Callable[[str], None] = lambda message: None,
        layout: str = "auto",
        attention: str | None = None,
        device_memory: int = 0,
        in_smoke_test: bool = False,
    ) -> None:
        self.bundle = bundle
        self.threads = threads or available_threads()
        self.device = resolve_device(device, warn)
        self.precision = precisions(bundle, precision, self.device)[0]
        self.runtime = str(runtime().__version__)
        """Version of ONNX Runtime."""
        found = candidates(bundle, self.precision, layout, self.device)
        self.use = Use(bundle, found[0].variant, self.device, self.threads, device_memory=device_memory)
        grid = self._grid_of(self.precision, step, token_budget or usual_budget(self.device))
        self._truncate = truncate
        self._warn = warn
        if attention is not None:
            way = recorded(bundle, self.precision, layout, attention, self.device)
        else:
            way = found[0] if in_smoke_test else choose(self.use, found, grid, token_budget, warn)
        self.use = replace(self.use, variant=way.variant, options=way.options)
        self.instead = way.instead
        """Why the form that the device prefers is not the one that runs; empty where it is."""
        model = bundle.variant(way.variant)
        if not in_smoke_test:
            require_smoke_test(self.use, model, grid, token_budget, warn)
            grid = grid.with_budget(token_budget or known_budget(self.use) or grid.token_budget)
        self.grid = grid
        facts = read_facts(self.use, grid)
        self.least_bound = 0.0 if facts is None else facts.bound
        """Largest |Δlogit| from fp32 on the probes: what the bound of ``exact`` is at least."""
        self._tokenizer = TextTokenizer(bundle)
        probes = bundle.probes()
        self.probe_form = form_of(bundle.layout)
        """The form that the bundle's probes are in."""
        if form == PLAIN:
            form = self.probe_form
        self._tokenizer.prove(probes.premises[::8], probes.hypotheses[::8], form)
        self._form = form
        self._calls = Calls()
        self._fp32: ModelSession | None = None
        with self._closed_on_error():
            self.session = self._opened(model, self.threads, self.layout_of(grid.token_budget), way.options)
            """The variant's session; for measurements too."""
            self.exact = exact and self.precision != "fp32"
            if self.exact:
                self._admit_fp32()  # says now, not after an hour, that there is none
        self.computed = 0
        """Pairs computed so far, for progress."""
        self.shapes: Counter[tuple[int, int]] = Counter()
        """Calls so far by (pairs, sequence length)."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def provider(self) -> str:
        """What computes the variant, as a plan records it."""
        return self.device.provider

    @property
    def layout(self) -> Layout:
        """How pairs lie in the calls."""
        return self.session.layout

    def layout_of(self, token_budget: int) -> Layout:
        """This variant's layout, were calls to have so many tokens."""
        if self.use.layout == PACKED:
            return Packed(token_budget, self.bundle.max_length, self.bundle.layout)
        return Padded(self.grid.with_budget(token_budget), self.bundle.layout)

    @property
    def tokenizer(self) -> TextTokenizer:
        return self._tokenizer

    @property
    def room(self) -> int:
        """Tokens that the two texts of a pair may have together."""
        return self.bundle.max_length - self.bundle.layout.overhead

    def lengths(self, texts: Sequence[str], *, hypothesis: bool) -> npt.NDArray[np.int64]:
        """Tokens that each text takes as the one or the other half of a pair; :data:`NOT_TOKENISED` where it is too
        long. Called by the thread that prepares. *Shape:* (texts,), int64."""
        second = hypothesis != self.bundle.layout.hypothesis_first
        before, after = (self._form.before_second, "") if second else ("", self._form.after_first)
        tokens = self._tokenizer.encode([before + text + after for text in texts])
        return np.where(tokens.oversized, np.int64(NOT_TOKENISED), tokens.lengths)

    def prepare(
        self,
        texts: Sequence[str],
        premise: npt.NDArray[np.int32],
        hypothesis: npt.NDArray[np.int32],
        form: PairForm | None = None,
    ) -> Work:
        """Tokenise and pack. ``premise``, ``hypothesis``: int32, *Shape:* (asked,), positions in ``texts``."""
        form = form or self._form
        if self.bundle.layout.hypothesis_first:
            premise, hypothesis = hypothesis, premise
        if form == PLAIN:
            first = second = self._tokenizer.encode(texts, keep_beginnings=self._truncate)
        else:
            # The two roles are written differently, so a text in both is tokenised twice; tables stay parallel.
            first = self._tokenizer.encode([t + form.after_first for t in texts], keep_beginnings=self._truncate)
            second = self._tokenizer.encode([form.before_second + t for t in texts], keep_beginnings=self._truncate)
        pairs = distinct_pairs(premise, hypothesis, first, second)
        room = self.room
        too_long = pairs.first_length + pairs.second_length > room
        too_long |= first.oversized[pairs.first] | second.oversized[pairs.second]
        status = np.full(len(pairs), SCORED, np.int8)
        truncated = np.zeros(len(pairs), bool)
        if self._truncate:
            truncated = too_long
            cut_to_fit(pairs, room, too_long)
        else:
            status[too_long] = TOO_LONG
        lengths = pairs.first_length + pairs.second_length + self.bundle.layout.overhead
        batches = self.layout.pack(lengths, np.flatnonzero(status == SCORED))
        return Work(pairs, first, second, status, truncated, batches, lengths)

    def run(self, work: Work, stop: threading.Event | None = None) -> Answers:
        """Compute a prepared window. Called by the one thread that owns the device.

        Raises:
            CancelledError: ``stop`` was set; looked at between batches, so that an interrupted run ends soon.
        """
        return self.answers(work, self.run_batches(work, stop))

    def answers(self, work: Work, logits: npt.NDArray[np.float32]) -> Answers:
        """Probabilities of all checks of a window from the logits of its pairs, float32, *Shape:* (pairs, labels).

        Pairs with a logit that is not finite run once more in fp32, where the bundle has it.
        """
        self._rerun_not_finite(work, logits)
        inverse = work.pairs.inverse
        scheme = self.bundle.scheme
        probabilities = scheme.probabilities(logits)[inverse]
        unknown = None
        if work.first.unknown is not None and work.second.unknown is not None:
            unknown = (work.first.unknown[work.pairs.first] | work.second.unknown[work.pairs.second])[inverse]
        return Answers(probabilities, work.status[inverse], work.truncated[inverse], scheme.threshold, unknown)

    def select(self, work: Work, chosen: npt.NDArray[np.int64]) -> Work:
        """The same window with batches of some of its pairs alone. int64, *Shape:* (chosen,), positions of pairs."""
        return replace(work, status=work.status.copy(), batches=self.layout.pack(work.lengths, chosen))

    def feeds(self, work: Work) -> Iterator[Feed]:
        """The inputs of each of a window's calls, in their order."""
        return (self.session.feed(batch, work) for batch in work.batches)

    def run_batches(self, work: Work, stop: threading.Event | None = None) -> npt.NDArray[np.float32]:
        """The bare logits of a window's distinct pairs, NaN where none were computed; float32, *Shape:*
        (pairs, labels)."""
        logits = np.full((len(work.pairs), self.bundle.scheme.width), np.nan, np.float32)

        def compute(batch: Batch, feed: Feed) -> None:
            if stop is not None and stop.is_set():
                raise CancelledError
            self.session.compute(batch, work, logits, feed)
            self.computed += len(batch.pairs)
            work.computed_tokens += batch.tokens

        waiting: deque[Future[None]] = deque()
        with nullcontext() if self.device.row.computes_on_host else prompt_switching():
            try:
                for batch in work.batches:
                    # Put together here, while the device computes the calls before it.
                    feed = self.session.feed(batch, work)
                    waiting.append(self._calls.submit(partial(compute, batch, feed)))
                    if len(waiting) > AHEAD:
                        outcome(waiting.popleft())
                while waiting:
                    outcome(waiting.popleft())
            except BaseException:  # nobody waits for the others any more
                for call in waiting:
                    call.cancel()
                self.give_up()
                raise
        self.shapes.update((batch.rows, batch.sequence_length) for batch in work.batches)
        return logits

    def logits(self, premises: Sequence[str], hypotheses: Sequence[str]) -> npt.NDArray[np.float32]:
        """Logits of pairs of strings in the bundle's label order, float32, *Shape:* (pairs, labels); to verify.

        In the bundle's own pair layout, which its probes are in, whatever the form of this engine.
        """
        n = len(premises)
        positions = np.arange(2 * n, dtype=np.int32)
        work = self.prepare([*premises, *hypotheses], positions[:n], positions[n:], self.probe_form)
        return self.run_batches(work)[work.pairs.inverse]

    @property
    def calls(self) -> int:
        """Calls of the model so far, for progress."""
        return self._calls.done

    def give_up(self) -> None:
        """Stop the calls that are running; no caller waits for them any more."""
        self._calls.give_up()

    def close(self) -> None:
        """Stop the threads that make calls; what is being computed is given up."""
        self._calls.end()

    def run_fp32(
        self,
        work: Work,
        chosen: npt.NDArray[np.int64],
        logits: npt.NDArray[np.float32],
        stop: threading.Event | None = None,
    ) -> None:
        """Overwrite the logits of the chosen pairs with those of fp32, in calls of one shape a length."""
        if self._fp32 is None:
            self._fp32 = self._open_fp32()
        grid, row = self._grid_of("fp32", self.grid.step, self.grid.token_budget), self.device.row
        for batch in fixed_shapes(chosen, grid.padded(work.lengths), row.fixed_pairs):
            if stop is not None and stop.is_set():
                raise CancelledError
            self._fp32.compute(batch, work, logits)
        work.recomputed += len(chosen)

    def _admit_fp32(self) -> tuple[Path, Grid]:
        """The fp32 variant's file and shapes; it is tried before it answers for another one."""
        model = self.bundle.variant("fp32")
        use = replace(self.use, variant="fp32", options={})
        grid = self._grid_of("fp32", self.grid.step, self.grid.token_budget)
        require_smoke_test(use, model, grid, grid.token_budget, self._warn)
        facts = read_facts(use, grid)
        if facts is not None:
            refuse_disagreement(use, facts)
        return model, grid

    def _open_fp32(self) -> ModelSession:
        model, grid = self._admit_fp32()
        return self._opened(model, self.threads, Padded(grid, self.bundle.layout), {})

    def _opened(self, model: Path, threads: int, layout: Layout, kernels: Mapping[str, str]) -> ModelSession:
        """A session with its attention kernels and the limit of its memory."""
        limit = self.device.row.memory_limit
        memory = {limit: str(self.use.device_memory << 30)} if self.use.device_memory and limit else {}
        return ModelSession(
            f"bundle {self.use}",
            model,
            self.device,
            threads,
            self.bundle.scheme.width,
            self._calls,
            layout,
            self._warn,
            {**kernels, **memory},
        )

    def _grid_of(self, precision: str, step: int, budget: int) -> Grid:
        few = precision == "fp32" and self.device.row.few_lengths
        return Grid(step, budget, self.bundle.max_length, few)

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _rerun_not_finite(self, work: Work, logits: npt.NDArray[np.float32]) -> None:
        """Run pairs with a non-finite logit once more in fp32, alone; what stays non-finite gets no answer."""
        broken = np.flatnonzero((work.status == SCORED) & ~np.isfinite(logits).all(axis=1))
        if not len(broken):
            return
        if self.precision != "fp32" and not self.exact and "fp32" in self.bundle.variants:
            self.run_fp32(work, broken, logits)
        still = broken[~np.isfinite(logits[broken]).all(axis=1)]
        work.status[still[work.status[still] == SCORED]] = NOT_FINITE


def precisions(bundle: Bundle, asked: str, device: Device) -> list[str]:
    """What ``asked`` means on a device: a precision, or for ``auto`` those of the bundle that run there, the preferred
    one first (fp16 on CUDA, int8 on the CPU).

    Raises:
        BundleError: it is not known. DeviceError: it does not run on the device.
    """
    refused = device.row.refused
    if asked != "auto":
        if asked not in PRECISIONS:
            raise BundleError(f"precision {asked!r} is not known; choose from auto, {', '.join(PRECISIONS)}")
        if asked in refused:
            raise DeviceError(f"precision {asked} does not run on {device}: {refused[asked]}; choose another one")
        return [asked]
    usable: list[str] = list(dict.fromkeys(v.precision for v in bundle.variants.values() if v.precision not in refused))
    if not usable:
        (name, reason), *_ = refused.items()
        raise DeviceError(f"bundle {bundle.name} has only {name}, which does not run on {device}: {reason}")
    return [name for name in device.row.precisions if name in usable] or usable
