"""The token budget of a batch that is fastest on this device.

More tokens a batch keep a GPU busy; on a CPU they outgrow its caches. Which it is depends on the model and the machine,
so a few budgets are timed once and the choice is kept in the user's cache. A run records it in its plan and never
calibrates again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from .budget import TOKEN_BUDGETS, keep_budget, known_budget
from .calls import OutOfMemoryError
from .engine import Engine

WORTH = 1.03
"""Another budget than the usual one must be so much faster, or timing noise would choose."""
_CALLS, _LONG_S = 3, 1.0
"""Calls of each budget; one is enough where it takes longer than this, as a large model does on a CPU."""


def calibrate(engine: Engine, log: Callable[[str], None] = lambda message: None) -> int:
    """The budget to use for this engine, as it is on record or measured now."""
    kept = known_budget(engine.use)
    if kept is not None:
        return kept
    log(f"first use of {engine.use}: calibrating")
    chosen = measure_budget(engine)
    keep_budget(engine.use, chosen)
    return chosen


def measure_budget(engine: Engine) -> int:
    """Time the budgets now. Nothing is timed where each pair is computed by itself, which no budget changes."""
    usual, *others = TOKEN_BUDGETS[engine.device.kind]
    if engine.per_pair:
        return usual
    rates = {budget: _rate(engine, budget) for budget in (usual, *others)}
    best = max(rates, key=lambda budget: rates[budget])
    return best if rates[best] > WORTH * rates[usual] else usual


def _rate(engine: Engine, budget: int) -> float:
    """Tokens a second of the best of a few batches, full of probes of middling length; 0 for what does not fit."""
    probes = engine.bundle.probes()
    middle = len(probes.premises) // 2  # they are sorted by length
    ids = engine.tokenizer.join(probes.premises[middle], probes.hypotheses[middle])
    length = -(-len(ids) // engine.grid.step) * engine.grid.step
    row = np.full(length, engine.bundle.layout.pad_id, np.int64)
    row[: len(ids)] = ids
    batch = np.tile(row, (max(1, budget // length), 1))
    mask = np.tile((np.arange(length) < len(ids)).astype(np.int64), (len(batch), 1))
    best = float("inf")
    try:
        for _ in range(_CALLS):
            began = time.perf_counter()
            engine.call(batch, mask)
            best = min(best, time.perf_counter() - began)
            if best > _LONG_S:
                break
    except OutOfMemoryError:
        pass
    return batch.size / best
