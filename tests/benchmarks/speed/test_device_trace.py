"""What a device did, and the share of time in which it had work, from events that anybody can add up."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.speed.device_trace import from_events
from benchmarks.speed.host_overhead import device_share


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


PRODUCT = "cublasGemmEx ta0 tb0 n100 m100 k50 A2 C2 compute68 algo99 beta0"  # a million operations
CALL = ["cudaMemcpyAsync HtoD 64", "kernel gather grid 1,1,1", PRODUCT, "kernel gelu grid 1,1,1", PRODUCT]
ENDS = ["cudaMemcpyAsync DtoH 12", "cudaStreamSynchronize", "cudaStreamSynchronize"]


def log(*begins: float) -> list[str]:
    """Calls that begin at these seconds; each hands its work in within a second, and waits for it then."""
    lines = []
    for begin in begins:
        lines += [f"{begin + 0.25 * i:.6f} 7 {what}" for i, what in enumerate(CALL)]
        lines += [f"{begin + 1:.6f} 7 {what}" for what in ENDS]
    return lines


def test_a_device_has_work_from_a_calls_first_kernel_until_its_products_end() -> None:
    # At 1 MFLOP/s a call's products take 2 s; its first kernel is at 0.25 s, and the wait begins at 1 s.
    found = device_share(log(0.0, 5.0, 8.0), 1e6)
    assert (found["calls"], found["device_seconds"]) == (3, 10.75)
    assert found["had_work"] == pytest.approx(3 * 2.75 / 10.75, abs=1e-4)
    assert (found["gap_ms"], found["longest_gap_ms"]) == (1250.0, 2250.0)
