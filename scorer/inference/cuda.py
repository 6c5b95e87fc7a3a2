"""NVIDIA GPUs: what the driver says of one, the libraries that the runtime needs, the kernels that it brings.

The driver is asked through libcuda itself, so that ``CUDA_VISIBLE_DEVICES`` and MIG hold: a number means what it means
to the runtime. Nothing is allocated on the GPU, and no context is made.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76
"""CUdevice_attribute: CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ..._COMPUTE_CAPABILITY_MAJOR, ..._MINOR."""

MEMORY_EFFICIENT = {"sdpa_kernel": "2"}
"""The provider's option for the attention of the packed form (``AttentionBackend`` in ONNX Runtime's
``attention_common.h``): CUTLASS's memory-efficient kernel, which reads queries, keys and values as the products wrote
them. FlashAttention (1) is as fast: 9,613 against 9,624 pairs a second on an H200."""

NEEDS_CUDNN = "fp32 (so --exact, and pairs that are not finite in fp16) and the padded layout"
CUDNN_WHEEL = "'onnxruntime-gpu[cuda,cudnn]'"

WHEEL_KERNELS: Mapping[str, tuple[tuple[int, int], ...]] = {
    "1.31.1": ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (12, 0)),
}
"""Compute capabilities that the CUDA provider of a wheel has machine code for, by version. None of these wheels has
PTX, from which a driver could make code for another one."""


@dataclass(frozen=True)
class Gpu:
    """What the driver says. ``uuid``: of the GPU, or of the MIG instance; ``memory``: bytes; ``driver``: the CUDA
    version that it supports, as ``13.0``."""

    name: str
    uuid: str
    capability: str
    memory: int
    multiprocessors: int
    driver: str
    cudnn: str

    @property
    def numbers(self) -> tuple[str, ...]:
        """What decides which kernels run, besides the name."""
        return (self.capability, str(self.multiprocessors), self.driver, self.cudnn)


def read_gpu(index: int) -> Gpu | None:
    """The GPU that the runtime would call ``index``; ``None`` without a driver, or with fewer GPUs."""
    driver = _driver()
    if driver is None:
        return None
    device, count, version = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    try:
        if driver.cuDeviceGetCount(ctypes.byref(count)) or index >= count.value:
            return None
        if driver.cuDeviceGet(ctypes.byref(device), index):
            return None
        driver.cuDriverGetVersion(ctypes.byref(version))
        name, uuid, memory = ctypes.create_string_buffer(256), (ctypes.c_ubyte * 16)(), ctypes.c_size_t()
        driver.cuDeviceGetName(name, len(name), device)
        # The second form tells MIG instances apart; drivers before 11.4 have the first alone.
        get_uuid = getattr(driver, "cuDeviceGetUuid_v2", None) or driver.cuDeviceGetUuid
        get_uuid(uuid, device)
        driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    except AttributeError:  # a library of this name that is not the driver's
        return None
    major, minor, processors = (_attribute(driver, what, device) for what in (_MAJOR, _MINOR, _MULTIPROCESSORS))
    return Gpu(
        name=name.value.decode("utf-8", "replace").strip() or f"cuda:{index}",
        uuid=_uuid(bytes(uuid), "MIG" if b" MIG " in name.value else "GPU"),
        capability=f"{major}.{minor}",
        memory=memory.value,
        multiprocessors=processors,
        driver=f"{version.value // 1000}.{version.value % 1000 // 10}",
        cudnn=cudnn_version(),
    )


@cache
def count_gpus() -> int:
    """How many GPUs the driver shows to this process, MIG instances and ``CUDA_VISIBLE_DEVICES`` considered."""
    return next(number for number in count() if read_gpu(number) is None)


def cudnn_version() -> str:
    """As ``9.14.0``; empty where there is no cuDNN 9 that can be loaded."""
    name = "libcudnn.so.9"
    for place in (name, *(str(Path(folder, name)) for folder in library_folders())):
        with contextlib.suppress(OSError, AttributeError):
            number = int(ctypes.CDLL(place).cudnnGetVersion())
            return f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    return ""


def kernels_missing(capability: str, runtime_version: str) -> str | None:
    """Why the wheel's own kernels do not run on a GPU; ``None`` where they do, or where it is not known.

    Code for one capability runs on later ones of the same major version, and on no other.
    """
    known = WHEEL_KERNELS.get(runtime_version)
    major, _, minor = capability.partition(".")
    if known is None or not (major.isdecimal() and minor.isdecimal()):
        return None
    if any(has == int(major) and least <= int(minor) for has, least in known):
        return None
    listed = ", ".join(f"{has}.{least}" for has, least in known)
    return (
        f"the GPU has compute capability {capability}, and ONNX Runtime {runtime_version} has kernels for {listed} "
        "only; install a build of ONNX Runtime for this GPU"
    )


def diagnose(capability: str, runtime_version: str, message: str) -> str | None:
    """Why the first call of a session failed with a message, and what to install; ``None`` where it is not known."""
    missing = kernels_missing(capability, runtime_version)
    if missing is None and "cudnn" in message.lower() and not cudnn_version():
        return f"cuDNN 9 (libcudnn.so.9) is not installed, which {NEEDS_CUDNN} need: pip install {CUDNN_WHEEL}"
    return missing


def library_folders() -> list[str]:
    """Folders of CUDA's libraries that were installed as wheels, wherever on Python's path these are."""
    found = (folder for entry in sys.path for folder in sorted(Path(entry or ".", "nvidia").glob("*/lib")))
    return [str(folder.resolve()) for folder in found if folder.is_dir()]


@cache
def preload(runtime: Any) -> None:
    """Load the CUDA and cuDNN libraries that came as wheels, once; where they are system-wide there is nothing to do.

    The runtime's own function looks next to the runtime alone unless it is told a folder, and the wheels may be in
    another folder of Python's path. It prints what it did not find. stdout is for data, so that goes nowhere: whether
    the libraries suffice is seen when a session starts.
    """
    load = getattr(runtime, "preload_dlls", None)
    if load is None:
        return
    with contextlib.redirect_stdout(io.StringIO()):
        for folder in library_folders():
            load(directory=folder)
        load()


@cache
def _driver() -> Any:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        return None if driver.cuInit(0) else driver
    except (OSError, AttributeError):
        return None


def _attribute(driver: Any, what: int, device: ctypes.c_int) -> int:
    value = ctypes.c_int()
    driver.cuDeviceGetAttribute(ctypes.byref(value), what, device)
    return value.value


def _uuid(value: bytes, kind: str) -> str:
    digits = value.hex()
    return "-".join((kind, digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
