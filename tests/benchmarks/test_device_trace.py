"""What a device did, from events that anybody can add up."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.device_trace import from_events


def event(cat: str, name: str, start: float, duration: float) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": duration}


EVENTS = [
    event("cpu_op", "aten::mm", 0, 1_000_000),
    event("gpu_memcpy", "Memcpy HtoD", 1000, 100),
    event("kernel", "gemm", 1100, 300),
    event("kernel", "gemm", 1500, 200),
    event("kernel", "cudnn_sdpa_sm90_flash_fprop", 1600, 300),
    event("gpu_memset", "Memset", 1650, 10),
    event("kernel", "FastGelu", 1850, 50),
    {"ph": "i", "cat": "kernel", "name": "a mark without a duration", "ts": 5000},
]


def test_idle_and_copying_are_shares_of_the_time_between_first_and_last() -> None:
    trace = from_events(EVENTS)
    assert trace is not None
    assert trace.seconds == pytest.approx(900e-6)  # 1000 to 1900
    assert trace.idle == pytest.approx(100 / 900)  # 1400 to 1500
    assert trace.copies == pytest.approx(100 / 900)  # 1000 to 1100
    assert trace.kernels["gemm"] == (0.0005, 2)
    assert trace.kinds == pytest.approx({"attention": 0.0003, "matrix": 0.0005, "other": 0.00005})
    assert list(trace.attention) == ["cudnn_sdpa_sm90_flash_fprop"]
