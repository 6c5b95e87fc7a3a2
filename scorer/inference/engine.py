"""The engine: interned pairs in, probabilities out.

It has two halves, so that they can overlap: :meth:`Engine.encode` is host work (tokenise, deduplicate, pack) and may
run in any one thread; :meth:`Engine.predict` belongs to the one thread that owns the device.

How pairs share calls is chosen by what keeps a pair's numbers its own (DESIGN: isolation): see :mod:`.batching`.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BundleError, DeviceError
from ..status import NOT_FINITE, NOT_TOKENISED, SCORED, TOO_LONG
from ..system.waiting import Closing, outcome, prompt_switching
from . import PRECISIONS, verification
from .batching import Batch, EncodedPairs, Feed, cut_to_fit, distinct_pairs, fixed_shapes
from .bundle import THRESHOLD, Bundle
from .device import Device
from .scheme import EXACT_PAIRS, ExactBound, is_doubtful, join_bounds, probabilities
from .session import DeviceThread, ModelSession, VariantOnDevice, available_threads, resolve_device, runtime
from .tokenizer import PairFormat, TextTokenizer
from .verification import DeviceReport, DisagreementError

__all__ = ["EXACT_PAIRS", "EncodedPairs", "Engine", "ExactBound", "Predictions", "variants_for"]

WAITING_CALLS = 2
"""Calls that wait in the thread of the device behind the one that it makes."""
Logits = npt.NDArray[np.float32]


def variants_for(
    on: Device,
    bundle: Bundle,
    *,
    precision: str = "auto",
    layout: str = "auto",
    attention: str | None = None,
    **settings: Any,
) -> list[list[VariantOnDevice]]:
    """For each precision, the preferred one first, the variants that may run on a device, the preferred one first.

    Args:
        precision: ``auto`` (the first of the device's that keeps the checkpoint's labels there: fp16, then fp32 on
            CUDA; int8, then fp32 on the CPU), or one of :data:`scorer.inference.PRECISIONS`.
        layout: ``auto`` for those that suit the device, ``packed`` or ``padded``.
        attention: operator and kernels as a plan recorded them; ``None`` for what the device prefers.
        settings: further fields of :class:`.VariantOnDevice`.

    Raises:
        BundleError: the bundle has none, or the precision is not known.
        DeviceError: the precision does not run there, or the device computes the attention otherwise.
    """
    refused = on.spec.refused
    if precision == "auto":
        own = {str(variant.precision) for variant in bundle.variants.values()} - refused.keys()
        wanted = [name for name in on.spec.precisions if name in own] or sorted(own)
        if not wanted:
            (name, reason), *_ = refused.items()
            raise DeviceError(f"bundle {bundle.name} has only {name}, which does not run on {on}: {reason}")
    elif precision not in PRECISIONS:
        raise BundleError(f"precision {precision!r} is not known; choose from auto, {', '.join(PRECISIONS)}")
    elif precision in refused:
        raise DeviceError(f"precision {precision} does not run on {on}: {refused[precision]}; choose another one")
    else:
        wanted = [precision]
    found = []
    for name in wanted:
        forms = [
            VariantOnDevice(bundle, key, on, options=on.spec.attention.get(one, {}), **settings)
            for one in (on.spec.layouts if layout == "auto" else (layout,))
            for key, variant in bundle.variants.items()
            if (variant.precision, variant.layout) == (name, one)
        ]
        if not forms:
            raise bundle.lacks(name if layout == "auto" else f"{layout} {name}")
        found.append(forms)
    if attention is None:
        return found
    for use in found[0]:
        if use.attention == attention:
            return [[use]]
    raise DeviceError(
        f"the plan records the layout {layout} with the attention {attention!r}, which bundle {bundle.name} does not "
        f"have on {on}; run into a new folder"
    )


@dataclass(frozen=True)
class Predictions:
    """Model predictions for all requested pairs.

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


class Engine(Closing):
    """A variant of a bundle on a device, opened by :meth:`open`.

    Attributes:
        use: bundle, variant, device, threads and options of the provider.
        provider: what computes the variant, as a plan records it.
        room: tokens that the two texts of a pair may have together.
        report: what the variant does on this device; ``None`` before it is verified.
        fallback_reason: why the preferred form or precision is not the one that runs; empty where it is.
        exact: whether undecided pairs run again in fp32; never for fp32 itself.
        bound: of ``exact``; measured on the first window where it is ``None``.
        computed: pairs computed so far, for progress.
    """

    def __init__(
        self,
        use: VariantOnDevice,
        token_budget: int,
        *,
        truncate: bool = False,
        pair_format: PairFormat = PairFormat.SEPARATE,
        warn: Callable[[str], None] = lambda message: None,
        is_known: bool = False,
    ) -> None:
        """Open the tokenizer and the session of a variant, verified or not.

        Args:
            is_known: the variant has run on this device before, so that no call is made to find out.

        Raises:
            BundleError, DeviceError: see :meth:`open`.
        """
        self.bundle, self.use, self.device, self.threads = use.bundle, use, use.device, use.threads
        self.precision, self.provider = use.precision, use.device.spec.provider
        self.room = use.bundle.max_length - use.bundle.layout.overhead
        self.runtime = str(runtime().__version__)
        self.grid = use.grid(token_budget)
        self.report: DeviceReport | None = None
        self.fallback_reason = ""
        self.exact = False
        self.bound: ExactBound | None = None
        self.computed = 0
        self._truncate, self._warn = truncate, warn
        self._thread = DeviceThread()
        self._fp32: ModelSession | None = None
        try:
            # Hashed while the libraries are loaded, and opened while the tokenizer is.
            self._thread.submit(partial(use.bundle.variant, use.variant))
            use.device.spec.prepare(runtime())
            session = partial(ModelSession, use, self._thread, use.layout_of(token_budget), warn)
            opening = self._thread.submit(partial(session, first_call=not is_known))
            self.tokenizer = TextTokenizer(use.bundle)
            one_string = PairFormat.NO_SEPARATOR if use.bundle.layout.one_text else PairFormat.ONE_STRING
            self.probe_format = one_string if use.bundle.layout.one_string else PairFormat.SEPARATE
            """The format that the bundle's probes are in, and that its model was trained on."""
            self._format = self.probe_format if pair_format == PairFormat.SEPARATE else pair_format
            probes = use.bundle.probes()
            self.tokenizer.check_pair_encoding(probes.premises[::8], probes.hypotheses[::8], self._format)
            self.session = outcome(opening)
            """The variant's session; for measurements too."""
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(
        cls,
        bundle: Bundle,
        *,
        device: str = "auto",
        precision: str = "auto",
        token_budget: int | None = None,
        step: int = 8,
        threads: int | None = None,
        layout: str = "auto",
        attention: str | None = None,
        device_memory: int = 0,
        exact: bool = False,
        bound: ExactBound | None = None,
        truncate: bool = False,
        pair_format: PairFormat = PairFormat.SEPARATE,
        warn: Callable[[str], None] = lambda message: None,
    ) -> Engine:
        """Open the variant of a bundle that suits a device, verified there by an earlier use or now.

        Args:
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:N``; a named one that does not start is an error.
            precision, layout, attention: see :func:`.variants_for`. threads, device_memory, step: see
                :class:`.VariantOnDevice`. token_budget: tokens a batch, padding included; ``None`` for what
                verification finds.
            exact: recompute undecided pairs in fp32. ``bound``: of an earlier run.
            truncate: cut pairs that are too long instead of refusing them.
            pair_format: what surrounds the texts of a pair; by default the tokenizer's own pair encoding.
            warn: told what a user should know, such as a batch that did not fit the device.

        Raises:
            BundleError: no such variant, or damaged, or it keeps the labels of fewer than 99 % of the probes on this
                device, or does not run in bounded time and memory.
            DeviceError: the device does not start, or does not run the precision that was named.
            MissingDependencyError: the runtime is not installed.
        """
        variants = partial(
            variants_for,
            bundle=bundle,
            precision=precision,
            layout=layout,
            attention=attention,
            threads=threads or available_threads(),
            device_memory=device_memory,
            step=step,
        )
        verified = partial(
            cls._open_verified, token_budget=token_budget, truncate=truncate, pair_format=pair_format, warn=warn
        )
        chosen = resolve_device(
            device, warn, lambda on: verification.read_report(variants(on)[0][0], token_budget) is not None
        )
        try:
            engine = cls._open_first(variants(chosen), verified, warn)
        except DeviceError:
            other = resolve_device(device, warn)  # now it must start
            if other == chosen:
                raise
            engine = cls._open_first(variants(other), verified, warn)
        if exact and engine.precision != "fp32":
            engine.exact, engine.bound = True, bound
            try:
                engine._admit_fp32()  # says now, not after an hour, that there is none
            except BaseException:
                engine.close()
                raise
        return engine

    @staticmethod
    def _open_first(
        variants: Sequence[Sequence[VariantOnDevice]],
        verified: Callable[[VariantOnDevice], Engine],
        warn: Callable[[str], None],
    ) -> Engine:
        """The first variant that runs and keeps the labels: of each precision its forms, the preferred one first."""
        reason = ""
        for forms, following in zip_longest(variants, variants[1:]):
            failed: BundleError | DeviceError | None = None
            for use, other in zip_longest(forms, forms[1:]):
                try:
                    engine = verified(use)
                except (BundleError, DeviceError) as e:
                    failed = failed or e
                    if other is not None:
                        warn(f"{use} does not run, so {other.variant} is tried: {e}")
                else:
                    engine.fallback_reason = str(failed or reason)
                    return engine
            assert failed is not None
            if not isinstance(failed, DisagreementError) or following is None:
                raise failed
            reason = failed.reason
            warn(f"{reason}; {following[0].precision} is used instead")
        raise AssertionError("there is at least one variant")

    @classmethod
    def _open_verified(
        cls,
        use: VariantOnDevice,
        *,
        token_budget: int | None,
        truncate: bool,
        pair_format: PairFormat,
        warn: Callable[[str], None],
    ) -> Engine:
        """A variant that keeps the labels. One that is not on record is verified: in this process if it is a worker,
        which goes on with the session; else in a worker first."""
        report = verification.known_report(use, token_budget, warn)
        budget = token_budget or (report.token_budget if report is not None else use.device.spec.token_budgets[0])
        engine = cls(use, budget, truncate=truncate, pair_format=pair_format, warn=warn, is_known=report is not None)
        try:
            engine.report = report or verification.verify(engine, token_budget, warn)
        except BaseException:
            engine.close()
            raise
        return engine

    def set_budget(self, token_budget: int) -> None:
        """Have calls of so many tokens from here on."""
        self.grid = self.use.grid(token_budget)
        self.session.layout = self.use.layout_of(token_budget)

    def lengths(self, texts: Sequence[str], *, hypothesis: bool) -> npt.NDArray[np.int64]:
        """Tokens that each text takes as the one or the other half of a pair; :data:`NOT_TOKENISED` where it is too
        long. Called by the thread that encodes. *Shape:* (texts,), int64."""
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
        """Tokenise and pack. ``premise``, ``hypothesis``: int32, *Shape:* (asked,), positions in ``texts``."""
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
        """Compute an encoded window. Called by the one thread that owns the device.

        A pair with a logit that is not finite runs once more, in fp32; where that does not help it gets no answer.

        Raises:
            CancelledError: ``stop`` was set; looked at between batches, so that an interrupted run ends soon.
        """
        logits = self.compute(encoded, stop)
        if self.exact:
            if self.bound is None:
                self.bound = self.measure_bound(encoded)
            doubtful = is_doubtful(logits, self.bound.margin, self.bundle.scheme)
            self._compute_fp32(encoded, np.flatnonzero((encoded.status == SCORED) & doubtful), logits, stop)
        broken = np.flatnonzero((encoded.status == SCORED) & ~np.isfinite(logits).all(axis=1))
        if len(broken) and self.precision != "fp32" and not self.exact and "fp32" in self.bundle.variants:
            self._compute_fp32(encoded, broken, logits, None)
        still = broken[~np.isfinite(logits[broken]).all(axis=1)]
        encoded.status[still[encoded.status[still] == SCORED]] = NOT_FINITE
        inverse = encoded.pairs.inverse
        unknown = None
        if encoded.first.unknown is not None and encoded.second.unknown is not None:
            first, second = encoded.first.unknown[encoded.pairs.first], encoded.second.unknown[encoded.pairs.second]
            unknown = (first | second)[inverse]
        scheme = self.bundle.scheme
        answers = probabilities(scheme, logits)[inverse]
        return Predictions(answers, encoded.status[inverse], encoded.truncated[inverse], scheme.threshold, unknown)

    def compute(self, encoded: EncodedPairs, stop: threading.Event | None = None) -> Logits:
        """The bare logits of a window's distinct pairs, NaN where none were computed; float32, *Shape:*
        (pairs, labels)."""
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
                    waiting.append(self._thread.submit(partial(call, batch, feed)))
                    if len(waiting) > WAITING_CALLS:
                        outcome(waiting.popleft())
                while waiting:
                    outcome(waiting.popleft())
            except BaseException:  # nobody waits for the others any more
                for future in waiting:
                    future.cancel()
                self.cancel()
                raise
        return logits

    def logits(self, premises: Sequence[str], hypotheses: Sequence[str]) -> Logits:
        """Logits of pairs of strings in the bundle's label order, float32, *Shape:* (pairs, labels); to verify.

        In the bundle's own pair layout, which its probes are in, whatever the format of this engine.
        """
        n = len(premises)
        positions = np.arange(2 * n, dtype=np.int32)
        encoded = self.encode([*premises, *hypotheses], positions[:n], positions[n:], self.probe_format)
        return self.compute(encoded)[encoded.pairs.inverse]

    def measure_bound(
        self, encoded: EncodedPairs, limit: int = EXACT_PAIRS, before: ExactBound | None = None
    ) -> ExactBound:
        """The bound of ``exact`` as up to ``limit`` pairs of a window show it, spread evenly over lengths.

        Args:
            before: the bound of other pairs, which the result includes.
        """
        chosen = np.flatnonzero(encoded.status == SCORED)
        if len(chosen) > limit:
            order = chosen[np.argsort(encoded.lengths[chosen], kind="stable")]
            chosen = np.sort(order[np.linspace(0, len(order) - 1, limit).astype(int)])
        batches = self.session.layout.pack(encoded.lengths, chosen)
        some = replace(encoded, status=encoded.status.copy(), batches=batches)
        fp32 = np.full((len(encoded.lengths), self.bundle.scheme.width), np.nan, np.float32)
        fast = self.compute(some)
        self._compute_fp32(some, chosen, fp32, None)
        at_least = 0.0 if self.report is None else self.report.bound
        return join_bounds(fast[chosen], fp32[chosen], at_least, before)

    @property
    def calls(self) -> int:
        """Calls of the model so far, for progress."""
        return self._thread.done

    def cancel(self) -> None:
        """Stop the calls that are running; no caller waits for them any more."""
        self._thread.cancel()

    def close(self) -> None:
        """Stop the threads that make calls; what is being computed is cancelled."""
        self._thread.close()

    def _compute_fp32(
        self, encoded: EncodedPairs, chosen: npt.NDArray[np.int64], logits: Logits, stop: threading.Event | None
    ) -> None:
        """Overwrite the logits of the chosen pairs with those of fp32, in calls of one shape a length."""
        if self._fp32 is None:
            use = self._admit_fp32()
            self._fp32 = ModelSession(
                use, self._thread, use.layout_of(self.grid.token_budget), self._warn, first_call=False
            )
        padded = self._fp32.use.grid(self.grid.token_budget).padded(encoded.lengths)
        for batch in fixed_shapes(chosen, padded, self.device.spec.fixed_pairs):
            if stop is not None and stop.is_set():
                raise CancelledError
            self._fp32.compute(batch, encoded, logits)
        encoded.recomputed += len(chosen)

    def _admit_fp32(self) -> VariantOnDevice:
        """The fp32 variant, which is verified before it answers for another one."""
        self.bundle.variant("fp32")
        use, budget = replace(self.use, variant="fp32", options={}), self.grid.token_budget
        if verification.known_report(use, budget, self._warn) is None:
            with Engine(use, budget, warn=self._warn) as engine:
                verification.verify(engine, budget, self._warn)
        return use


if __name__ == "__main__":  # the process of verification.verify_in_worker
    verification.serve_verification(int(sys.argv[1]), Engine)
