"""Which way a precision runs on a device: tried once, by what runs, what agrees and what is fastest.

Each way is tried in a process of its own (:mod:`.first_use`), so that a kernel that crashes costs that way alone. A
kernel that fails to build is switched off and the way is tried again. The preferred way is taken unless it does not
start, disagrees with the checkpoint, or is slower than another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import BundleError, CallError, DeviceError, ScorerError
from . import cache
from .batches import Grid
from .budget import known_budget
from .cache import Use
from .execution import Execution
from .facts import read_facts, refuse_disagreement
from .first_use import admit

WORTH = 1.03
"""Another way must be so much faster than the preferred one, or timing noise would choose."""


def settle(
    bare: Use, found: Sequence[Execution], grid: Grid, budget: int | None, say: Callable[[str], None]
) -> Execution:
    """The way to run in, as it is on record or tried now. A single one without alternatives is not tried here.

    Args:
        bare: bundle, device and threads; its variant counts for nothing.
        found: the ways, the preferred one first.
        grid, budget, say: see :func:`.first_use.admit`.

    Raises:
        BundleError, DeviceError: none of the ways runs; the reason of the preferred one.
    """
    several = len(found) > 1
    if not several and not bare.device.row.fallbacks:
        return found[0]
    entry = _entry(bare, found)
    kept = _kept(cache.read(entry), found)
    if kept is not None:
        return kept
    rates: list[tuple[Execution, float]] = []
    failures: list[ScorerError] = []
    for way in found:
        try:
            rates.append(_with_kernels(bare, way, grid, budget, say, timed=several))
        except (BundleError, DeviceError) as e:
            failures.append(e)
            if several:
                say(f"{way.variant} does not run on {bare.device}: {e}")
    if not rates:
        raise failures[0]
    best = choose(rates)
    if several:
        say(f"{bare.bundle.name} on {bare.device} runs {best.variant} with {best.attention}")
    cache.write(entry, {"variant": best.variant, "options": dict(best.options)})
    return best


def choose(rates: Sequence[tuple[Execution, float]]) -> Execution:
    """The first of the ways that run, unless another is faster. ``rates``: tokens a second."""
    preferred, least = rates[0]
    fastest, most = max(rates, key=lambda one: one[1])
    return fastest if most > WORTH * least else preferred


def _with_kernels(
    bare: Use, way: Execution, grid: Grid, budget: int | None, say: Callable[[str], None], *, timed: bool
) -> tuple[Execution, float]:
    """Admit a way, with fewer attention kernels where its calls fail; its tokens a second, if they are asked for."""
    model = bare.bundle.variant(way.variant)
    tries: list[Mapping[str, str]] = [{}, *bare.device.row.fallbacks]
    for options in tries:
        chosen = replace(way, options=options)
        use = replace(bare, variant=way.variant, options=options)
        try:
            rate = admit(use, model, grid, budget, say, timed=timed)
        except CallError as e:
            if options is tries[-1]:
                raise
            say(f"{way.variant} on {bare.device}: an attention kernel fails and is switched off: {e}")
            continue
        if timed:
            measured = read_facts(use, grid.with_budget(budget or known_budget(use) or grid.token_budget))
            if measured is not None:
                refuse_disagreement(use, measured)
        return chosen, rate
    raise AssertionError("the last way out returns or raises")


def _kept(content: dict[str, Any], found: Sequence[Execution]) -> Execution | None:
    options = content.get("options")
    if not isinstance(options, dict) or not all(isinstance(value, str) for value in options.values()):
        return None
    known = {way.variant: way for way in found}.get(str(content.get("variant")))
    return None if known is None else replace(known, options=options)


def _entry(bare: Use, found: Sequence[Execution]) -> Path:
    return cache.entry(replace(bare, variant=found[0].variant), "execution", *(way.variant for way in found))
