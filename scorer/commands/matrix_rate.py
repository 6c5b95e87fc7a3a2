"""The rate of plain matrix products on a device, which ``scorer doctor`` puts next to the speed of a model.

The graphs in ``matrix/`` are one product of two square matrices each; tests/commands/test_commands.py makes them.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from ..inference.device import Device
from ..inference.session import create_session, runtime

GRAPHS = Path(__file__).parent / "matrix"
_SIZES = {"cpu": 1024, "cuda": 8192}
_CALLS, _SECONDS = 4, 0.05
"""A product takes a few milliseconds, and something else may hold a processor for as long as four of them."""


def matrix_rate(on: Device, precision: str, threads: int) -> float | None:
    """Measure the operations a second of a product of square matrices, the best of a few calls; ``None`` where the
    device does not run it."""
    size, rng = _SIZES[on.kind], np.random.default_rng(0)
    # Values as a model has them: matrices of zeros and small integers use less power, and so run faster.
    if precision == "int8":
        random = rng.integers(0, 256, (2, size, size), np.uint8)
        matrices: list[Any] = [random[0], random[1].view(np.int8)]
        product: Any = np.int32
    else:
        product = np.float16 if precision == "fp16" else np.float32
        matrices = list(((rng.random((2, size, size), np.float32) - 0.5) * 0.07).astype(product))
    try:
        session = create_session(GRAPHS / f"{precision}.onnx", on, threads)
        value, place = runtime().OrtValue, (on.kind, on.index)
        binding = session.io_binding()
        # Bound to the device's own memory, so that no copy is timed.
        for name, matrix in zip("ab", matrices, strict=True):
            binding.bind_ortvalue_input(name, value.ortvalue_from_numpy(matrix, *place))
        binding.bind_ortvalue_output("c", value.ortvalue_from_shape_and_type((size, size), product, *place))
        best, calls, first = float("inf"), 0, time.perf_counter()
        while calls < _CALLS or time.perf_counter() - first < _SECONDS:
            began = time.perf_counter()
            session.run_with_iobinding(binding)
            binding.synchronize_outputs()
            best = min(best, time.perf_counter() - began)
            calls += 1
    except Exception:  # the runtime's exceptions share no base class; nothing fails for want of this figure
        return None
    return 2.0 * size**3 / best
