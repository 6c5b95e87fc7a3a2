"""What the first call of a shape costs: shapes that were not seen before, then again, then from another thread."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..ours import open_engine
from .tools import full_call, timed


def first_and_second(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """One full call for each of the option ``lengths``, four times: twice from one thread, twice from another.

    ``first``, ``second``, ``other_first``, ``other_second``: milliseconds of each call. ``shapes``: pairs and longest
    of each call. ``cost_ms``: median of first minus second; ``other_cost_ms``: the same of the other thread.
    """
    engine = open_engine(spec)
    session = engine.session.session
    calls = [full_call(engine, length) for length in spec["options"]["lengths"]]
    warm, _ = full_call(engine, spec["options"]["lengths"][-1] + engine.grid.step)
    session.run(["logits"], warm)  # libraries are loaded by the first call of all

    def run() -> tuple[dict[str, Any], float]:
        found: dict[str, Any] = {"shapes": [[batch.rows, batch.sequence_length] for _, batch in calls]}
        for thread in ("", "other_"):
            with ThreadPoolExecutor(1) as pool:
                for which in ("first", "second"):
                    done = [pool.submit(timed, lambda feed=feed: session.run(["logits"], feed)) for feed, _ in calls]
                    found[thread + which] = [round(1000 * one.result(), 2) for one in done]
            pairs = zip(found[f"{thread}first"], found[f"{thread}second"], strict=True)
            found[f"{thread}cost_ms"] = round(statistics.median(a - b for a, b in pairs), 2)
        return found, sum(sum(found[key]) for key in ("first", "second", "other_first", "other_second")) / 1000

    return run
