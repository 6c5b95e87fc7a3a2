"""Opens the variant of a bundle that suits a device, verified there once, before a row is scored.

Figures of the export machine do not hold on this one: fp16 on CUDA exists only there, and int8 kernels differ between
instruction sets. So the first use of a variant on a device compares it with the checkpoint's own fp32 logits, which
ship in the bundle, measures how far a pair's numbers depend on its batch, and finds the number of tokens of a call. The
report is kept in the user's cache folder.

It happens in the process that goes on with the session. A graph or a tokenizer may hang, crash or take all memory, with
valid hashes; a run has its worker process for that.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BundleError, DamagedFileError, DeviceError, SchemaError
from ..status import SCORED
from ..system.bounds import ExactBound
from ..system.codec import decode, encode
from ..system.files import read_small
from ..system.processors import thread_count
from .batching import EncodedPairs
from .bundle import Bundle
from .engine import DeviceReport, Engine, Logits
from .session import OutOfMemoryError, VariantOnDevice, resolve_device, runtime, variants_for

MINIMUM_AGREEMENT = 0.99
WORTH = 1.03
"""A budget replaces the usual one only if it is faster by this factor; below it, timing noise would choose."""
_CALLS, _LONG_S = 3, 1.0
"""Calls timed for each budget; one is enough if it takes longer than this, as with a large model on a CPU."""
_LARGE_MODEL, _PROBES_OF_LARGE = 50_000_000, 256
"""A model of more parameters is verified on a CPU with so many probes, taken evenly over the lengths: with all of them
it would take many minutes there."""
Warn = Callable[[str], None]


class DisagreementError(BundleError):
    """A variant that does not keep the checkpoint's labels on a device."""


def open_engine(
    bundle: Bundle,
    *,
    device: str = "auto",
    precision: str = "auto",
    attention: str | None = None,
    token_budget: int | None = None,
    threads: int | None = None,
    device_memory: int = 0,
    exact: bool = False,
    bound: ExactBound | None = None,
    warn: Warn = lambda message: None,
    **options: Any,
) -> Engine:
    """Open the variant of a bundle that suits a device, verified there by an earlier use or now.

    Args:
        device: as :func:`.resolve_device` takes it.
        precision: as :func:`.variants_for` takes it.
        attention: as :func:`.variants_for` takes it.
        token_budget: tokens a batch, padding included; ``None`` for the number that verification finds.
        threads: see :class:`.VariantOnDevice`; all threads that this process may use by default.
        device_memory: see :class:`.VariantOnDevice`.
        exact: recompute undecided pairs in fp32.
        bound: the bound of ``exact`` from an earlier run.
        warn: see :class:`.Engine`.
        options: further arguments of :class:`.Engine`.

    Raises:
        BundleError: the variant is missing or damaged, keeps the labels of under 99 % of the probes on this device, or
            does not run in bounded time and memory.
        DeviceError: the device does not start, or does not run the named precision.
    """
    variants = partial(
        variants_for,
        bundle=bundle,
        precision=precision,
        attention=attention,
        threads=threads or thread_count(),
        device_memory=device_memory,
    )
    preferred = resolve_device(
        device, warn, lambda candidate: read_report(variants(candidate)[0], token_budget) is not None
    )
    try:
        engine = _open_first(variants(preferred), token_budget, warn, options)
    except DeviceError:
        started = resolve_device(device, warn)  # now it must start
        if started == preferred:
            raise
        engine = _open_first(variants(started), token_budget, warn, options)
    if exact and engine.precision != "fp32":
        engine.exact, engine.bound = True, bound
        try:
            engine.admit_fp32()  # a missing variant fails now, not after an hour
        except BaseException:
            engine.close()
            raise
    return engine


def _open_first(
    uses: Sequence[VariantOnDevice], token_budget: int | None, warn: Warn, options: dict[str, Any]
) -> Engine:
    """Open the first variant that runs and keeps the labels; another precision is tried only after one that does not
    keep them."""
    reason = ""
    for use, fallback in zip_longest(uses, uses[1:]):
        try:
            report = checked_report(use, token_budget)
            budget = token_budget or (report.token_budget if report is not None else use.device.spec.token_budgets[0])
            engine = Engine(use, budget, warn=warn, verify=partial(_verify_fp32, warn=warn), **options)
            try:
                engine.report = report or verify(engine, token_budget, warn)
            except BaseException:
                engine.close()
                raise
        except (BundleError, DeviceError) as error:
            if fallback is None or (fallback.precision != use.precision and not isinstance(error, DisagreementError)):
                raise
            warn(f"{use} is not used, {fallback.variant} is tried: {error}")
            reason = reason or str(error)
        else:
            engine.fallback_reason = reason
            return engine
    raise AssertionError("there is at least one variant")


def _verify_fp32(use: VariantOnDevice, token_budget: int, warn: Warn) -> None:
    if checked_report(use, token_budget) is None:
        with Engine(use, token_budget, warn=warn) as engine:
            verify(engine, token_budget, warn)


def verify(engine: Engine, budget: int | None, warn: Warn) -> DeviceReport:
    """Measure the variant of an open engine, store the report, and check it.

    Args:
        budget: tokens a batch; ``None`` for the best one, which the engine then keeps.

    Raises:
        DisagreementError: under 99 % of the probes keep the checkpoint's label.
        BundleError, DeviceError: the variant does not run here.
    """
    warn(f"first use of {engine.use}: verifying")
    report = measure(engine, budget)
    keep_report(engine.use, budget, report, warn)
    check_agreement(engine.use, report)
    return report


def check_agreement(use: VariantOnDevice, report: DeviceReport) -> None:
    """Refuse (:class:`DisagreementError`) a variant with which under 99 % of the probes keep the checkpoint's label."""
    if report.agreement < MINIMUM_AGREEMENT:
        raise DisagreementError(
            f"bundle {use.bundle.name}: the {use.variant} variant on {use.device} gives the checkpoint's label on only "
            f"{report.agreement:.1%} of {report.probes} probes (largest logit difference {report.bound:.3g}); choose "
            "another --precision"
        )


def checked_report(use: VariantOnDevice, budget: int | None) -> DeviceReport | None:
    """The stored report, checked as :func:`verify` checks a new one; ``None`` where there is none."""
    if (report := read_report(use, budget)) is not None:
        check_agreement(use, report)
    return report


def read_report(use: VariantOnDevice, budget: int | None) -> DeviceReport | None:
    """The stored report for a budget; ``None`` where there is none that can be decoded."""
    path = report_path(use, budget)
    with suppress(OSError, ValueError, DamagedFileError, SchemaError):
        return decode(read_small(path, 1 << 16), DeviceReport, path.name)
    return None


def keep_report(use: VariantOnDevice, budget: int | None, report: DeviceReport, warn: Warn) -> None:
    """Store a report, or warn that the folder cannot be written."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for key in {budget, report.token_budget}:  # a resumed run looks for the budget of its plan
            report_path(use, key).write_bytes(encode(report))  # a file that is cut off decodes to nothing
    except OSError as error:
        warn(
            f"note: the result cannot be kept in {folder} ({error.strerror}), so that every start verifies again; set "
            "XDG_CACHE_HOME to a folder that can be written"
        )


def report_path(use: VariantOnDevice, budget: int | None) -> Path:
    """The file of a report, named by a hash of everything that it depends on; GPUs of one name, driver and cuDNN share
    it."""
    import tokenizers

    device = use.device
    key = [
        device.kind,
        str(replace(device.hardware, uuid="", memory=0)),
        use.threads if device.spec.is_host else 0,
        sorted(use.options.items()),
        use.bundle.variants[use.variant].sha256,
        str(runtime().__version__),
        str(tokenizers.__version__),
        list(device.spec.token_budgets) if budget is None else budget,
    ]
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()
    return cache_folder() / f"{use.bundle.sha256}-{use.variant}-{digest}.json"


def cache_folder() -> Path:
    """The folder of this program below ``XDG_CACHE_HOME``, or ``~/.cache``; it may not exist."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home and no entry in passwd: nothing can be written below this path
        base = Path(os.devnull)
    return base / "d2t-scorer"


def measure(engine: Engine, budget: int | None) -> DeviceReport:
    """Measure an open engine with a budget; ``None`` for the best one, which the engine then keeps."""
    probes, scheme = engine.bundle.probes(), engine.bundle.scheme
    encoded = engine.encode_pairs(probes.premises, probes.hypotheses)
    if (encoded.status != SCORED).any():
        raise BundleError(f"bundle {engine.use}: a probe is longer than max_length; export it again")
    if budget is None:
        engine.set_budget(choose_budget(engine, encoded))
    positions = np.arange(len(encoded.lengths))
    if engine.device.spec.is_host and engine.bundle.parameters > _LARGE_MODEL:
        positions = np.unique(np.linspace(0, len(positions) - 1, _PROBES_OF_LARGE).astype(int))
    logits, expected = _logits(engine, encoded, positions), probes.logits[positions]
    return DeviceReport(
        probes=len(positions),
        # A pair with a logit that is not finite has no label, so it does not agree.
        agreement=float((scheme.decisions(logits) == scheme.decisions(expected)).mean()),
        bound=_distance(logits, expected),
        invariance_error=_invariance_error(engine, encoded),
        token_budget=engine.grid.token_budget,
    )


def _invariance_error(engine: Engine, probes: EncodedPairs) -> float:
    """Largest |Δlogit| between pairs alone and the same pairs in other batches: of other sizes and orders, and full."""
    padded = engine.grid.padded(probes.lengths)
    worst = 0.0
    sizes, counts = np.unique(padded, return_counts=True)
    for size in sizes[np.argsort(-counts, kind="stable")[:3]]:
        group = np.flatnonzero(padded == size)[:16]
        single = np.concatenate([_logits(engine, probes, group[i : i + 1]) for i in range(len(group))])
        full_batch = engine.session.layout.full(probes.lengths, group)
        full = engine.compute(replace(probes, batches=[full_batch]))[group]
        variations = [np.where(np.isin(group, full_batch.pairs)[:, None], full, single), _logits(engine, probes, group)]
        variations += [_logits(engine, probes, group, reverse=True)]
        variations += [_logits(engine, probes, group[:-3])] if len(group) > 3 else []
        worst = max(worst, *(_distance(variation, single[: len(variation)]) for variation in variations))
    return worst


def _distance(logits: Logits, reference: Logits) -> float:
    with np.errstate(invalid="ignore"):  # of two infinities; JSON cannot say infinite
        return float(np.nan_to_num(np.abs(logits - reference), nan=1e30, posinf=1e30).max(initial=0.0))


def _logits(engine: Engine, probes: EncodedPairs, positions: npt.NDArray[np.int64], *, reverse: bool = False) -> Logits:
    """Logits of the probes at ``positions``, in batches of these alone; ``reverse``: each batch in reverse order."""
    batches = engine.session.layout.pack(probes.lengths, positions)
    if reverse:
        batches = [replace(batch, pairs=batch.pairs[::-1]) for batch in batches]
    return engine.compute(replace(probes, batches=batches))[positions]


def choose_budget(engine: Engine, probes: EncodedPairs) -> int:
    """The best of the budgets of this kind of device, in tokens a call.

    The best number depends on the model and the machine: more tokens keep a GPU busy, but exceed the caches of a CPU.
    So a few budgets are timed on a CPU, with probes of 32 to 63 tokens, the usual length in real data; on a GPU the
    first one that fits is taken.
    """
    budgets, positions = engine.device.spec.token_budgets, np.flatnonzero(probes.lengths // 32 == 1)
    if not len(positions):
        return budgets[0]
    positions = positions[np.linspace(0, len(positions) - 1, 4).astype(int)]
    if not engine.device.spec.is_host:
        return next((tokens for tokens in budgets if _rate(engine, probes, positions, tokens, calls=1)), budgets[-1])
    rates = {budget: _rate(engine, probes, positions, budget) for budget in budgets}
    best = max(rates, key=lambda budget: rates[budget])
    return best if rates[best] > WORTH * rates[budgets[0]] else budgets[0]


def _rate(
    engine: Engine, probes: EncodedPairs, positions: npt.NDArray[np.int64], budget: int, calls: int = _CALLS
) -> float:
    """Tokens per second of full calls of the probes at ``positions``, padding not counted; 0 if they do not fit."""
    layout, best = engine.use.layout_of(budget), float("inf")
    batch = layout.full(probes.lengths, positions)
    feed = layout.assemble(batch, probes)
    try:
        for _ in range(calls):
            start = time.perf_counter()
            engine.thread.call(partial(engine.session.run, feed, batch.rows))
            best = min(best, time.perf_counter() - start)
            if best > _LONG_S:
                break
    except OutOfMemoryError:
        return 0.0
    return int(probes.lengths[batch.pairs].sum()) / best
