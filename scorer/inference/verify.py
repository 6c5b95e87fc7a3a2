"""What a variant really does on this device, measured on the bundle's probes before a row is scored.

Figures of the export machine do not hold on this one: fp16 on CUDA exists only there, and int8 kernels differ between
instruction sets. So the first use of a variant on a device compares it with the checkpoint's own fp32 logits, which
ship in the bundle, and measures how far a pair's numbers depend on its batch. That happens in a process of its own
(:mod:`.first_use`), and the result is kept in the user's cache by bundle, variant, device and versions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .bundle import Bundle, Probes
from .engine import Engine, precisions
from .facts import DeviceFacts, disagreement, keep_facts, read_facts, refuse_disagreement

__all__ = ["DeviceFacts", "measure", "open_verified"]

_LARGE = 50_000_000
_PROBES_OF_LARGE = 256
"""A model of more than so many parameters is verified on a CPU with this many probes, taken evenly over the lengths:
with all of them it would take many minutes there."""
_GROUP = 16
_FAR = 1e30
"""Stands for an infinite difference, which JSON cannot say."""


def open_verified(
    bundle: Bundle, *, precision: str = "auto", warn: Callable[[str], None] = lambda message: None, **options: Any
) -> tuple[Engine, DeviceFacts]:
    """An engine, and what its variant does on its device. With ``auto`` the next precision of the bundle is used where
    the preferred one does not keep the checkpoint's labels, as int8 of another export does on processors without VNNI.

    Args:
        options: of :class:`.engine.Engine`, which says what they raise too.

    Raises:
        BundleError: under 99 % of the probes keep their label; the variant must not be used on this device.
    """
    engine = Engine(bundle, precision=precision, warn=warn, **options)
    facts = _figures(engine, warn)
    others = precisions(bundle, precision, engine.device)[1:]
    if others and (why := disagreement(engine.use, facts)):
        warn(f"{why}; {others[0]} is used instead")
        engine.close()
        engine = Engine(bundle, precision=others[0], warn=warn, **options)
        engine.instead = why
        facts = _figures(engine, warn)
    refuse_disagreement(engine.use, facts)
    return engine, facts


def _figures(engine: Engine, log: Callable[[str], None]) -> DeviceFacts:
    """Figures of the engine's variant on its device, as they are on record or measured now."""
    facts = read_facts(engine.use, engine.grid)
    if facts is None:
        log(f"first use of {engine.use} with batches of {engine.grid.token_budget} tokens: verifying")
        facts = measure(engine)
        keep_facts(engine.use, engine.grid, facts, log)
    return facts


def measure(engine: Engine) -> DeviceFacts:
    """Measure now, whatever the cache says."""
    probes = engine.bundle.probes()
    chosen = np.arange(len(probes.premises))
    if engine.device.row.quick_check and engine.bundle.parameters > _LARGE:
        chosen = np.unique(np.linspace(0, len(chosen) - 1, _PROBES_OF_LARGE).astype(int))
    found = _logits(engine, probes, chosen)
    expected = probes.logits[chosen]
    # What is not finite has no label, which agrees with none.
    scheme = engine.bundle.scheme
    agreement = float((scheme.decisions(found) == scheme.decisions(expected)).mean())
    invariance = _invariance_error(engine, probes)
    bound = float(np.nan_to_num(np.abs(found - expected), nan=_FAR, posinf=_FAR, neginf=_FAR).max())
    return DeviceFacts(len(chosen), agreement, bound, invariance, invariance == 0.0)


def _invariance_error(engine: Engine, probes: Probes) -> float:
    """Largest |Δlogit| between pairs alone and the same pairs in other batches: of other sizes and orders, and full."""
    n = len(probes.premises)
    positions = np.arange(2 * n, dtype=np.int32)
    whole = engine.prepare([*probes.premises, *probes.hypotheses], positions[:n], positions[n:], engine.probe_form)
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
        full = engine.run_batches(replace(whole, batches=[crowd]))[pairs]
        full = np.where(np.isin(pairs, crowd.pairs)[:, None], full, alone)
        for other in (together, turned, odd, full):
            with np.errstate(invalid="ignore"):  # of two infinities
                difference = np.abs(other - alone[: len(other)])
            worst = max(worst, float(np.nan_to_num(difference, nan=_FAR, posinf=_FAR).max(initial=0.0)))
    return worst


def _logits(engine: Engine, probes: Probes, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    return engine.logits([probes.premises[i] for i in chosen], [probes.hypotheses[i] for i in chosen])
