"""Run the pass of another runner under PyTorch's profiler, to see what the device does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from benchmarks.worker import find_runner

from .common import traced


def watched(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """``of``: the runner, which is run once before, so that one-time work is not profiled.

    The result has the fields of :class:`benchmarks.device_trace.DeviceTrace` and ``attention``, and is empty if nothing
    ran on a CUDA device. Profiling takes time: do not use the seconds as a rate.
    """
    one_pass = find_runner(spec["options"]["of"])(spec, chosen)
    one_pass()

    def run() -> tuple[dict[str, Any], float]:
        passes: list[tuple[Any, float]] = []
        trace = traced(lambda: passes.append(one_pass()), spec.get("device", "cpu"))
        return ({**asdict(trace), "attention": trace.attention} if trace else {}), passes[0][1]

    return run
