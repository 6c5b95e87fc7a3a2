"""The device's rate on large matrix products, the reference for utilisation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .common import synchronise

_BATCH = 20


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
            a, b = (_random((n, n), device, dtype) for _ in range(2))
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


def sustained(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """FLOP/s of products by PyTorch, each repeated for the option ``seconds``, long enough for the clock to settle.

    Option ``products``: names with rows, inner and columns. For each name: ``flops``: the rate over all the time;
    ``best``: of its fastest twenty products in a row; ``each``: seconds of a product.
    """
    import torch

    device, options = spec.get("device", "cpu"), spec["options"]
    dtype = getattr(torch, options["dtype"])

    def one() -> tuple[dict[str, Any], float]:
        found: dict[str, Any] = {}
        took = 0.0
        for name, (rows, inner, columns) in options["products"].items():
            a, b = (_random(shape, device, dtype) for shape in ((rows, inner), (inner, columns)))
            a @ b
            synchronise(device)
            spans: list[float] = []
            while sum(spans) < options["seconds"]:
                began = time.perf_counter()
                for _ in range(_BATCH):
                    a @ b
                synchronise(device)
                spans.append(time.perf_counter() - began)
            work = 2 * rows * inner * columns * _BATCH
            found[name] = {
                "flops": work * len(spans) / sum(spans), "best": work / min(spans),
                "each": sum(spans) / len(spans) / _BATCH,
            }  # fmt: skip
            took += sum(spans)
        return found, took

    return one


def _random(shape: tuple[int, int], device: str, dtype: Any) -> Any:
    """A matrix with values of small variance: products of others take more power, which lowers the clock rate."""
    import torch

    return torch.randn(*shape, device=device, dtype=torch.float32).mul(0.02).to(dtype)
