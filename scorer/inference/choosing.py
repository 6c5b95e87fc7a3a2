"""Which form of a precision runs on a device: the one that the device prefers, unless it fails there.

The preferred form is tried in a process of its own (:mod:`.first_use`), which compares it with the checkpoint. Only if
it does not start, crashes or disagrees is the other form tried. What was measured is kept (:mod:`.facts`), so that a
form that disagrees is not tried twice; a form that failed otherwise is, because the reason may have passed: the device
may have been full. Nothing is timed against each other: the preferred form is the faster one where it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..errors import BundleError, DeviceError
from .batches import Grid
from .cache import Use
from .execution import Execution
from .facts import known_budget, read_facts, refuse_disagreement
from .first_use import require_smoke_test


def choose(
    bare: Use, found: Sequence[Execution], grid: Grid, budget: int | None, say: Callable[[str], None]
) -> Execution:
    """The way to run in, as it is on record or tried now. A single one is not tried here.

    Args:
        bare: bundle, device and threads; its variant counts for nothing.
        found: one or two, the preferred one first.
        grid, budget, say: see :func:`.first_use.require_smoke_test`.

    Raises:
        BundleError, DeviceError: none of them runs; the reason of the preferred one.
    """
    preferred, *others = found
    if not others:
        return preferred
    (fallback,) = others
    use = replace(bare, variant=preferred.variant, options=preferred.options)
    try:
        _prove(use, grid, budget, say)
    except (BundleError, DeviceError) as e:
        say(f"{use} does not run, so {fallback.variant} is tried: {e}")
        try:
            _prove(replace(use, variant=fallback.variant, options=fallback.options), grid, budget, say)
        except (BundleError, DeviceError):
            raise e from None
        return replace(fallback, instead=str(e))
    return preferred


def _prove(use: Use, grid: Grid, budget: int | None, say: Callable[[str], None]) -> None:
    require_smoke_test(use, use.bundle.variant(use.variant), grid, budget, say)
    facts = read_facts(use, grid.with_budget(budget or known_budget(use) or grid.token_budget))
    if facts is not None:
        refuse_disagreement(use, facts)
