"""The token budget of a batch that is fastest on this device.

More tokens per batch keep a GPU busy; on a CPU they exceed its caches. Which effect is stronger depends on the model
and the machine, so the child process of a first use (:mod:`.trial`) times a few budgets, and :mod:`.first_use` keeps
the choice in the user's cache. A run records it in its plan and never calibrates again.
"""

from __future__ import annotations

import time

import numpy as np

from .budget import TOKEN_BUDGETS
from .calls import OutOfMemoryError
from .engine import Engine

WORTH = 1.03
"""A budget replaces the usual one only if it is faster by this factor; below it, timing noise would choose."""
_CALLS, _LONG_S = 3, 1.0
"""Calls timed for each budget; one is enough if it takes longer than this, as with a large model on a CPU."""


def measure_budget(engine: Engine) -> int:
    """The fastest of the budgets of this kind of device, in tokens per batch, timed now.

    If each pair is computed separately, no budget changes the speed: nothing is timed, and the result is the usual one.

    Raises:
        DeviceError: the model fails on this device, other than by a lack of memory.
    """
    usual, *others = TOKEN_BUDGETS[engine.device.kind]
    if engine.per_pair:
        return usual
    rates = {budget: _rate(engine, budget) for budget in (usual, *others)}
    best = max(rates, key=lambda budget: rates[budget])
    return best if rates[best] > WORTH * rates[usual] else usual


def _rate(engine: Engine, budget: int) -> float:
    """Tokens per second of the fastest of a few batches of probes of median length; 0 if a batch does not fit."""
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
