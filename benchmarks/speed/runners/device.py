"""The rate of a device on large matrix products."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .common import synchronise

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
