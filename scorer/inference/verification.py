"""Verification of a variant on a device, before a row is scored, once; its result is kept in the user's cache folder.

Figures of the export machine do not hold on this one: fp16 on CUDA exists only there, and int8 kernels differ between
instruction sets. So the first use of a variant on a device compares it with the checkpoint's own fp32 logits, which
ship in the bundle, measures how far a pair's numbers depend on its batch, and finds the number of tokens of a call.

A graph or a tokenizer may hang, crash or take all memory, with valid hashes. So that happens in a worker process: in
that of a run, which goes on with the session; for other callers in one of its own (:mod:`.verification_worker`).

What more tokens a call cost or save depends on the model and the machine: they keep a GPU busy, and exceed a CPU's
caches. So a few budgets are timed on a CPU; on a GPU the usual one is halved until a call fits. A run records the
budget in its plan and never measures it again.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from ..errors import (
    BundleError,
    DamagedFileError,
    SchemaError,
)
from ..status import SCORED
from ..system.codec import Magnitude, Record, decode, encode
from ..system.files import read_small
from ..system.worker_process import is_worker
from .batching import EncodedPairs, Pairs
from .bundle import Probes
from .device import Device
from .session import OutOfMemoryError, create_session, runtime
from .tokenizer import Tokens
from .variants import VariantChoice, VariantOnDevice

if TYPE_CHECKING:
    from .engine import Engine

MINIMUM_AGREEMENT = 0.99
SHORT, LONG = (32, 48, 56), (64, 80, 96, 128)
"""Tokens of the pairs that budgets are tried with, as most pairs of real data have them; a packed call takes pairs of
one of these groups."""
WORTH = 1.03
"""A budget replaces the usual one only if it is faster by this factor; below it, timing noise would choose."""
_CALLS, _LONG_S = 3, 1.0
"""Calls timed for each budget; one is enough if it takes longer than this, as with a large model on a CPU."""
_LARGE_MODEL = 50_000_000
_PROBES_OF_LARGE = 256
"""A model of more than so many parameters is verified on a CPU with this many probes, taken evenly over the lengths:
with all of them it would take many minutes there."""
_GROUP = 16
_FAR = 1e30
"""Stands for an infinite difference, which JSON cannot say."""
_LARGEST_RECORD = 1 << 16
_MATRIX_GRAPHS = Path(__file__).parent / "matrix"
_MATRIX_CALLS, _MATRIX_SECONDS, _MATRIX_BLOCK = 4, 0.05, 1024
"""A product takes a few milliseconds, and something else may hold a processor for as long as four of them. Drawing
whole matrices for a GPU would take seconds."""
_MATRIX_TYPES: dict[str, tuple[type, type, type]] = {
    "fp32": (np.float32, np.float32, np.float32),
    "fp16": (np.float16, np.float16, np.float16),
    "int8": (np.uint8, np.int8, np.int32),
}


class DisagreementError(BundleError):
    """A variant that does not keep the checkpoint's labels on a device. ``reason``: without the advice."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; choose another --precision")
        self.reason = reason


class DeviceReport(Record, frozen=True, kw_only=True):
    """What a variant does on a device.

    ``agreement``: share of probes with the checkpoint's fp32 label. ``bound``: largest |Δlogit| against it.
    ``invariance_error``: largest |Δlogit| of a pair between being alone and with others. ``token_budget``: tokens of a
    call. ``matrix_rate``: operations a second of a plain matrix product of the same precision there, ``None`` where
    unknown.
    """

    schema: int = 1
    probes: Annotated[int, Meta(gt=0)]
    agreement: Annotated[float, Meta(ge=0, le=1)]
    bound: Magnitude
    invariance_error: Magnitude
    token_budget: Annotated[int, Meta(gt=0)]
    matrix_rate: Annotated[float, Meta(gt=0)] | None = None

    @property
    def isolated(self) -> bool:
        """Whether a pair's numbers are the same bits whatever else is in the batch."""
        return self.invariance_error == 0


_UNWRITTEN: dict[Path, DeviceReport] = {}
"""Reports that this process could not write: a variant is not verified twice in one process."""


def known_report(use: VariantOnDevice, budget: int | None, say: Callable[[str], None]) -> DeviceReport | None:
    """The report on record, or that of a worker process that verifies the variant now. ``None`` if this process is a
    worker itself, which has to verify it.

    Args:
        budget: tokens a batch; ``None`` to have the best chosen.

    Raises:
        BundleError, DeviceError: it does not run here, or not in the bounds.
    """
    report = read_report(use, budget)
    if report is None:
        say(f"first use of {use}: verifying")
        if not is_worker():
            from .verification_worker import verify_in_worker  # which needs this module

            report = verify_in_worker(use, budget)
            keep_report(use, budget, report, say)
    return report


def is_known(choice: VariantChoice, on: Device) -> bool:
    """Whether the preferred variant is on record."""
    return read_report(choice.variants(on)[0][0], choice.token_budget) is not None


def refuse_disagreement(use: VariantOnDevice, report: DeviceReport) -> None:
    """Let a variant pass that keeps the checkpoint's labels on this device.

    Raises:
        DisagreementError: under 99 % of the probes keep their label; the variant must not be used on this device.
    """
    if report.agreement < MINIMUM_AGREEMENT:
        raise DisagreementError(
            f"bundle {use.bundle.name}: the {use.variant} variant on {use.device} gives the checkpoint's label on only "
            f"{report.agreement:.1%} of {report.probes} probes (largest logit difference {report.bound:.3g})"
        )


def read_report(use: VariantOnDevice, budget: int | None) -> DeviceReport | None:
    """The report on record for a budget; ``None`` where there is none that can be decoded."""
    chosen = _read(report_path(use, None))
    return chosen if budget is None or (chosen and chosen.token_budget == budget) else _read(report_path(use, budget))


def keep_report(use: VariantOnDevice, budget: int | None, report: DeviceReport, say: Callable[[str], None]) -> None:
    """Put a report on record, if the folder can be written; otherwise every start verifies again, with the same result.

    Args:
        say: is told if it cannot be kept beyond this process.
    """
    path = report_path(use, budget)
    temporary = path.with_name(f".{path.stem[:40]}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            file.write(encode(report))
        temporary.replace(path)
        _UNWRITTEN.pop(path, None)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        _UNWRITTEN[path] = report
        say(
            f"note: the result cannot be kept in {path.parent} ({error.strerror}), so that every start verifies again; "
            "set XDG_CACHE_HOME to a folder that can be written"
        )


def report_path(use: VariantOnDevice, budget: int | None) -> Path:
    """The file of a report: named by bundle, variant, kind of hardware, versions, options and budget.

    Devices of one name, driver and cuDNN compute the same, so several GPUs of one machine share reports. All of it by
    whole digests of one encoding: a report says that a bundle was tried, and must be no other's.
    """
    import tokenizers

    on = use.device
    parts = [
        on.kind,
        on.hardware.name or str(on),
        on.hardware.numbers,
        use.threads if on.spec.computes_on_host else 0,
        sorted(use.options.items()),
        use.bundle.variants[use.variant].sha256,
        str(runtime().__version__),
        str(tokenizers.__version__),
        use.step,
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


def _read(path: Path) -> DeviceReport | None:
    try:
        return decode(read_small(path, _LARGEST_RECORD), DeviceReport, path.name)
    except (OSError, ValueError, DamagedFileError, SchemaError):
        return _UNWRITTEN.get(path)


def measure(engine: Engine, budget: int | None) -> DeviceReport:
    """Verify the variant of an open engine now, whatever is on record.

    Args:
        budget: tokens a batch; ``None`` to have the engine take the best from here on.

    Raises:
        BundleError, DeviceError: it does not run.
    """
    if budget is None:
        engine.set_budget(choose_budget(engine))
    probes = engine.bundle.probes()
    chosen = np.arange(len(probes.premises))
    if engine.device.spec.quick_check and engine.bundle.parameters > _LARGE_MODEL:
        chosen = np.unique(np.linspace(0, len(chosen) - 1, _PROBES_OF_LARGE).astype(int))
    found = _logits(engine, probes, chosen)
    expected = probes.logits[chosen]
    # What is not finite has no label, which agrees with none.
    scheme = engine.bundle.scheme
    return DeviceReport(
        probes=len(chosen),
        agreement=float((scheme.decisions(found) == scheme.decisions(expected)).mean()),
        bound=float(np.nan_to_num(np.abs(found - expected), nan=_FAR, posinf=_FAR, neginf=_FAR).max()),
        invariance_error=_invariance_error(engine, probes),
        token_budget=engine.grid.token_budget,
        matrix_rate=engine.run_in_thread(partial(matrix_rate, engine.device, engine.precision, engine.threads)),
    )


def _invariance_error(engine: Engine, probes: Probes) -> float:
    """Largest |Δlogit| between pairs alone and the same pairs in other batches: of other sizes and orders, and full."""
    n = len(probes.premises)
    positions = np.arange(2 * n, dtype=np.int32)
    whole = engine.encode([*probes.premises, *probes.hypotheses], positions[:n], positions[n:], engine.probe_format)
    lengths = whole.lengths[whole.pairs.inverse]
    padded = engine.grid.padded(lengths)
    worst = 0.0
    sizes, counts = np.unique(padded, return_counts=True)
    for size in sizes[np.argsort(-counts, kind="stable")[:3]]:
        group = np.flatnonzero(padded == size)[:_GROUP]
        alone = np.concatenate([_logits(engine, probes, group[i : i + 1]) for i in range(len(group))])
        together = _logits(engine, probes, group)
        turned = _logits(engine, probes, group[::-1])[::-1]
        odd = _logits(engine, probes, group[:-3]) if len(group) > 3 else alone[:0]
        pairs = whole.pairs.inverse[group]
        crowd = engine.layout.full(whole.lengths, pairs)
        full = engine.compute(replace(whole, batches=[crowd]))[pairs]
        full = np.where(np.isin(pairs, crowd.pairs)[:, None], full, alone)
        for other in (together, turned, odd, full):
            with np.errstate(invalid="ignore"):  # of two infinities
                difference = np.abs(other - alone[: len(other)])
            worst = max(worst, float(np.nan_to_num(difference, nan=_FAR, posinf=_FAR).max(initial=0.0)))
    return worst


def _logits(engine: Engine, probes: Probes, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    return engine.logits([probes.premises[i] for i in chosen], [probes.hypotheses[i] for i in chosen])


def choose_budget(engine: Engine) -> int:
    """The best of the budgets of this kind of device, in tokens a call: the fastest, timed now, or the first that fits.

    Raises:
        DeviceError: the model fails on this device, other than by a lack of memory.
    """
    usual, *others = budgets = engine.device.spec.token_budgets
    groups = [
        pairs_of_lengths(engine, [min(length, engine.bundle.max_length) for length in group]) for group in (SHORT, LONG)
    ]
    if not engine.device.spec.times_budgets:
        return next((budget for budget in budgets if _rate(engine, groups, budget, calls=1)), others[-1])
    rates = {budget: _rate(engine, groups, budget) for budget in budgets}
    best = max(rates, key=lambda budget: rates[budget])
    return best if rates[best] > WORTH * rates[usual] else usual


def pairs_of_lengths(engine: Engine, lengths: Sequence[int]) -> EncodedPairs:
    """A window of pairs with these lengths, special tokens included, of the probes' words; without batches.

    Raises:
        ValueError: a length has no room for two texts.
    """
    words = engine.tokenizer.encode(engine.bundle.probes().premises).ids
    total = np.asarray(lengths, np.int64)
    inner = total - engine.bundle.layout.overhead
    if inner.min() < 2:
        raise ValueError(f"a pair needs {engine.bundle.layout.overhead + 2} tokens or more; found {total.min()}")
    second = np.maximum(1, inner // 4)
    n = len(total)

    def table(side: npt.NDArray[np.int64]) -> Tokens:
        ends = np.concatenate([[0], np.cumsum(side)])
        return Tokens(np.resize(words, int(ends[-1])), ends, np.zeros(n, bool))

    each = np.arange(n)
    pairs = Pairs(each, each, each, inner - second, second)
    status = np.full(n, SCORED, np.int8)
    return EncodedPairs(pairs, table(inner - second), table(second), status, np.zeros(n, bool), [], total)


def _rate(engine: Engine, groups: Sequence[EncodedPairs], budget: int, calls: int = _CALLS) -> float:
    """Tokens per second of full calls, one a group, padding not counted; 0 if a call does not fit."""
    layout = engine.layout_of(budget)
    tokens, seconds = 0, 0.0
    for encoded in groups:
        batch = layout.full(encoded.lengths, np.arange(len(encoded.pairs)))
        made = layout.assemble(batch, encoded)
        feed = {name: made[name] for name in engine.session.inputs}
        best = float("inf")
        try:
            for _ in range(calls):
                began = time.perf_counter()
                engine.session.run(feed, batch.rows)
                best = min(best, time.perf_counter() - began)
                if best > _LONG_S:
                    break
        except OutOfMemoryError:
            return 0.0
        tokens += int(encoded.lengths[batch.pairs].sum())
        seconds += best
    return tokens / seconds


def matrix_rate(device: Device, precision: str, threads: int) -> float | None:
    """Operations a second of a plain product of square matrices by ONNX Runtime, the best of a few; ``None`` where it
    does not run."""
    size = device.spec.matrix
    precision = precision.rpartition("-")[2]  # whatever runtime computes the model
    left, right, product = _MATRIX_TYPES[precision]
    rng = np.random.default_rng(0)
    block = min(size, _MATRIX_BLOCK)
    matrices = [np.tile(_random(rng, block, np.dtype(kind)), (size // block,) * 2) for kind in (left, right)]
    try:
        session = create_session(_MATRIX_GRAPHS / f"{precision}.onnx", device, threads)
        value, place = runtime().OrtValue, (device.kind, device.index)
        binding = session.io_binding()
        # Bound to the device's own memory, so that no copy is timed.
        for name, matrix in zip("ab", matrices, strict=True):
            binding.bind_ortvalue_input(name, value.ortvalue_from_numpy(matrix, *place))
        binding.bind_ortvalue_output("c", value.ortvalue_from_shape_and_type((size, size), product, *place))
        best, calls, first = float("inf"), 0, time.perf_counter()
        while calls < _MATRIX_CALLS or time.perf_counter() - first < _MATRIX_SECONDS:
            began = time.perf_counter()
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            best = min(best, time.perf_counter() - began)
            calls += 1
    except Exception:  # the runtime's exceptions share no base class; nothing fails for want of this figure
        return None
    return 2.0 * size**3 / best


def _random(rng: np.random.Generator, size: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Values as a model has them: matrices of zeros and small integers use less power, and so run faster."""
    if np.issubdtype(kind, np.integer):
        limits = np.iinfo(kind)
        return rng.integers(limits.min, limits.max, (size, size), kind, endpoint=True)
    return (rng.standard_normal((size, size), np.float32) * 0.02).astype(kind)


def pair_flops(architecture: Mapping[str, Any], tokens: int, squared: int) -> float | None:
    """Floating point operations of an encoder over pairs, two for a multiplication and addition (Chowdhery et al.,
    *PaLM*, 2022, appendix B).

    ``tokens``: of all pairs, padding not counted; ``squared``: sum of their squared lengths. Only the matrix products
    count: 8 h² + 4 h f a token and layer, and 4 h for each token that it attends to. What is saved by computing the
    last layer for one token still counts as done. ``None`` where the bundle does not say how large the model is.
    """
    sizes = [architecture.get(name) for name in ("layers", "hidden_size", "intermediate_size")]
    if not all(isinstance(size, int) for size in sizes):
        return None
    layers, hidden, inner = (float(size) for size in sizes if size is not None)
    return layers * ((8 * hidden * hidden + 4 * hidden * inner) * tokens + 4 * hidden * squared)
