"""What a variant really does on this device, measured on the bundle's probes before a row is scored.

The export machine says little about this one: fp16 on CUDA exists only there, and int8 kernels differ between
instruction sets. So the first use of a variant on a device compares it with the checkpoint's own fp32 logits, which
ship in the bundle, and measures how far a pair's numbers move with its company. The result is kept in the user's cache
by bundle, variant, device and runtime version.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import BundleError
from . import cache
from .bundle import Probes
from .engine import Engine

MINIMUM_AGREEMENT = 0.99
_LARGE = 50_000_000
_PROBES_OF_LARGE = 256
"""A model of more than so many parameters is verified on a CPU with this many probes, taken evenly over the lengths:
with all of them it would take many minutes there."""
_COMPANY = 16


@dataclass(frozen=True)
class DeviceFacts:
    """Figures of a variant on a device.

    ``label_agreement``: share of probes with the checkpoint's fp32 label. ``bound``: largest |Δlogit| against it.
    ``company_bound``: largest |Δlogit| of a pair between being alone and being in company; ``isolated``: it is 0.
    """

    probes: int
    label_agreement: float
    bound: float
    company_bound: float
    isolated: bool


def verify(engine: Engine, log: Callable[[str], None] = lambda message: None) -> DeviceFacts:
    """Figures of the engine's variant on its device, from the cache or measured now.

    Raises:
        BundleError: under 99 % of the probes keep their label; the variant must not be used on this device.
    """
    path = cache.entry(engine, "facts", engine.grid)
    facts = _read(path)
    if facts is None:
        log(f"first use of {engine.bundle.name} {engine.precision} on {engine.device.name or engine.device}: verifying")
        facts = measure(engine)
        cache.write(path, asdict(facts))
    if facts.label_agreement < MINIMUM_AGREEMENT:
        raise BundleError(
            f"bundle {engine.bundle.name}: the {engine.precision} variant on {engine.device} gives the checkpoint's "
            f"label on only {facts.label_agreement:.1%} of {facts.probes} probes (largest logit difference "
            f"{facts.bound:.3g}); choose another --precision"
        )
    return facts


def measure(engine: Engine) -> DeviceFacts:
    """Measure now, whatever the cache says."""
    probes = engine.bundle.probes()
    chosen = np.arange(len(probes.premises))
    if engine.device.kind == "cpu" and engine.bundle.parameters > _LARGE:
        chosen = np.unique(np.linspace(0, len(chosen) - 1, _PROBES_OF_LARGE).astype(int))
    found = _logits(engine, probes, chosen)
    expected = probes.logits[chosen]
    agreement = float((found.argmax(axis=1) == expected.argmax(axis=1)).mean())
    company = _company_bound(engine, probes)
    # NaN must read as infinitely far, and JSON has no infinity.
    bound = float(np.nan_to_num(np.abs(found - expected), nan=1e30, posinf=1e30).max())
    return DeviceFacts(len(chosen), agreement, bound, company, company == 0.0)


def _company_bound(engine: Engine, probes: Probes) -> float:
    """Largest |Δlogit| between pairs alone and the same pairs in batches of other sizes and orders."""
    lengths = np.array(
        [len(engine.tokenizer.join(p, h)) for p, h in zip(probes.premises, probes.hypotheses, strict=True)]
    )
    padded = engine.grid.padded(lengths)
    worst = 0.0
    sizes, counts = np.unique(padded, return_counts=True)
    for size in sizes[np.argsort(-counts, kind="stable")[:3]]:
        group = np.flatnonzero(padded == size)[:_COMPANY]
        alone = np.concatenate([_logits(engine, probes, group[i : i + 1]) for i in range(len(group))])
        together = _logits(engine, probes, group)
        turned = _logits(engine, probes, group[::-1])[::-1]
        odd = _logits(engine, probes, group[:-3]) if len(group) > 3 else alone[:0]
        for other in (together, turned, odd):
            difference = np.abs(other - alone[: len(other)])
            worst = max(worst, float(np.nan_to_num(difference, nan=1e30).max(initial=0.0)))
    return worst


def _logits(engine: Engine, probes: Probes, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    return engine.logits([probes.premises[i] for i in chosen], [probes.hypotheses[i] for i in chosen])


def _read(path: Path) -> DeviceFacts | None:
    try:
        return DeviceFacts(**cache.read(path))
    except TypeError:
        return None  # not there, or not ours: measure again
