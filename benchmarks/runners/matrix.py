"""The device's rate on large matrix products, the reference for utilisation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .common import synchronise


def rate(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[list[float], float]]:
    """FLOP/s of square products in the setting's precision by PyTorch, and the name of the device.

    The best of several sizes and repetitions: a rate that was reached, not one from a data sheet.
    """
    import torch

    device = spec.get("device", "cpu")
    dtype = getattr(torch, spec["options"]["dtype"])
    sizes = spec["options"]["sizes"]
    if device.startswith("cuda"):
        chosen.update(device=torch.cuda.get_device_name(device), cuda=torch.version.cuda)
        chosen["capability"] = ".".join(map(str, torch.cuda.get_device_capability(device)))

    def one() -> tuple[list[float], float]:
        best, took = 0.0, 0.0
        for n in sizes:
            # Values of small variance: products of others take more power, which lowers the clock rate.
            a, b = (torch.randn(n, n, device=device, dtype=torch.float32).mul(0.02).to(dtype) for _ in range(2))
            for _ in range(3):
                a @ b
            synchronise(device)
            repeat = spec["options"].get("repeat", 20)
            for _ in range(3):
                began = time.perf_counter()
                for _ in range(repeat):
                    a @ b
                synchronise(device)
                seconds = time.perf_counter() - began
                took += seconds
                best = max(best, repeat * 2 * n**3 / seconds)
        return [best], took

    return one
