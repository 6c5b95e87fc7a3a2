"""Versions of the runtime, its libraries and the driver, and what the device is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.worker import versions
from scorer.inference.cuda import read_gpu
from scorer.inference.sessions import resolve_device, runtime

from ..common import load_cuda


def found(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, str], float]]:
    """By name, after a session was started on the device, so that its libraries are loaded."""
    load_cuda(spec)
    on = resolve_device(spec["device"])

    def run() -> tuple[dict[str, str], float]:
        about = {"device": on.name, **versions(), "onnxruntime": str(runtime().__version__)}
        gpu = read_gpu(on.index) if on.row.numbered else None
        if gpu is not None:
            about |= {
                "capability": gpu.capability, "driver supports CUDA": gpu.driver, "cuDNN": gpu.cudnn,
                "memory GiB": f"{gpu.memory / 2**30:.0f}", "multiprocessors": str(gpu.multiprocessors),
            }  # fmt: skip
        return about, 0.0

    return run
