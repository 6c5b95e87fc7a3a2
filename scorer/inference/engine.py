"""The engine: interned pairs in, probabilities out.

Two halves overlap: :meth:`Engine.encode` is host work (tokenise, deduplicate, pack), :meth:`Engine.predict` waits for
the device. Any thread may call either: of predictions one runs at a time, and of tokenisations.

With ``exact``, labels are those of fp32: pairs that are too close to call run again. A pair's label can differ from
fp32's only where a variant moves its two highest logits past each other, that is where they lie within twice the
largest movement of a logit (:meth:`.Scheme.decision_distances`). That movement is measured on pairs of the very data,
in the way they are run, and taken half as large again, since the largest of a sample is not the largest of all.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from ..status import NOT_FINITE, NOT_TOKENISED, SCORED, TOO_LONG
from ..system.bounds import ExactBound
from ..system.codec import Magnitude, Record
from ..system.waiting import Closing, prompt_switching, result_of
from .batching import Batch, EncodedPairs, Feed, cut_to_fit, distinct_pairs, fixed_shapes
from .bundle import THRESHOLD
from .session import DeviceThread, ModelSession, VariantOnDevice, runtime
from .tokenizer import PairFormat, TextTokenizer

EXACT_FACTOR = 1.5
EXACT_PAIRS = 4096
"""Pairs that the bound of ``exact`` is measured on, at least, where the data has so many."""
WAITING_CALLS = 2
"""Calls that wait in the thread of the device behind the one that it makes."""
Logits = npt.NDArray[np.float32]


def margin_of(bound: ExactBound) -> float:
    """The margin of ``exact``: pairs whose two highest logits are nearer than this run again."""
    return 2 * EXACT_FACTOR * bound.largest


def join_bounds(fast: Logits, fp32: Logits, at_least: float, before: ExactBound | None = None) -> ExactBound:
    """The bound of two variants' logits, joined to an earlier one.

    Pairs that are not finite in either variant are ignored: they run again in any case.

    Args:
        fast, fp32: float32, *Shape:* (pairs, labels).
        at_least: the bound of the bundle's probes, a minimum until :data:`EXACT_PAIRS` pairs are measured.
        before: the earlier bound.
    """
    difference = np.abs(fast - fp32).max(axis=1, initial=0.0)
    difference = difference[np.isfinite(difference)]
    pairs = len(difference) + (before.pairs if before else 0)
    largest = max(float(difference.max(initial=0.0)), before.largest if before else 0.0)
    return ExactBound(pairs, largest if pairs >= EXACT_PAIRS else max(largest, at_least))


class DeviceReport(Record, frozen=True, kw_only=True):
    """Agreement, bound, isolation and token budget of a variant on a device."""

    schema: int = 1
    probes: Annotated[int, Meta(gt=0)]
    """Number of probes."""
    agreement: Annotated[float, Meta(ge=0, le=1)]
    """Share of the probes with the checkpoint's fp32 label."""
    bound: Magnitude
    """Largest |Δlogit| between the variant and the checkpoint."""
    invariance_error: Magnitude
    """Largest |Δlogit| between a pair alone and the same pair in a batch with others; 0 is *isolated*."""
    token_budget: Annotated[int, Meta(gt=0)]
    """Tokens a batch, padding included."""


@dataclass(frozen=True)
class Predictions:
    """Model predictions for all requested pairs."""

    probabilities: npt.NDArray[np.float32]
    """Contradiction, neutral, entailment, *Shape:* (requested, 3); NaN for a pair that is not scored, and where the
    model has no such class."""
    status: npt.NDArray[np.int8]
    """Status of each pair (:mod:`scorer.status`), *Shape:* (requested,)."""
    truncated: npt.NDArray[np.bool_]
    """Pairs that were cut to the model's maximum, *Shape:* (requested,)."""
    threshold: float = THRESHOLD
    """Least P(entailment) that passes, for a model without the other classes."""
    unknown: npt.NDArray[np.bool_] | None = None
    """Pairs with characters that the tokenizer does not know, *Shape:* (requested,)."""


class Engine(Closing):
    """A variant of a bundle on a device, as :func:`.open_engine` opens it.

    Args:
        token_budget: tokens a batch, padding included.
        truncate: cut pairs that are too long instead of refusing them.
        one_string: write pairs as one string (:class:`.PairFormat`) instead of by the bundle's own pair encoding.
        warn: called with messages for the user, such as a batch that did not fit the device.
        verify: called with the fp32 variant and the tokens a batch before it stands in for another variant.

    Attributes:
        room: tokens that the two texts of a pair may have together.
        report: measurements of the variant on this device; ``None`` before it is verified.
        fallback_reason: why the preferred form or precision is not the one that runs; empty where it is.
        exact: whether undecided pairs run again in fp32; never for fp32 itself.
        bound: the bound of ``exact``; measured on the first window where it is ``None``.
        computed: pairs computed so far, probes included, for progress.
        probe_format: the format of the bundle's probes and of its model's training data.
    """

    def __init__(
        self,
        use: VariantOnDevice,
        token_budget: int,
        *,
        truncate: bool = False,
        one_string: bool = False,
        warn: Callable[[str], None] = lambda message: None,
        verify: Callable[[VariantOnDevice, int], object] = lambda use, token_budget: None,
    ) -> None:
        self.bundle, self.use, self.device, self.threads = use.bundle, use, use.device, use.threads
        self.precision, self.provider = use.precision, use.device.spec.provider
        self.room = use.bundle.max_length - use.bundle.layout.overhead
        self.runtime = str(runtime().__version__)
        self.grid = use.padded(token_budget)
        self.report: DeviceReport | None = None
        self.fallback_reason = ""
        self.exact = False
        self.bound: ExactBound | None = None
        self.computed = 0
        self.thread = DeviceThread()
        self._turn = threading.Lock()
        self._stop: threading.Event | None = None
        self._truncate, self._warn, self._verify = truncate, warn, verify
        self._fp32: ModelSession | None = None
        try:
            opening = self.thread.submit(partial(ModelSession, use, self.thread, use.layout_of(token_budget), warn))
            self.tokenizer = TextTokenizer(use.bundle)  # while the session is opened
            single_string = PairFormat.NO_SEPARATOR if use.bundle.layout.one_text else PairFormat.ONE_STRING
            self.probe_format = single_string if use.bundle.layout.one_string else PairFormat.SEPARATE
            self._format = PairFormat.ONE_STRING if one_string else self.probe_format
            probes = use.bundle.probes()
            self.tokenizer.check_pair_encoding(probes.premises[::8], probes.hypotheses[::8], self._format)
            self.session = result_of(opening)
        except BaseException:
            self.close()
            raise

    def set_budget(self, token_budget: int) -> None:
        self.grid = self.use.padded(token_budget)
        self.session.layout = self.use.layout_of(token_budget)

    def lengths(self, texts: Sequence[str], *, hypothesis: bool) -> npt.NDArray[np.int64]:
        """Tokens of each text as one half of a pair, :data:`NOT_TOKENISED` where it is too long; int64, *Shape:*
        (texts,). Called by the thread that encodes."""
        second = hypothesis != self.bundle.layout.hypothesis_first
        before, after = (self._format.before_second, "") if second else ("", self._format.after_first)
        tokens = self.tokenizer.encode([before + text + after for text in texts])
        return np.where(tokens.oversized, np.int64(NOT_TOKENISED), tokens.lengths)

    def encode(
        self,
        texts: Sequence[str],
        premise: npt.NDArray[np.int32],
        hypothesis: npt.NDArray[np.int32],
        pair_format: PairFormat | None = None,
    ) -> EncodedPairs:
        """Tokenise and pack. ``premise``, ``hypothesis``: int32, *Shape:* (requested,), positions in ``texts``."""
        pair_format = pair_format or self._format
        if self.bundle.layout.hypothesis_first:
            premise, hypothesis = hypothesis, premise
        if pair_format == PairFormat.SEPARATE:
            first = second = self.tokenizer.encode(texts, keep_beginnings=self._truncate)
        else:
            # The two roles are written differently, so a text in both is tokenised twice; tables stay parallel.
            after, before = pair_format.after_first, pair_format.before_second
            first = self.tokenizer.encode([text + after for text in texts], keep_beginnings=self._truncate)
            second = self.tokenizer.encode([before + text for text in texts], keep_beginnings=self._truncate)
        pairs = distinct_pairs(premise, hypothesis, first, second)
        too_long = pairs.first_length + pairs.second_length > self.room
        too_long |= first.oversized[pairs.first] | second.oversized[pairs.second]
        status = np.full(len(too_long), SCORED, np.int8)
        truncated = np.zeros(len(too_long), bool)
        if self._truncate:
            truncated = too_long
            cut_to_fit(pairs, self.room, too_long)
        else:
            status[too_long] = TOO_LONG
        lengths = pairs.first_length + pairs.second_length + self.bundle.layout.overhead
        batches = self.session.layout.pack(lengths, np.flatnonzero(status == SCORED))
        return EncodedPairs(pairs, first, second, status, truncated, batches, lengths)

    def predict(self, encoded: EncodedPairs, stop: threading.Event | None = None) -> Predictions:
        """Compute an encoded window, after those of other threads.

        A pair with a logit that is not finite runs once more, in fp32; where that does not help it gets no answer.

        Raises:
            CancelledError: ``stop`` was set; looked at between batches.
        """
        with self._turn:
            self._stop = stop
            try:
                return self._predict(encoded, stop)
            finally:
                self._stop = None

    def _predict(self, encoded: EncodedPairs, stop: threading.Event | None) -> Predictions:
        logits = self.compute(encoded, stop)
        if self.exact:
            if self.bound is None:
                self.bound = self.measure_bound(encoded)
            decided = self.bundle.scheme.decision_distances(logits) >= margin_of(
                self.bound
            )  # not where a logit is not finite
            decided &= np.isfinite(logits).all(axis=1)
            if encoded.always_exact is not None:
                decided &= ~encoded.always_exact
            self._compute_fp32(encoded, np.flatnonzero((encoded.status == SCORED) & ~decided), logits, stop)
        broken = np.flatnonzero((encoded.status == SCORED) & ~np.isfinite(logits).all(axis=1))
        if len(broken) and self.precision != "fp32" and not self.exact and "fp32" in self.bundle.variants:
            self._compute_fp32(encoded, broken, logits, None)
        still_broken = broken[~np.isfinite(logits[broken]).all(axis=1)]
        encoded.status[still_broken[encoded.status[still_broken] == SCORED]] = NOT_FINITE
        inverse = encoded.pairs.inverse
        unknown = encoded.first.unknown[encoded.pairs.first] | encoded.second.unknown[encoded.pairs.second]
        scheme = self.bundle.scheme
        return Predictions(
            probabilities=scheme.probabilities(logits)[inverse],
            status=encoded.status[inverse],
            truncated=encoded.truncated[inverse],
            threshold=scheme.threshold,
            unknown=unknown[inverse],
        )

    def compute(self, encoded: EncodedPairs, stop: threading.Event | None = None) -> Logits:
        """Logits of a window's distinct pairs, NaN where none were computed; float32, *Shape:* (pairs, labels)."""
        logits = np.full((len(encoded.lengths), self.bundle.scheme.width), np.nan, np.float32)

        def call(batch: Batch, feed: Feed) -> None:
            if stop is not None and stop.is_set():
                raise CancelledError
            self.session.compute(batch, encoded, logits, feed)
            self.computed += len(batch.pairs)
            encoded.computed_tokens += batch.tokens

        waiting: deque[Future[None]] = deque()
        with nullcontext() if self.device.spec.is_host else prompt_switching():
            try:
                for batch in encoded.batches:
                    # Put together here, while the device computes the calls before it.
                    feed = self.session.layout.assemble(batch, encoded)
                    waiting.append(self.thread.submit(partial(call, batch, feed)))
                    if len(waiting) > WAITING_CALLS:
                        result_of(waiting.popleft())
                while waiting:
                    result_of(waiting.popleft())
            except BaseException:  # nobody waits for the remaining calls any more
                for future in waiting:
                    future.cancel()
                self.thread.cancel()
                raise
        return logits

    def logits(self, premises: Sequence[str], hypotheses: Sequence[str]) -> Logits:
        """Logits of :meth:`encode_pairs` in the bundle's label order, float32, *Shape:* (pairs, labels)."""
        return self.compute(self.encode_pairs(premises, hypotheses))

    def encode_pairs(self, premises: Sequence[str], hypotheses: Sequence[str]) -> EncodedPairs:
        """A window of pairs of strings, in their order, in the format of the bundle's probes."""
        n = len(premises)
        positions = np.arange(2 * n, dtype=np.int32)
        return self.encode([*premises, *hypotheses], positions[:n], positions[n:], self.probe_format)

    def measure_bound(
        self, encoded: EncodedPairs, limit: int = EXACT_PAIRS, before: ExactBound | None = None
    ) -> ExactBound:
        """Measure the bound of ``exact`` on up to ``limit`` pairs of a window, evenly over lengths; join ``before``."""
        positions = np.flatnonzero(encoded.status == SCORED)
        if len(positions) > limit:
            order = positions[np.argsort(encoded.lengths[positions], kind="stable")]
            positions = np.sort(order[np.linspace(0, len(order) - 1, limit).astype(int)])
        batches = self.session.layout.pack(encoded.lengths, positions)
        sample = replace(encoded, status=encoded.status.copy(), batches=batches)
        fp32 = np.full((len(encoded.lengths), self.bundle.scheme.width), np.nan, np.float32)
        fast = self.compute(sample)
        self._compute_fp32(sample, positions, fp32, None)
        at_least = 0.0 if self.report is None else self.report.bound
        return join_bounds(fast[positions], fp32[positions], at_least, before)

    def cancel(self, stop: threading.Event) -> None:
        """Cancel the call under way if it belongs to the prediction that ``stop`` ends: nobody waits for its result."""
        running = self.thread.running  # read before the prediction: it may end, and another one begin
        if self._stop is stop and running is not None:
            running.terminate = True

    def close(self) -> None:
        """Cancel the call under way, and end the thread that makes calls."""
        self.thread.close()

    def admit_fp32(self) -> VariantOnDevice:
        """The fp32 variant, verified before it stands in for another one."""
        self.bundle.variant("fp32")
        use = replace(self.use, variant="fp32", options={})
        self._verify(use, self.grid.token_budget)
        return use

    def _compute_fp32(
        self, encoded: EncodedPairs, positions: npt.NDArray[np.int64], logits: Logits, stop: threading.Event | None
    ) -> None:
        """Overwrite the logits of the pairs at ``positions`` with those of fp32, in calls of one shape a length."""
        if self._fp32 is None:
            use = self.admit_fp32()
            layout = use.layout_of(self.grid.token_budget)
            self._fp32 = self.thread.call(partial(ModelSession, use, self.thread, layout, self._warn))
        padded = self._fp32.use.padded(self.grid.token_budget).padded(encoded.lengths)
        for batch in fixed_shapes(positions, padded, self.device.spec.fixed_pairs):
            if stop is not None and stop.is_set():
                raise CancelledError
            self.thread.call(partial(self._fp32.compute, batch, encoded, logits))
        encoded.recomputed += len(positions)
