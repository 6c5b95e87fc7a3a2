"""What a CUDA device did: how long it was idle, and which kernels ran and for how long.

The trace is the one that PyTorch's profiler writes (Chrome's trace format); the profiler sees the kernels of all
libraries in the process.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_ATTENTION = ("sdpa", "attention", "fmha", "flash")
_MATRIX = ("gemm", "nvjet", "cutlass", "xmma", "cublas", "splitk", "gemv")
"""Parts of the names that cuBLAS and CUTLASS give to kernels of matrix products; attention's may have them too."""


@dataclass(frozen=True)
class DeviceTrace:
    """``seconds``: from the first event on the device to the last. ``idle``: share of this time in which nothing ran.
    ``copies``: share in which only memory was copied. ``kernels``: seconds and number of calls by name, longest first.
    """

    seconds: float
    idle: float
    copies: float
    kernels: dict[str, tuple[float, int]]

    @property
    def attention(self) -> dict[str, tuple[float, int]]:
        """The kernels whose names contain those of attention kernels."""
        return {name: at for name, at in self.kernels.items() if _kind(name) == "attention"}

    @property
    def kinds(self) -> dict[str, float]:
        """Seconds of the kernels by kind: ``attention``, ``matrix`` products, and ``other``, which is element-wise."""
        found = {"attention": 0.0, "matrix": 0.0, "other": 0.0}
        for name, (seconds, _) in self.kernels.items():
            found[_kind(name)] += seconds
        return {kind: round(seconds, 6) for kind, seconds in found.items()}


def read_trace(path: Path) -> DeviceTrace | None:
    """The trace in a file; ``None`` if nothing ran on a device."""
    return from_events(json.loads(path.read_text())["traceEvents"])


def from_events(events: Iterable[Mapping[str, Any]]) -> DeviceTrace | None:
    """The trace in a list of events with ``cat``, ``name``, ``ts`` and ``dur``, the last two in microseconds."""
    on_device = [e for e in events if e.get("cat") in _ON_DEVICE and "dur" in e]
    if not on_device:
        return None
    computing = [(e["ts"], e["ts"] + e["dur"]) for e in on_device if e["cat"] == "kernel"]
    anything = [(e["ts"], e["ts"] + e["dur"]) for e in on_device]
    whole = max(end for _, end in anything) - min(start for start, _ in anything)
    busy, computed = covered(anything), covered(computing)
    seconds, calls = Counter[str](), Counter[str]()
    for e in on_device:
        if e["cat"] == "kernel":
            seconds[e["name"]] += e["dur"] / 1e6
            calls[e["name"]] += 1
    return DeviceTrace(
        seconds=whole / 1e6,
        idle=1 - busy / whole if whole else 0.0,
        copies=(busy - computed) / whole if whole else 0.0,
        kernels={name: (round(s, 6), calls[name]) for name, s in seconds.most_common()},
    )


def _kind(name: str) -> str:
    small = name.lower()
    if any(sign in small for sign in _ATTENTION):
        return "attention"
    return "matrix" if any(sign in small for sign in _MATRIX) else "other"


def covered(intervals: Sequence[tuple[float, float]]) -> float:
    """The length of the union of intervals; kernels may run at the same time."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(intervals):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total
