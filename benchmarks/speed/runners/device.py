"""The device below a program: its rate on large matrix products, and what it does during the pass of a runner."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from benchmarks.speed.worker import find_runner

from .common import synchronise, traced

_BATCH = 20


def sustained(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, float], float]]:
    """FLOP/s of products of square matrices by PyTorch, the reference for utilisation.

    Options: ``size`` of the matrices, ``dtype``, and ``seconds`` to repeat the product for, long enough for the clock
    to settle. ``sustained``: the rate over all the time; ``burst``: of the fastest twenty products in a row.
    """
    import torch

    device, options = spec.get("device", "cpu"), spec["options"]
    dtype, size = getattr(torch, options["dtype"]), options["size"]
    if device.startswith("cuda"):
        chosen.update(device=torch.cuda.get_device_name(device), cuda=torch.version.cuda)
        chosen["capability"] = ".".join(map(str, torch.cuda.get_device_capability(device)))

    def one() -> tuple[dict[str, float], float]:
        # Values of small variance: products of others take more power, which lowers the clock rate.
        a, b = (torch.randn(size, size, device=device, dtype=torch.float32).mul(0.02).to(dtype) for _ in "ab")
        a @ b
        synchronise(device)
        spans: list[float] = []
        while sum(spans) < options["seconds"]:
            began = time.perf_counter()
            for _ in range(_BATCH):
                a @ b
            synchronise(device)
            spans.append(time.perf_counter() - began)
        work = 2 * size**3 * _BATCH
        return {"sustained": work * len(spans) / sum(spans), "burst": work / min(spans)}, sum(spans)

    return one


def watched(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """The pass of another runner under PyTorch's profiler.

    ``of``: that runner; it is run once before, so that one-time work is not profiled.

    The result has the fields of :class:`benchmarks.speed.device_trace.DeviceTrace`, ``attention`` and ``kinds``, and is
    empty if nothing ran on a CUDA device. Profiling takes time: do not use the seconds as a rate.
    """
    one_pass = find_runner(spec["options"]["of"])(spec, chosen)
    one_pass()

    def run() -> tuple[dict[str, Any], float]:
        passes: list[tuple[Any, float]] = []
        trace = traced(lambda: passes.append(one_pass()), spec.get("device", "cpu"))
        found = {**asdict(trace), "attention": trace.attention, "kinds": trace.kinds} if trace else {}
        return found, passes[0][1]

    return run
