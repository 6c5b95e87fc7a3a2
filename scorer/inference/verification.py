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
        device: as :func:`.resolve_device` takes it. precision, attention: as :func:`.variants_for` does.
        token_budget: tokens a batch, padding included; ``None`` for what verification finds.
        threads, device_memory: see :class:`.VariantOnDevice`; as many threads as this process may use by default.
        warn, options: of :class:`.Engine`.
        exact: recompute undecided pairs in fp32. bound: of ``exact``, from an earlier run.

    Raises:
        BundleError: no such variant, or damaged, or under 99 % of the probes keep their labels with it on this device,
            or it does not run in bounded time and memory.
        DeviceError: the device does not start, or does not run the precision that was named.
    """
    variants = partial(
        variants_for,
        bundle=bundle,
        precision=precision,
        attention=attention,
        threads=threads or thread_count(),
        device_memory=device_memory,
    )
    chosen = resolve_device(device, warn, lambda on: read_report(variants(on)[0], token_budget) is not None)
    try:
        engine = _open_first(variants(chosen), token_budget, warn, options)
    except DeviceError:
        other = resolve_device(device, warn)  # now it must start
        if other == chosen:
            raise
        engine = _open_first(variants(other), token_budget, warn, options)
    if exact and engine.precision != "fp32":
        engine.exact, engine.bound = True, bound
        try:
            engine.admit_fp32()  # says now, not after an hour, that there is none
        except BaseException:
            engine.close()
            raise
    return engine


def _open_first(
    uses: Sequence[VariantOnDevice], token_budget: int | None, warn: Warn, options: dict[str, Any]
) -> Engine:
    """The first variant that runs and keeps the labels; another precision only stands in for one that does not."""
    reason = ""
    for use, other in zip_longest(uses, uses[1:]):
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
            if other is None or (other.precision != use.precision and not isinstance(error, DisagreementError)):
                raise
            warn(f"{use} is not used, {other.variant} is tried: {error}")
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
    """Measure the variant of an open engine, put the report on record, and check it.

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
    """The report on record, checked as :func:`verify` checks a new one; ``None`` where there is none."""
    if (report := read_report(use, budget)) is not None:
        check_agreement(use, report)
    return report


def read_report(use: VariantOnDevice, budget: int | None) -> DeviceReport | None:
    """The report on record for a budget; ``None`` where there is none that can be decoded."""
    path = report_path(use, budget)
    with suppress(OSError, ValueError, DamagedFileError, SchemaError):
        return decode(read_small(path, 1 << 16), DeviceReport, path.name)
    return None


def keep_report(use: VariantOnDevice, budget: int | None, report: DeviceReport, warn: Warn) -> None:
    """Put a report on record, or say that there is no place for it."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for asked in {budget, report.token_budget}:  # a resumed run asks for the budget that was chosen
            report_path(use, asked).write_bytes(encode(report))  # half of it decodes to nothing
    except OSError as error:
        warn(
            f"note: the result cannot be kept in {folder} ({error.strerror}), so that every start verifies again; set "
            "XDG_CACHE_HOME to a folder that can be written"
        )


def report_path(use: VariantOnDevice, budget: int | None) -> Path:
    """The file of a report, named by what it depends on; GPUs of one name, driver and cuDNN share it."""
    import tokenizers

    on = use.device
    parts = [
        on.kind,
        str(replace(on.hardware, uuid="", memory=0)),
        use.threads if on.spec.is_host else 0,
        sorted(use.options.items()),
        use.bundle.variants[use.variant].sha256,
        str(runtime().__version__),
        str(tokenizers.__version__),
        list(on.spec.token_budgets) if budget is None else budget,
    ]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return cache_folder() / f"{use.bundle.sha256}-{use.variant}-{digest}.json"


def cache_folder() -> Path:
    """The folder of this program below ``XDG_CACHE_HOME``, or ``~/.cache``; it may not exist, or be removed."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home and no entry in passwd: nothing can be written below this path
        base = Path(os.devnull)
    return base / "d2t-scorer"


def measure(engine: Engine, budget: int | None) -> DeviceReport:
    """Measure an open engine, with a budget or, if that is ``None``, with the best one, which the engine then keeps."""
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
        # What is not finite has no label, which agrees with none.
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
        alone = np.concatenate([_logits(engine, probes, group[i : i + 1]) for i in range(len(group))])
        crowd = engine.session.layout.full(probes.lengths, group)
        full = engine.compute(replace(probes, batches=[crowd]))[group]
        others = [np.where(np.isin(group, crowd.pairs)[:, None], full, alone), _logits(engine, probes, group)]
        others += [_logits(engine, probes, group, turned=True)]
        others += [_logits(engine, probes, group[:-3])] if len(group) > 3 else []
        worst = max(worst, *(_distance(other, alone[: len(other)]) for other in others))
    return worst


def _distance(logits: Logits, reference: Logits) -> float:
    with np.errstate(invalid="ignore"):  # of two infinities; JSON cannot say infinite
        return float(np.nan_to_num(np.abs(logits - reference), nan=1e30, posinf=1e30).max(initial=0.0))


def _logits(engine: Engine, probes: EncodedPairs, chosen: npt.NDArray[np.int64], *, turned: bool = False) -> Logits:
    """Logits of the chosen probes, in batches of them alone; ``turned``: with the pairs of a batch in reverse."""
    batches = engine.session.layout.pack(probes.lengths, chosen)
    if turned:
        batches = [replace(batch, pairs=batch.pairs[::-1]) for batch in batches]
    return engine.compute(replace(probes, batches=batches))[chosen]


def choose_budget(engine: Engine, probes: EncodedPairs) -> int:
    """The best of the budgets of this kind of device, in tokens a call.

    What more tokens cost or save depends on the model and the machine: they keep a GPU busy, and exceed a CPU's caches.
    So a few are timed on a CPU, with probes of 32 to 63 tokens, as most pairs of real data have them; on a GPU the
    first one that fits is taken.
    """
    budgets, chosen = engine.device.spec.token_budgets, np.flatnonzero(probes.lengths // 32 == 1)
    if not len(chosen):
        return budgets[0]
    chosen = chosen[np.linspace(0, len(chosen) - 1, 4).astype(int)]
    if not engine.device.spec.is_host:
        return next((tokens for tokens in budgets if _rate(engine, probes, chosen, tokens, calls=1)), budgets[-1])
    rates = {budget: _rate(engine, probes, chosen, budget) for budget in budgets}
    best = max(rates, key=lambda budget: rates[budget])
    return best if rates[best] > WORTH * rates[budgets[0]] else budgets[0]


def _rate(
    engine: Engine, probes: EncodedPairs, chosen: npt.NDArray[np.int64], budget: int, calls: int = _CALLS
) -> float:
    """Tokens per second of full calls of the chosen probes, padding not counted; 0 if they do not fit."""
    layout, best = engine.use.layout_of(budget), float("inf")
    batch = layout.full(probes.lengths, chosen)
    feed = layout.assemble(batch, probes)
    try:
        for _ in range(calls):
            began = time.perf_counter()
            engine.thread.call(partial(engine.session.run, feed, batch.rows))
            best = min(best, time.perf_counter() - began)
            if best > _LONG_S:
                break
    except OutOfMemoryError:
        return 0.0
    return int(probes.lengths[batch.pairs].sum()) / best
