"""How much of a device the model uses: its arithmetic on real tokens over what the device does in plain products.

Model FLOPs utilisation (Chowdhery et al., *PaLM*, 2022, appendix B), for an encoder in inference.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .devices import Device
from .sessions import create_session, runtime

_GRAPHS = Path(__file__).parent / "matrix"
_CALLS, _AT_LEAST_S = 4, 0.05
"""A product takes a few milliseconds, and something else may hold a processor for as long as four of them."""
_BLOCK = 1024
_TYPES = {"fp32": (np.float32, np.float32, np.float32), "fp16": (np.float16, np.float16, np.float16),
          "int8": (np.uint8, np.int8, np.int32)}  # fmt: skip


def pair_flops(architecture: Mapping[str, Any], tokens: int, squared: int) -> float | None:
    """Floating point operations of an encoder over pairs, two for a multiplication and addition.

    ``tokens``: of all pairs, padding not counted; ``squared``: sum of their squared lengths. Only the matrix products
    count: 8 h² + 4 h f a token and layer, and 4 h for each token that it attends to. What is saved by computing the
    last layer for one token still counts as done. ``None`` where the bundle does not say how large the model is.
    """
    sizes = [architecture.get(name) for name in ("layers", "hidden_size", "intermediate_size")]
    if not all(isinstance(size, int) for size in sizes):
        return None
    layers, hidden, inner = (float(size) for size in sizes if size is not None)
    return layers * ((8 * hidden * hidden + 4 * hidden * inner) * tokens + 4 * hidden * squared)


def matrix_rate(device: Device, precision: str, threads: int) -> float | None:
    """Operations a second of a plain product of square matrices by ONNX Runtime, the best of a few; ``None`` where it
    does not run."""
    size = device.row.matrix
    precision = precision.rpartition("-")[2]  # whatever runtime computes the model
    left, right, product = _TYPES[precision]
    rng = np.random.default_rng(0)
    block = min(size, _BLOCK)  # drawing whole matrices for a GPU would take seconds
    matrices = [np.tile(_random(rng, block, np.dtype(kind)), (size // block,) * 2) for kind in (left, right)]
    try:
        session = create_session(_GRAPHS / f"{precision}.onnx", device, threads)
        value, place = runtime().OrtValue, (device.kind, device.index)
        binding = session.io_binding()
        # Bound to the device's own memory, so that no copy is timed.
        for name, matrix in zip("ab", matrices, strict=True):
            binding.bind_ortvalue_input(name, value.ortvalue_from_numpy(matrix, *place))
        binding.bind_ortvalue_output("c", value.ortvalue_from_shape_and_type((size, size), product, *place))
        best, calls, first = float("inf"), 0, time.perf_counter()
        while calls < _CALLS or time.perf_counter() - first < _AT_LEAST_S:
            began = time.perf_counter()
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            best = min(best, time.perf_counter() - began)
            calls += 1
    except Exception:  # the runtime's exceptions share no base class; no run fails for want of this figure
        return None
    return 2.0 * size**3 / best


def _random(rng: np.random.Generator, size: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Values as a model has them: matrices of zeros and small integers use less power, and so run faster."""
    if np.issubdtype(kind, np.integer):
        limits = np.iinfo(kind)
        return rng.integers(limits.min, limits.max, (size, size), kind, endpoint=True)
    return (rng.standard_normal((size, size), np.float32) * 0.02).astype(kind)
