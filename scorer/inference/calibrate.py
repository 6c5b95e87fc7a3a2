"""The token budget of a call that is fastest on this device.

More tokens per call keep a GPU busy; on a CPU they exceed its caches. Which effect is stronger depends on the model and
the machine, so the child process of a first use (:mod:`.smoke_test`) times a few budgets, and :mod:`.first_use` keeps
the choice in the user's cache. A run records it in its plan and never calibrates again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..status import SCORED
from .batches import Pairs, Work
from .engine import Engine
from .facts import usual_budget
from .model_session import OutOfMemoryError
from .texts import Tokens

SHORT, LONG = (32, 48, 56), (64, 80, 96, 128)
"""Tokens of the pairs that are timed, as most pairs of real data have them; a packed call takes pairs of one of these
groups."""
WORTH = 1.03
"""A budget replaces the usual one only if it is faster by this factor; below it, timing noise would choose."""
_CALLS, _LONG_S = 3, 1.0
"""Calls timed for each budget; one is enough if it takes longer than this, as with a large model on a CPU."""


def measure_budget(engine: Engine) -> int:
    """The fastest of the budgets of this kind of device, in tokens per call, timed now.

    Raises:
        DeviceError: the model fails on this device, other than by a lack of memory.
    """
    usual = usual_budget(engine.device)
    groups = [work_of(engine, [min(length, engine.bundle.max_length) for length in group]) for group in (SHORT, LONG)]
    rates = {budget: _rate(engine, groups, budget) for budget in engine.device.row.token_budgets}
    best = max(rates, key=lambda budget: rates[budget])
    return best if rates[best] > WORTH * rates[usual] else usual


def work_of(engine: Engine, lengths: Sequence[int]) -> Work:
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
    return Work(pairs, table(inner - second), table(second), status, np.zeros(n, bool), [], total)


def _rate(engine: Engine, groups: Sequence[Work], budget: int) -> float:
    """Tokens per second of full calls, one a group, padding not counted; 0 if a call does not fit."""
    layout = engine.layout_of(budget)
    tokens, seconds = 0, 0.0
    for work in groups:
        batch = layout.full(work.lengths, np.arange(len(work.pairs)))
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
            return 0.0
        tokens += int(work.lengths[batch.pairs].sum())
        seconds += best
    return tokens / seconds
