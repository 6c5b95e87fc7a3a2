"""Run the pass of another runner under PyTorch's profiler, to see what the device does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.device_trace import read_trace
from benchmarks.worker import find_runner


def watched(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """``of``: the runner, which is run once before, so that one-time work is not profiled.

    The result has the fields of :class:`benchmarks.device_trace.DeviceTrace` and ``attention``, and is empty if nothing
    ran on a CUDA device. Profiling takes time: do not use the seconds as a rate.
    """
    from torch.profiler import ProfilerActivity, profile

    one_pass = find_runner(spec["options"]["of"])(spec, chosen)
    one_pass()
    on_gpu = spec.get("device", "cpu").startswith("cuda")

    def run() -> tuple[dict[str, Any], float]:
        with profile(activities=[ProfilerActivity.CUDA if on_gpu else ProfilerActivity.CPU]) as profiler:
            _, seconds = one_pass()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            profiler.export_chrome_trace(str(path))
            trace = read_trace(path)
        return ({**asdict(trace), "attention": trace.attention} if trace else {}), seconds

    return run
