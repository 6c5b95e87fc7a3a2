"""The engine: interned pairs in, probabilities out.

Work has two halves, so that they can overlap: :meth:`Engine.prepare` is host work (tokenise, deduplicate, pack) and
may run in any one thread; :meth:`Engine.run` belongs to the one thread that owns the device.

Two ways of running, chosen by what keeps a pair's numbers its own (DESIGN: isolation):

- *batched*: padded batches on the grid of shapes (fp32, fp16);
- *per pair*: each pair by itself at its exact length, on single-threaded calls side by side (int8 on the CPU, whose
  activation scale covers all that is in a product, so that neighbours would move each other's results). A few pairs
  share a call where the graph takes them one after the other; else a pair is a call.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BundleError
from ..status import NOT_FINITE, OUT_OF_MEMORY, SCORED, TOO_LONG
from .batches import Batch, Grid, assemble, assemble_few, cut_to_fit, distinct_pairs, pack, segment_ids
from .budget import TOKEN_BUDGETS, known_budget, usual_budget
from .bundle import PRECISIONS, Bundle
from .cache import Use
from .calls import Calls, OutOfMemoryError
from .exact import RERUN_BATCH, fixed_shapes
from .facts import read_facts, refuse_disagreement
from .first_use import admit
from .sessions import Device, available_threads, create_session, resolve_device
from .texts import PLAIN, SPACED, PairForm, TextTokenizer
from .work import Answers, Work

__all__ = ["TOKEN_BUDGETS", "Answers", "Engine", "Work"]

PAIRS_A_CALL, TOKENS_A_CALL = 8, 1024
"""At most, of a graph that takes pairs one after the other. Weights come from memory once for so many pairs. Long pairs
gain little by company, and an interrupted run ends when its calls do."""

Feed = dict[str, npt.NDArray[np.int64]]
"""What a call of the model takes: its inputs by name."""


class Engine:
    """A variant of a bundle on a device.

    Args:
        bundle: an open bundle.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``; what is named must really start.
        precision: ``auto`` (fp16 on CUDA, int8 on the CPU, else fp32), ``fp32``, ``fp16`` or ``int8``.
        token_budget: tokens a batch, padding included; by default from the device.
        threads: processors to use on the CPU; by default all this process may run on.
        exact: make sure that the fp32 variant can answer for this one (:mod:`.exact_engine`); nothing to do for fp32.
        truncate: cut pairs that are too long instead of refusing them.
        form: what surrounds the texts of a pair; by default the tokenizer's own pair encoding.
        warn: told what a user should know, such as a batch that did not fit the device.
        on_trial: this is the process that a variant is tried in; elsewhere nothing of it is opened before it was.

    Raises:
        BundleError: no such variant, or damaged, or it does not run in bounded time and memory.
        DeviceError: the device does not start.
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
        on_trial: bool = False,
    ) -> None:
        self.bundle = bundle
        self.threads = threads or available_threads()
        self.device = resolve_device(device)
        self.precision = _choose_precision(bundle, precision, self.device)
        model = bundle.variant(self.precision)
        self.use = Use(bundle, self.precision, self.device, self.threads)
        self.per_pair = self.use.per_pair
        grid = Grid(step, token_budget or usual_budget(self.device.kind), bundle.max_length)
        self._truncate = truncate
        self._warn = warn
        if not on_trial:
            admit(self.use, model, grid, token_budget, warn)
            grid = grid.with_budget(token_budget or known_budget(self.use) or grid.token_budget)
        self.grid = grid
        facts = read_facts(self.use, grid)
        self.least_bound = 0.0 if facts is None else facts.bound
        """Largest |Δlogit| from fp32 on the probes: what the bound of ``exact`` is at least."""
        self._calls = Calls(f"bundle {self.use}", bundle.scheme.width)
        self._tokenizer = TextTokenizer(bundle)
        probes = bundle.probes()
        self._probe_form = SPACED if bundle.layout.one_string else PLAIN
        if form == PLAIN:
            form = self._probe_form
        self._tokenizer.prove(probes.premises[::8], probes.hypotheses[::8], form)
        self._form = form
        self._pairs_a_call = PAIRS_A_CALL if bundle.variants[self.precision].by_pair else 1
        self._session = create_session(model, self.device, 1 if self.per_pair else self.threads)
        self._pool = ThreadPoolExecutor(self.threads, "pair") if self.per_pair else None
        self._assembling = ThreadPoolExecutor(1, "assemble")
        self._fp32: Any = None
        self.exact = exact and self.precision != "fp32"
        if self.exact:
            self._admit_fp32()  # says now, not after an hour, that there is none
        self._fitting: int | None = None
        self.computed = 0
        """Pairs computed so far, for progress."""
        self.shapes: Counter[tuple[int, int]] = Counter()
        """Calls so far by (pairs, sequence length)."""
        self._inputs = [node.name for node in self._session.get_inputs()]

    @property
    def tokenizer(self) -> TextTokenizer:
        return self._tokenizer

    @property
    def room(self) -> int:
        """Tokens that the two texts of a pair may have together."""
        return self.bundle.max_length - self.bundle.layout.overhead

    def lengths(self, texts: Sequence[str], *, hypothesis: bool) -> npt.NDArray[np.int64]:
        """Tokens that each text takes as the one or the other half of a pair; beyond any room where it is too long to
        be tokenised. Called by the thread that prepares. *Shape:* (texts,), int64."""
        second = hypothesis != self.bundle.layout.hypothesis_first
        before, after = (self._form.before_second, "") if second else ("", self._form.after_first)
        tokens = self._tokenizer.encode([before + text + after for text in texts])
        return np.where(tokens.oversized, np.int64(1) << 32, tokens.lengths)

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
        batches = self._pack(lengths, np.flatnonzero(status == SCORED))
        return Work(pairs, first, second, status, truncated, batches, lengths, pads=not self.per_pair)

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
        return Answers(probabilities, work.status[inverse], work.truncated[inverse], scheme.threshold)

    def select(self, work: Work, chosen: npt.NDArray[np.int64]) -> Work:
        """The same window with batches of some of its pairs alone. int64, *Shape:* (chosen,), positions of pairs."""
        return replace(work, status=work.status.copy(), batches=self._pack(work.lengths, chosen))

    def run_batches(self, work: Work, stop: threading.Event | None = None) -> npt.NDArray[np.float32]:
        """The bare logits of a window's distinct pairs, NaN where none were computed; float32, *Shape:*
        (pairs, labels)."""
        logits = np.full((len(work.pairs), self.bundle.scheme.width), np.nan, np.float32)

        def compute(batch: Batch, feed: Feed | None = None) -> None:
            if stop is not None and stop.is_set():
                raise CancelledError
            self._run_batch(batch, work, logits, feed=feed)
            self.computed += len(batch.pairs)

        if self._pool is not None:
            try:
                list(self._pool.map(compute, work.batches))
            except BaseException:  # nobody waits for the others any more
                self.give_up()
                raise
        else:
            # The next batch is put together while the device computes, so that it does not wait for the host.
            ahead: Future[Feed] | None = None
            for batch, following in zip_longest(work.batches, work.batches[1:]):
                feed = ahead.result() if ahead is not None else self._feed(batch, work)
                ahead = self._assembling.submit(self._feed, following, work) if following is not None else None
                compute(batch, feed)
        self.shapes.update((len(batch.pairs), batch.sequence_length) for batch in work.batches)
        return logits

    def logits(self, premises: Sequence[str], hypotheses: Sequence[str]) -> npt.NDArray[np.float32]:
        """Logits of pairs of strings in the bundle's label order, float32, *Shape:* (pairs, labels); to verify.

        In the bundle's own pair layout, which its probes are in, whatever the form of this engine.
        """
        n = len(premises)
        positions = np.arange(2 * n, dtype=np.int32)
        work = self.prepare([*premises, *hypotheses], positions[:n], positions[n:], self._probe_form)
        return self.run_batches(work)[work.pairs.inverse]

    def call(self, ids: npt.NDArray[np.int64], mask: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """One call of the model. int64, *Shape:* (batch, sequence) each → logits, float32, *Shape:* (batch, labels).

        Where the model takes segment ids they are all 0.
        """
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        return self._calls.run(self._session, {name: feed[name] for name in self._inputs})

    @property
    def calls(self) -> int:
        """Calls of the model so far, for progress."""
        return self._calls.done

    def give_up(self) -> None:
        """Have calls that are under way end: whoever waited for them has left."""
        self._calls.give_up()

    def close(self) -> None:
        """Stop the worker threads; what is being computed is given up."""
        ended = self._calls.end()
        for threads in (self._pool, self._assembling):
            if threads is not None:
                threads.shutdown(wait=ended, cancel_futures=True)

    def _pack(self, lengths: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]) -> list[Batch]:
        if not self.per_pair:
            return pack(lengths, chosen, self.grid)
        if not len(chosen):
            return []
        order = chosen[np.argsort(-lengths[chosen], kind="stable")]
        # As many calls for each thread, so that at the end none is long without work.
        calls = self.threads * -(-len(order) // (self.threads * self._pairs_a_call))
        batches = []
        for together in np.array_split(order, min(calls, len(order))):
            size = max(1, TOKENS_A_CALL // int(lengths[together[0]]))
            for start in range(0, len(together), size):
                batches.append(Batch(together[start : start + size], int(lengths[together[start]])))
        return batches

    def _feed(self, batch: Batch, work: Work) -> Feed:
        put_together = assemble_few if len(batch.pairs) <= PAIRS_A_CALL else assemble
        ids, mask = put_together(batch, work.pairs, work.first, work.second, self.bundle.layout)
        feed = {"input_ids": ids, "attention_mask": mask}
        if self.bundle.layout.segments:
            feed["token_type_ids"] = segment_ids(batch, work.pairs, self.bundle.layout)
        return {name: feed[name] for name in self._inputs}

    def _run_batch(
        self, batch: Batch, work: Work, logits: npt.NDArray[np.float32], session: Any = None, feed: Feed | None = None
    ) -> None:
        size = len(batch.pairs) * batch.sequence_length
        if self._fitting is not None and size > self._fitting and len(batch.pairs) > 1:
            self._halve(batch, work, logits, session)
            return
        if feed is None:
            feed = self._feed(batch, work)
        try:
            logits[batch.pairs] = self._calls.run(session or self._session, feed)
        except OutOfMemoryError:
            if len(batch.pairs) == 1:
                work.status[batch.pairs] = OUT_OF_MEMORY
                self._warn(f"a pair of {batch.sequence_length} tokens does not fit the memory of {self.device}")
                return
            # What did not fit once is not tried again: later batches are cut to half of it from the start.
            self._fitting = size // 2
            self._warn(
                f"a batch of {len(batch.pairs)} × {batch.sequence_length} tokens does not fit {self.device}; from here "
                f"on batches have at most {self._fitting} tokens"
            )
            self._halve(batch, work, logits, session)

    def _halve(self, batch: Batch, work: Work, logits: npt.NDArray[np.float32], session: Any) -> None:
        n = len(batch.pairs)
        for half in (batch.pairs[: n // 2], batch.pairs[n // 2 :]):
            self._run_batch(Batch(half, batch.sequence_length), work, logits, session)

    def run_fp32(
        self,
        work: Work,
        chosen: npt.NDArray[np.int64],
        logits: npt.NDArray[np.float32],
        stop: threading.Event | None = None,
    ) -> None:
        """Overwrite the logits of the chosen pairs with those of fp32, in calls of one shape a length."""
        if self._fp32 is None:
            self._fp32 = create_session(self._admit_fp32(), self.device, self.threads)
        for pairs, length in fixed_shapes(chosen, self.grid.padded(work.lengths), RERUN_BATCH[self.device.kind]):
            if stop is not None and stop.is_set():
                raise CancelledError
            self._run_batch(Batch(pairs, length), work, logits, self._fp32)
        work.recomputed += len(chosen)

    def _admit_fp32(self) -> Path:
        """The file of the fp32 variant, which is tried before it answers for another one."""
        model = self.bundle.variant("fp32")
        use = replace(self.use, precision="fp32")
        admit(use, model, self.grid, self.grid.token_budget, self._warn)
        facts = read_facts(use, self.grid)
        if facts is not None:
            refuse_disagreement(use, facts)
        return model

    def _rerun_not_finite(self, work: Work, logits: npt.NDArray[np.float32]) -> None:
        """Run pairs with a non-finite logit once more in fp32, alone; what stays non-finite gets no answer."""
        broken = np.flatnonzero((work.status == SCORED) & ~np.isfinite(logits).all(axis=1))
        if not len(broken):
            return
        if self.precision != "fp32" and not self.exact and "fp32" in self.bundle.variants:
            self.run_fp32(work, broken, logits)
        still = broken[~np.isfinite(logits[broken]).all(axis=1)]
        work.status[still[work.status[still] == SCORED]] = NOT_FINITE


def _choose_precision(bundle: Bundle, asked: str, device: Device) -> str:
    if asked != "auto":
        if asked not in PRECISIONS:
            raise BundleError(f"precision {asked!r} is not known; write auto, fp32, fp16 or int8")
        return asked
    preferred = "fp16" if device.kind == "cuda" else "int8"
    for choice in (preferred, "fp32"):
        if choice in bundle.variants:
            return choice
    return next(iter(bundle.variants))
