"""What is read of a GPU, with a driver that stands in for libcuda: it answers as cuda.h says, and knows two devices."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx.parser
import pytest

from scorer.inference import device as module
from scorer.inference.device import preload
from scorer.inference.diagnosis import find_gpus, kernels_missing
from scorer.inference.session import OWN_GRAPH

NAMES = (b"NVIDIA H200", b"NVIDIA H200 MIG 1g.18gb")


def put(pointer: Any, value: int) -> int:
    """A result by libcuda's C interface: through a pointer; 0 is success."""
    pointer._obj.value = value
    return 0


DRIVER = SimpleNamespace(
    cuDeviceGetCount=lambda count: put(count, len(NAMES)),
    cuDeviceGet=lambda handle, index: put(handle, 100 + index),
    cuDriverGetVersion=lambda version: put(version, 13020),
    cuDeviceGetName=lambda name, size, handle: setattr(name, "value", NAMES[handle.value - 100][: size - 1]),
    cuDeviceGetUuid_v2=lambda uuid, handle: uuid.__setitem__(slice(None), range(16)),
    cuDeviceTotalMem_v2=lambda size, handle: put(size, 141 << 30),
    cuDeviceGetAttribute=lambda value, what, handle: put(value, {16: 132, 75: 9, 76: 0}[what]),
)


def test_a_gpu_as_its_driver_describes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_driver", lambda: DRIVER)
    monkeypatch.setattr(module, "cudnn_version", lambda: "9.14.0")
    gpu, instance = find_gpus()
    assert (gpu.name, gpu.capability, gpu.memory >> 30, gpu.multiprocessors) == ("NVIDIA H200", "9.0", 141, 132)
    assert (gpu.driver, gpu.cudnn) == ("13.2", "9.14.0")
    assert (gpu.uuid[:12], instance.uuid[:12]) == ("GPU-00010203", "MIG-00010203")


def test_code_for_a_capability_runs_on_later_ones_of_its_major_version() -> None:
    assert [kernels_missing(one, "1.31.1") is None for one in ("8.7", "9.0", "7.0", "10.0")] == [
        True,
        True,
        False,
        False,
    ]
    assert kernels_missing("10.0", "0.1") is None, "of another wheel it is not known"


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

    runtime = type("Runtime", (), {"preload_dlls": staticmethod(preload_dlls)})
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


def test_the_libraries_are_loaded_once_while_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended, loads, stdout = threading.Event(), threading.Event(), [], sys.stdout

    def preload_dlls(directory: str | None = None) -> None:
        loads.append(directory)
        begun.set()
        assert ended.wait(60)

    monkeypatch.setattr(module, "library_folders", lambda: [])
    runtime = type("Runtime", (), {"preload_dlls": staticmethod(preload_dlls)})
    threads = [threading.Thread(target=preload, args=(runtime,)) for _ in range(2)]
    threads[0].start()
    assert begun.wait(60)
    assert sys.stdout is stdout, "what other threads print meanwhile is not lost"
    threads[1].start()
    threads[1].join(0.2)  # without the lock it has begun by now
    ended.set()
    for thread in threads:
        thread.join()
    assert loads == [None] and sys.stdout is stdout
