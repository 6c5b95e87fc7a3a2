"""The table of devices."""

from __future__ import annotations

import pytest

from scorer.inference.devices import Device, is_out_of_memory, parse, unwanted_fusions


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("cpu", ("cpu", 0)), ("cuda", ("cuda", 0)), ("cuda:3", ("cuda", 3)), ("cpu:0", None), ("cuda:", None),
        ("cuda:-1", None), ("cuda:x", None), ("cuda:²", None), ("gpu", None), ("", None),
    ],
)  # fmt: skip
def test_devices_are_named_by_kind_and_number(asked: str, found: tuple[str, int] | None) -> None:
    assert parse(asked) == found


@pytest.mark.parametrize(
    "message",
    [
        "BFCArena::AllocateRawInternal Failed to allocate memory for requested buffer of size 1",
        "Available memory of 83886080 is smaller than requested bytes of 134217728",
        "CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED ; GPU=0",
        "CUDNN failure 4: CUDNN_STATUS_ALLOC_FAILED",
        "CUDA failure 2: out of memory ; GPU=0",
        "std::bad_alloc",
    ],
)
def test_failures_for_want_of_memory(message: str) -> None:
    assert is_out_of_memory(RuntimeError(message))


def test_a_fusion_that_changes_numbers_is_left_out_on_a_cpu_alone() -> None:
    assert unwanted_fusions(Device("cpu").provider) == ["SkipLayerNormFusion"]
    assert unwanted_fusions(Device("cuda").provider) == []
