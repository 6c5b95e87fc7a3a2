"""The engine: interned pairs in, probabilities out.

Work has two halves, so that they can overlap: :meth:`Engine.prepare` is host work (tokenise, deduplicate, pack) and
may run in any one thread; :meth:`Engine.run` belongs to the one thread that owns the device.

Two ways of running, chosen by what keeps a pair's numbers its own (DESIGN: isolation):

- *batched*: padded batches on the grid of shapes (fp32, fp16);
- *single*: one pair a call at its exact length, on single-threaded calls side by side (int8 on the CPU, whose
  activation scale covers the whole call, so that neighbours would move each other's results).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BundleError
from ..status import NOT_FINITE, OUT_OF_MEMORY, SCORED, TOO_LONG
from .batches import Batch, Grid, Pairs, assemble, assemble_one, cut_to_fit, distinct_pairs, pack
from .bundle import Bundle
from .sessions import Device, available_threads, create_session, is_out_of_memory, resolve_device
from .texts import PLAIN, PairForm, TextTokenizer, Tokens

TOKEN_BUDGET = {"cpu": 4096, "cuda": 65536}
"""Tokens a batch by device, padding included, where the caller does not say."""


@dataclass
class Work:
    """A prepared window: what :meth:`Engine.run` needs and nothing more."""

    pairs: Pairs
    first: Tokens
    second: Tokens
    status: npt.NDArray[np.int8]
    truncated: npt.NDArray[np.bool_]
    batches: list[Batch]
    lengths: npt.NDArray[np.int64]

    @property
    def real_tokens(self) -> int:
        """Tokens of the pairs to compute, special tokens included, padding not."""
        return int(self.lengths[self.status == SCORED].sum())

    @property
    def padded_tokens(self) -> int:
        """Tokens the device computes, padding included."""
        return sum(len(batch.pairs) * batch.sequence_length for batch in self.batches)


@dataclass(frozen=True)
class Answers:
    """What the model said of every asked pair.

    ``probabilities``: float32, *Shape:* (asked, 3), contradiction, neutral, entailment; NaN without an answer.
    ``status``: int8, *Shape:* (asked,), of :mod:`scorer.status`. ``truncated``: bool, *Shape:* (asked,).
    """

    probabilities: npt.NDArray[np.float32]
    status: npt.NDArray[np.int8]
    truncated: npt.NDArray[np.bool_]


class Engine:
    """A variant of a bundle on a device.

    Args:
        bundle: an open bundle.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``; what is named must really start.
        precision: ``auto`` (fp16 on CUDA, int8 on the CPU, else fp32), ``fp32``, ``fp16`` or ``int8``.
        token_budget: tokens a batch, padding included; by default from the device.
        threads: processors to use on the CPU; by default all this process may run on.
        truncate: cut pairs that are too long instead of refusing them.
        form: what surrounds the texts of a pair; by default the tokenizer's own pair encoding.
        warn: told what a user should know, such as a batch that did not fit the device.

    Raises:
        BundleError: no such variant, or damaged. DeviceError: the device does not start.
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
        truncate: bool = False,
        form: PairForm = PLAIN,
        warn: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.bundle = bundle
        self.threads = threads or available_threads()
        self.device = resolve_device(device, bundle.variant(next(iter(bundle.variants))))
        self.precision = _choose_precision(bundle, precision, self.device)
        self.single = self.precision == "int8" and self.device.kind == "cpu"
        self.grid = Grid(step, token_budget or TOKEN_BUDGET[self.device.kind], bundle.max_length)
        self._truncate = truncate
        self._form = form
        self._warn = warn
        self._tokenizer = TextTokenizer(bundle)
        probes = bundle.probes()
        self._tokenizer.prove(probes.premises[::8], probes.hypotheses[::8])
        model = bundle.variant(self.precision)
        self._session = create_session(model, self.device, 1 if self.single else self.threads)
        self._pool = ThreadPoolExecutor(self.threads, "pair") if self.single else None
        self._fp32: Any = None
        self.computed = 0
        """Pairs computed so far, for progress."""
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
        before, after = (self._form.before_hypothesis, "") if hypothesis else ("", self._form.after_premise)
        tokens = self._tokenizer.encode([before + text + after for text in texts])
        return np.where(tokens.hopeless, np.int64(1) << 32, tokens.lengths)

    def prepare(
        self,
        texts: Sequence[str],
        premise: npt.NDArray[np.int32],
        hypothesis: npt.NDArray[np.int32],
        form: PairForm | None = None,
    ) -> Work:
        """Tokenise and pack. ``premise``, ``hypothesis``: int32, *Shape:* (asked,), positions in ``texts``."""
        form = form or self._form
        if form == PLAIN:
            first = second = self._tokenizer.encode(texts, keep_beginnings=self._truncate)
        else:
            # The two roles are spelt differently, so a text in both is tokenised twice; tables stay parallel.
            first = self._tokenizer.encode([t + form.after_premise for t in texts], keep_beginnings=self._truncate)
            second = self._tokenizer.encode([form.before_hypothesis + t for t in texts], keep_beginnings=self._truncate)
        pairs = distinct_pairs(premise, hypothesis, first, second)
        room = self.room
        too_long = pairs.first_length + pairs.second_length > room
        too_long |= first.hopeless[pairs.first] | second.hopeless[pairs.second]
        status = np.full(len(pairs), SCORED, np.int8)
        truncated = np.zeros(len(pairs), bool)
        if self._truncate:
            truncated = too_long
            cut_to_fit(pairs, room, too_long)
        else:
            status[too_long] = TOO_LONG
        lengths = pairs.first_length + pairs.second_length + self.bundle.layout.overhead
        batches = self._pack(lengths, np.flatnonzero(status == SCORED))
        return Work(pairs, first, second, status, truncated, batches, lengths)

    def run(self, work: Work, stop: threading.Event | None = None) -> Answers:
        """Compute a prepared window. Called by the one thread that owns the device.

        Raises:
            CancelledError: ``stop`` was set; looked at between batches, so that an interrupted run ends soon.
        """
        logits = self.run_batches(work, stop)
        self._mend_not_finite(work, logits)
        inverse = work.pairs.inverse
        return Answers(self._softmax(logits)[inverse], work.status[inverse], work.truncated[inverse])

    def run_batches(self, work: Work, stop: threading.Event | None = None) -> npt.NDArray[np.float32]:
        """The bare logits of a window's distinct pairs, NaN where none were computed; float32, *Shape:* (pairs, 3)."""
        logits = np.full((len(work.pairs), 3), np.nan, np.float32)

        def compute(batch: Batch) -> None:
            if stop is not None and stop.is_set():
                raise CancelledError
            self._run_batch(batch, work, logits)
            self.computed += len(batch.pairs)

        if self._pool is not None:
            list(self._pool.map(compute, work.batches))
        else:
            for batch in work.batches:
                compute(batch)
        return logits

    def logits(self, premises: Sequence[str], hypotheses: Sequence[str]) -> npt.NDArray[np.float32]:
        """Logits of pairs of strings in the bundle's label order, float32, *Shape:* (pairs, 3); for verification.

        In the tokenizer's own pair encoding, which the bundle's probes are in, whatever the form of this engine.
        """
        n = len(premises)
        positions = np.arange(2 * n, dtype=np.int32)
        work = self.prepare([*premises, *hypotheses], positions[:n], positions[n:], PLAIN)
        return self.run_batches(work)[work.pairs.inverse]

    def close(self) -> None:
        """Stop the worker threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def _pack(self, lengths: npt.NDArray[np.int64], chosen: npt.NDArray[np.int64]) -> list[Batch]:
        if not self.single:
            return pack(lengths, chosen, self.grid)
        order = chosen[np.argsort(-lengths[chosen], kind="stable")]
        return [Batch(order[i : i + 1], int(lengths[order[i]])) for i in range(len(order))]

    def _run_batch(self, batch: Batch, work: Work, logits: npt.NDArray[np.float32], session: Any = None) -> None:
        tables = (work.pairs, work.first, work.second, self.bundle.layout)
        if self.single and session is None:
            ids, mask = assemble_one(int(batch.pairs[0]), *tables)
        else:
            ids, mask = assemble(batch, *tables)
        feed = {"input_ids": ids, "attention_mask": mask}
        try:
            logits[batch.pairs] = (session or self._session).run(
                ["logits"], {name: feed[name] for name in self._inputs}
            )[0]
        except Exception as e:  # the runtime raises its own classes, which share only Exception
            if not is_out_of_memory(e):
                raise
            self._halve(batch, work, logits, session)

    def _halve(self, batch: Batch, work: Work, logits: npt.NDArray[np.float32], session: Any) -> None:
        n = len(batch.pairs)
        if n == 1:
            work.status[batch.pairs] = OUT_OF_MEMORY
            self._warn(f"a pair of {batch.sequence_length} tokens does not fit the memory of {self.device}")
            return
        self._warn(f"a batch of {n} × {batch.sequence_length} tokens does not fit {self.device}; halving it")
        for half in (batch.pairs[: n // 2], batch.pairs[n // 2 :]):
            self._run_batch(Batch(half, batch.sequence_length), work, logits, session)

    def _mend_not_finite(self, work: Work, logits: npt.NDArray[np.float32]) -> None:
        """Run pairs with a non-finite logit once more in fp32, alone; what stays non-finite gets no answer."""
        broken = np.flatnonzero((work.status == SCORED) & ~np.isfinite(logits).all(axis=1))
        if not len(broken):
            return
        if self.precision != "fp32" and "fp32" in self.bundle.variants:
            if self._fp32 is None:
                self._fp32 = create_session(self.bundle.variant("fp32"), self.device, self.threads)
            padded = self.grid.padded(work.lengths)
            for p in broken.tolist():
                self._run_batch(Batch(np.array([p]), int(padded[p])), work, logits, self._fp32)
        still = broken[~np.isfinite(logits[broken]).all(axis=1)]
        work.status[still[work.status[still] == SCORED]] = NOT_FINITE

    def _softmax(self, logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Probabilities in the order C, N, E. *Shape:* (pairs, 3), float32 → (pairs, 3), float32."""
        ordered = logits[:, self.bundle.label_columns].astype(np.float64)
        with np.errstate(invalid="ignore"):  # NaN and infinity are counted, not warned about
            weights = np.exp(ordered - ordered.max(axis=1, keepdims=True))
            return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def _choose_precision(bundle: Bundle, asked: str, device: Device) -> str:
    if asked != "auto":
        if asked not in ("fp32", "fp16", "int8"):
            raise BundleError(f"precision {asked!r} is not known; write auto, fp32, fp16 or int8")
        return asked
    preferred = "fp16" if device.kind == "cuda" else "int8"
    for choice in (preferred, "fp32"):
        if choice in bundle.variants:
            return choice
    return next(iter(bundle.variants))
