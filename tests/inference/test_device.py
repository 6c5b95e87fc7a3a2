"""What is read of a GPU, with a driver that stands in for libcuda: it answers as cuda.h says, and knows two devices."""

# ruff: noqa: N802 - functions are named as in cuda.h

from __future__ import annotations

import ctypes
import sys
import types
from pathlib import Path
from typing import Any

import onnx.parser
import pytest

from scorer.inference import device as module
from scorer.inference.device import preload, read_gpu
from scorer.inference.session import OWN_GRAPH


class Driver:
    """libcuda by its C interface: results go through pointers, 0 is success."""

    names = (b"NVIDIA H200", b"NVIDIA H200 MIG 1g.18gb")

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = len(self.names)
        return 0

    def cuDeviceGet(self, handle: Any, index: int) -> int:
        handle._obj.value = 100 + index
        return 0

    def cuDriverGetVersion(self, version: Any) -> int:
        version._obj.value = 13020
        return 0

    def cuDeviceGetName(self, name: Any, size: int, handle: ctypes.c_int) -> int:
        name.value = self.names[handle.value - 100][: size - 1]
        return 0

    def cuDeviceGetUuid_v2(self, uuid: Any, handle: ctypes.c_int) -> int:
        uuid[:] = list(range(16))
        return 0

    def cuDeviceTotalMem_v2(self, size: Any, handle: ctypes.c_int) -> int:
        size._obj.value = 141 << 30
        return 0

    def cuDeviceGetAttribute(self, value: Any, what: int, handle: ctypes.c_int) -> int:
        value._obj.value = {16: 132, 75: 9, 76: 0}[what]
        return 0


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    made = Driver()
    monkeypatch.setattr(module, "_driver", lambda: made)
    monkeypatch.setattr(module, "cudnn_version", lambda: "9.14.0")
    return made


def test_a_gpu_as_its_driver_describes_it(driver: Driver) -> None:
    gpu = read_gpu(0)
    assert gpu is not None
    assert (gpu.name, gpu.capability, gpu.memory >> 30, gpu.multiprocessors) == ("NVIDIA H200", "9.0", 141, 132)
    assert (gpu.driver, gpu.cudnn) == ("13.2", "9.14.0")
    assert gpu.uuid == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert read_gpu(2) is None


def test_preloading_looks_in_every_folder_of_wheels_and_prints_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [tmp_path / "site" / "nvidia" / name / "lib" for name in ("cu13", "cudnn")]
    for folder in folders:
        folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "kit"), str(tmp_path / "site")])
    calls: list[str | None] = []

    def preload_dlls(directory: str | None = None) -> None:
        calls.append(directory)
        print("Failed to load libcudnn.so.9")  # noqa: T201 - what the runtime does

    runtime = types.ModuleType("onnxruntime_standing_in")
    runtime.preload_dlls = preload_dlls  # type: ignore[attr-defined]
    preload(runtime)
    preload(runtime)
    assert calls == [*map(str, folders), None]
    assert capsys.readouterr().out == ""


START = """<ir_version: 8, producer_name: "d2t-scorer", opset_import: ["" : 17]>
start (float[n,n] a, float[n,n] b) => (float[n,n] c, int32[n] d) <int64[1] axis = {1}> {
    c = MatMul(a, b)
    whole = Cast <to = 6> (c)
    d = ReduceSum <keepdims = 0> (whole, axis)
}"""


def test_the_graph_that_a_device_is_tried_with() -> None:
    """It ships as a file, because the scorer has no library that writes graphs: a product, and a sum of integers along
    an axis, as a model counts the tokens of its mask."""
    made = onnx.parser.parse_model(START)
    for node in made.graph.node:
        node.ClearField("domain")
    assert OWN_GRAPH.read_bytes() == made.SerializeToString(deterministic=True)
