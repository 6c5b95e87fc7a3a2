"""Which attention kernel runs at which length: by the runtime's word, and by the kernels that the profiler saw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import attention_log

from ..common import traced
from ..ours import open_engine
from .tools import full_call, printed, timed


def by_length(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """One full call for each of the option ``lengths``, with :data:`benchmarks.attention_log.VARIABLE` set; the
    answer has for each of them, as a string:

    ``said``: the runtime's lines with the number of times. ``kernels``: seconds and calls of the attention kernels by
    name. ``attention``: their share of the kernels' time. ``tokens``: of the call; ``seconds``: of the second call.
    """
    engine = open_engine(spec)
    session, device = engine.session.session, spec["device"]

    def run() -> tuple[dict[str, Any], float]:
        found, total = {}, 0.0
        for length in spec["options"]["lengths"]:
            feed, batch = full_call(engine, length)

            def call(feed: Any = feed) -> Any:
                return session.run(["logits"], feed)

            with printed() as lines:
                call()
            seconds = timed(call)
            trace = traced(call, device)
            busy = sum(s for s, _ in trace.kernels.values()) if trace else 0.0
            found[str(length)] = {
                "tokens": batch.tokens, "pairs": batch.rows, "seconds": round(seconds, 5),
                "said": attention_log.said(lines), "kernels": trace.attention if trace else {},
                "attention": round(sum(s for s, _ in trace.attention.values()) / busy, 4) if trace and busy else None,
            }  # fmt: skip
            total += seconds
        return found, total

    return run
