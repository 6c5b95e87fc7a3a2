"""The share of time in which a device has work, from the log of a stand-in for it."""

from __future__ import annotations

import pytest

from benchmarks.host_overhead import device_share

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
