"""The device's rates on large matrix products, the reference for utilisation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .common import synchronise

_BATCH = 20


def sustained(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """FLOP/s of products by PyTorch, each repeated for the option ``seconds``, long enough for the clock to settle.

    Option ``products``: names with rows, inner and columns. For each name: ``sustained``: the rate over all the time;
    ``burst``: of its fastest twenty products in a row; ``each`` and ``each_burst``: seconds of a product in these.
    """
    import torch

    device, options = spec.get("device", "cpu"), spec["options"]
    dtype = getattr(torch, options["dtype"])
    if device.startswith("cuda"):
        chosen.update(device=torch.cuda.get_device_name(device), cuda=torch.version.cuda)
        chosen["capability"] = ".".join(map(str, torch.cuda.get_device_capability(device)))

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
                "sustained": work * len(spans) / sum(spans), "burst": work / min(spans),
                "each": sum(spans) / len(spans) / _BATCH, "each_burst": min(spans) / _BATCH,
            }  # fmt: skip
            took += sum(spans)
        return found, took

    return one


def _random(shape: tuple[int, int], device: str, dtype: Any) -> Any:
    """A matrix with values of small variance: products of others take more power, which lowers the clock rate."""
    import torch

    return torch.randn(*shape, device=device, dtype=torch.float32).mul(0.02).to(dtype)
