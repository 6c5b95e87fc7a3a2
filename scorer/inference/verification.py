"""Opens the variant of a bundle that suits a device, verified there once, before a row is scored.

Figures of the export machine do not hold on this one: fp16 on CUDA exists only there, and int8 kernels differ between
instruction sets. So the first use of a variant on a device compares it with the checkpoint's own fp32 logits, which
ship in the bundle, measures how far a pair's numbers depend on its batch, and finds the number of tokens of a call. The
report is kept in the user's cache folder.

A graph or a tokenizer may hang, crash or take all memory, with valid hashes. So that happens in a worker process: in
that of a run, which goes on with the session; for other callers in one that does only this.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from .. import errors
from ..errors import BundleError, DamagedFileError, DeviceError, SchemaError, ScorerError, first_line
from ..status import SCORED
from ..system.bounds import ExactBound
from ..system.codec import Record, decode, encode
from ..system.files import read_small
from ..system.processors import thread_count
from ..system.waiting import note_progress, report_progress
from ..system.worker_process import WorkerProcess, is_worker, serve
from .batching import EncodedPairs
from .bundle import Bundle
from .device import device as device_of
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
SILENCE_S, _TICK_S = 600.0, 0.5
"""Longest time without progress of a process that verifies, and so of one call; how often it reports progress."""
WORKER = "scorer.inference.verification"
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
            report = verify(use, token_budget, warn)
            budget = token_budget or (report.token_budget if report is not None else use.device.spec.token_budgets[0])
            engine = Engine(use, budget, warn=warn, verify=partial(_verify_fp32, warn=warn), **options)
            try:
                engine.report = report or verify(use, token_budget, warn, engine)
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
    if verify(use, token_budget, warn) is None:
        with Engine(use, token_budget, warn=warn) as engine:
            verify(use, token_budget, warn, engine)


def verify(use: VariantOnDevice, budget: int | None, warn: Warn, engine: Engine | None = None) -> DeviceReport | None:
    """The report of a variant, on record or found now: with its open engine, or in a worker process. ``None`` if it is
    not on record and this process is a worker itself, which goes on with an engine of its own.

    Raises:
        DisagreementError: under 99 % of the probes keep the checkpoint's label.
        BundleError, DeviceError: it does not run here.
    """
    report = read_report(use, budget) if engine is None else None
    if report is None:
        if engine is None:
            warn(f"first use of {use}: verifying")
            if is_worker():
                return None
        report = verify_in_worker(use, budget) if engine is None else measure(engine, budget)
        keep_report(use, budget, report, warn)
    if report.agreement < MINIMUM_AGREEMENT:
        raise DisagreementError(
            f"bundle {use.bundle.name}: the {use.variant} variant on {use.device} gives the checkpoint's label on only "
            f"{report.agreement:.1%} of {report.probes} probes (largest logit difference {report.bound:.3g}); choose "
            "another --precision"
        )
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
    chosen = np.arange(len(encoded.lengths))
    if engine.device.spec.is_host and engine.bundle.parameters > _LARGE_MODEL:
        chosen = np.unique(np.linspace(0, len(chosen) - 1, _PROBES_OF_LARGE).astype(int))
    found, expected = _logits(engine, encoded, chosen), probes.logits[chosen]
    return DeviceReport(
        probes=len(chosen),
        # What is not finite has no label, which agrees with none.
        agreement=float((scheme.decisions(found) == scheme.decisions(expected)).mean()),
        bound=_distance(found, expected),
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


def _distance(one: Logits, other: Logits) -> float:
    with np.errstate(invalid="ignore"):  # of two infinities; JSON cannot say infinite
        return float(np.nan_to_num(np.abs(one - other), nan=1e30, posinf=1e30).max(initial=0.0))


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
        return next((one for one in budgets if _rate(engine, probes, chosen, one, calls=1)), budgets[-1])
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


class _Request(Record, frozen=True, kw_only=True):
    """A variant to verify: a bundle's folder, a device by its name, further fields of :class:`.VariantOnDevice`."""

    bundle: str
    device: str
    use: dict[str, Any]
    budget: int | None


class _Reply(Record, frozen=True, kw_only=True):
    """Progress, or with a report or an error the last one. ``kind``: the class of the error."""

    report: DeviceReport | None = None
    kind: str = ""
    error: str = ""


def verify_in_worker(use: VariantOnDevice, budget: int | None) -> DeviceReport:
    """Verify a variant in a process that is ended when it makes no progress."""
    request = _Request(
        bundle=str(use.bundle.path.absolute()),
        device=str(use.device),
        use={name: getattr(use, name) for name in ("variant", "threads", "options", "device_memory")},
        budget=budget,
    )
    worker, how = None, f"was stopped after {SILENCE_S:.0f} s without progress"
    try:
        worker = WorkerProcess(WORKER, _Reply)
        worker.send(request)
        while wait([worker.connection], SILENCE_S):
            reply = worker.receive()
            note_progress()
            if reply.error:
                raise getattr(errors, reply.kind, BundleError)(reply.error)
            if reply.report is not None:
                return reply.report
    except (EOFError, OSError) as e:
        how = f"could not be started: {first_line(e)}" if worker is None else worker.end().reason
    except (DamagedFileError, SchemaError) as e:
        how = f"gave no result ({e})"
    finally:
        if worker is not None:
            worker.kill()
            worker.close()
    raise BundleError(
        f"bundle {use}: the process that tried it {how}; a bundle that `scorer export` wrote does not do that: export "
        "it again, or choose another --precision or --device"
    )


def serve_verification(descriptor: int) -> NoReturn:
    """Verify one variant: the process of :func:`verify_in_worker`."""
    channel, requests = serve(descriptor, _Request)
    request: _Request = requests.get()
    report_progress(partial(channel.send, _Reply()), _TICK_S)
    try:
        use = VariantOnDevice(Bundle.load(request.bundle), device=device_of(request.device), **request.use)
        engine = Engine(use, request.budget or use.device.spec.token_budgets[0])
        reply = _Reply(report=measure(engine, request.budget))
    except ScorerError as e:
        reply = _Reply(kind=type(e).__name__, error=str(e))
    except BaseException as e:  # whatever a bundle makes a library raise, is about the bundle
        reply = _Reply(error=f"bundle {request.bundle} cannot be used: {type(e).__name__}: {first_line(e)}")
    channel.send(reply)
    os._exit(0)  # threads of a call that does not end would be waited for


if __name__ == "__main__":
    serve_verification(int(sys.argv[1]))
