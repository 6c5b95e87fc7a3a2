"""Another runner's pass under PyTorch's profiler, to see what the device does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.device_trace import read_trace
from benchmarks.worker import find_runner


def watched(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """``of``: the runner, which is run once beforehand, so that what happens once is not watched.

    Answers with the fields of :class:`benchmarks.device_trace.DeviceTrace` and ``attention``, or with nothing where
    nothing ran on a CUDA device. The profiler costs time: the seconds are no rate.
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
