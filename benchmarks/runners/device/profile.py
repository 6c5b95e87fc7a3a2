"""Where the time of some calls goes: matrix products, attention, everything else, nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..common import traced
from ..ours import open_engine, prepare
from .tools import timed


def calls(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """The option ``calls`` largest calls of the sample, one after the other, with inputs that were put together before.

    ``seconds``: without the profiler. ``idle``, ``copies``, ``kernels``, ``kinds``: see
    :class:`benchmarks.device_trace.DeviceTrace`; absent where nothing ran on a CUDA device. ``tokens``: of the calls,
    padding included; ``real``: of their pairs.
    """
    engine = open_engine(spec)
    session = engine.session.session
    work = prepare(spec, engine)
    largest = sorted(range(len(work.batches)), key=lambda i: -work.batches[i].tokens)[: spec["options"]["calls"]]
    work.batches = [work.batches[i] for i in sorted(largest)]
    feeds = list(engine.feeds(work))

    def one_pass() -> None:
        for feed in feeds:
            session.run(["logits"], feed)

    def run() -> tuple[dict[str, Any], float]:
        one_pass()
        seconds = timed(one_pass)
        trace = traced(one_pass, spec["device"])
        found: dict[str, Any] = {
            "calls": len(feeds), "seconds": round(seconds, 5), "tokens": sum(b.tokens for b in work.batches),
            "real": sum(int(work.lengths[b.pairs].sum()) for b in work.batches),
        }  # fmt: skip
        if trace is not None:
            found |= {"idle": trace.idle, "copies": trace.copies, "kernels": trace.kernels, "kinds": trace.kinds}
        return found, seconds

    return run
