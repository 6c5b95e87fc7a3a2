"""The token budget of a call that is fastest on this device.

More tokens per call keep a GPU busy; on a CPU they exceed its caches. Which effect is stronger depends on the model and
the machine, so the child process of a first use (:mod:`.trial`) times a few budgets, and :mod:`.first_use` keeps the
choice in the user's cache. A run records it in its plan and never calibrates again.
"""

from __future__ import annotations

import time

import numpy as np

from .batches import Work
from .budget import usual_budget
from .engine import Engine
from .model_session import OutOfMemoryError

_USUAL_LENGTH = 128
"""Tokens of the longest pair that a rate is measured with: most pairs of real data are shorter."""
WORTH = 1.03
"""A budget replaces the usual one only if it is faster by this factor; below it, timing noise would choose."""
_CALLS, _LONG_S = 3, 1.0
"""Calls timed for each budget; one is enough if it takes longer than this, as with a large model on a CPU."""


def measure_budget(engine: Engine) -> int:
    """The fastest of the budgets of this kind of device, in tokens per call, timed now.

    If each pair is computed separately, no budget changes the speed: nothing is timed, and the result is the usual one.

    Raises:
        DeviceError: the model fails on this device, other than by a lack of memory.
    """
    usual = usual_budget(engine.device)
    if engine.per_pair:
        return usual
    work = _middle(engine)
    rates = {budget: _rate(engine, work, budget) for budget in engine.device.row.token_budgets}
    best = max(rates, key=lambda budget: rates[budget])
    return best if rates[best] > WORTH * rates[usual] else usual


def _middle(engine: Engine) -> Work:
    """A window of one pair: the probe of median length."""
    probes = engine.bundle.probes()
    middle = len(probes.premises) // 2  # they are sorted by length
    sides = np.array([0], np.int32), np.array([1], np.int32)
    return engine.prepare([probes.premises[middle], probes.hypotheses[middle]], *sides, engine.probe_form)


def _rate(engine: Engine, work: Work, budget: int) -> float:
    """Tokens per second of the fastest of a few full calls; 0 if a call does not fit."""
    layout = engine.layout_of(budget)
    batch = layout.full(work.lengths, np.zeros(1, np.int64))
    made = layout.assemble(batch, work)
    feed = {name: made[name] for name in engine.session.inputs}
    best = float("inf")
    try:
        for _ in range(_CALLS):
            began = time.perf_counter()
            engine.session.run(feed, batch.rows)
            best = min(best, time.perf_counter() - began)
            if best > _LONG_S:
                break
    except OutOfMemoryError:
        pass
    return batch.tokens / best


def measure_rate(engine: Engine) -> float:
    """Tokens a second of this engine over a few full calls of probes of all lengths; padding is not counted."""
    probes = engine.bundle.probes()
    n = len(probes.premises)
    positions = np.arange(2 * n, dtype=np.int32)
    work = engine.prepare([*probes.premises, *probes.hypotheses], positions[:n], positions[n:], engine.probe_form)
    short = np.flatnonzero(work.lengths <= max(_USUAL_LENGTH, int(work.lengths.min())))
    wanted = _CALLS * engine.grid.token_budget // max(1, int(work.lengths[short].mean()))
    part = engine.select(work, np.resize(short, max(len(short), wanted)))
    engine.run_batches(part)
    began = time.perf_counter()
    engine.run_batches(part)
    seconds = time.perf_counter() - began
    return float(sum(int(work.lengths[batch.pairs].sum()) for batch in part.batches)) / seconds
