"""Devices: the table of their kinds, which alone tells them apart, and the hardware of NVIDIA GPUs.

A GPU's driver is asked through libcuda itself, so that ``CUDA_VISIBLE_DEVICES`` and MIG hold: a number means what it
means to the runtime. Nothing is allocated on the GPU, and no context is made. Importing this imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any
from uuid import UUID

from ..errors import DeviceError, install_hint

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
PADDED, PACKED = "padded", "packed"
"""Layouts of a call: pairs padded to one length, or laid end to end."""
_MEMORY_ERRORS = (
    # Of this process, whatever the provider.
    "failed to allocate memory", "bad_alloc", "bad allocation", "cannot allocate memory",
    # Of a GPU. The arena says: "Available memory of ... is smaller than requested bytes of ...".
    "out of memory", "cudaerrormemoryallocation", "is smaller than requested", "cublas_status_alloc_failed",
    "cudnn_status_alloc_failed",
)  # fmt: skip
"""Signs that a call did not fit the memory, in lower case."""
_PRELOADING = threading.Lock()
_ATTRIBUTES = (16, 75, 76)
"""CUdevice_attribute: CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ..._COMPUTE_CAPABILITY_MAJOR, ..._MINOR."""
MEMORY_EFFICIENT = {"sdpa_kernel": "2"}
"""The provider's option for the attention of the packed form (``AttentionBackend`` in ONNX Runtime's
``attention_common.h``): CUTLASS's memory-efficient kernel, which reads queries, keys and values as the products wrote
them. FlashAttention (1) is as fast: 9,613 against 9,624 pairs a second on an H200."""


@dataclass(frozen=True)
class Hardware:
    """One device, as its driver describes it; of a CPU the name alone."""

    name: str
    uuid: str = ""
    """Identity of the GPU or MIG instance."""
    capability: str = ""
    """Compute capability, such as ``9.0``."""
    memory: int = 0
    """Bytes."""
    multiprocessors: int = 0
    driver: str = ""
    """CUDA version that the driver supports, such as ``13.0``."""
    cudnn: str = ""
    """Version of cuDNN, such as ``9.14.0``."""


@dataclass(frozen=True)
class DeviceKind:
    """An entry of the table of device kinds."""

    provider: str
    """ONNX Runtime's name of the execution provider."""
    hardware: Callable[[int], Hardware]
    """Reads a device by its number."""
    precisions: tuple[str, ...]
    """Precisions that ``auto`` tries, the best first."""
    layouts: tuple[str, ...]
    """Layouts that run, the best first."""
    token_budgets: tuple[int, ...]
    """Tokens a call, the usual number first."""
    fixed_pairs: int
    """Pairs a call when fp32 stands in for another precision."""
    install: str
    """Advice for a device that does not start."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Provider options of each session."""
    attention: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Further provider options by layout, which choose the attention kernel."""
    memory_limit: str = ""
    """Name of the provider option that limits the memory of a session."""
    arena: str = ""
    """Name of the arena to shrink after a call did not fit."""
    unwanted_fusions: tuple[str, ...] = ()
    """Optimizers of the runtime that are switched off."""
    is_host: bool = False
    """Whether a session computes with the threads of this process. Such a device is the only one of its kind, starts
    without libraries of its own, computes any shape at the same rate, and is slow."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Precisions that do not run, with the reason."""
    prepare: Callable[[Any], None] = lambda runtime: None
    """Called with the ``onnxruntime`` module before a session is created."""


@dataclass(frozen=True)
class Device:
    """A device."""

    kind: str
    """Name in :data:`KINDS`."""
    index: int = 0
    """Number among the devices of this kind."""
    hardware: Hardware = Hardware("")

    @property
    def spec(self) -> DeviceKind:
        """The entry of this kind of device in the table."""
        return KINDS[self.kind]

    def __str__(self) -> str:
        return self.kind if self.spec.is_host else f"{self.kind}:{self.index}"


def parse_device(text: str) -> Device:
    """The device that ``NAME`` or ``NAME:N`` means, with its hardware as far as it can be read. Nothing is started.

    Raises:
        DeviceError: not the name of a kind of device.
    """
    name, colon, number = text.partition(":")
    kind = KINDS.get(name)
    if kind is None or (colon and not (not kind.is_host and number.isascii() and number.isdecimal())):
        names = [name + ("" if kind.is_host else f", {name}:N") for name, kind in reversed(list(KINDS.items()))]
        raise DeviceError(f"device {text!r} is not known; choose from auto, {', '.join(names)}")
    return Device(name, int(number or 0), kind.hardware(int(number or 0)))


def is_out_of_memory(error: Exception) -> bool:
    """Whether a failed run failed for want of memory, of a device or of this process."""
    message = str(error).lower()
    return isinstance(error, MemoryError) or any(sign in message for sign in _MEMORY_ERRORS)


def read_gpu(index: int) -> Hardware | None:
    """The GPU that the runtime would call ``index``; ``None`` without a driver, or with fewer GPUs."""
    driver = _driver()
    if driver is None:
        return None
    device, total, version = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    name, identity, memory = ctypes.create_string_buffer(256), (ctypes.c_ubyte * 16)(), ctypes.c_size_t()
    multiprocessors, major, minor = attributes = [ctypes.c_int() for _ in _ATTRIBUTES]
    try:
        if driver.cuDeviceGetCount(ctypes.byref(total)) or index >= total.value:
            return None
        if driver.cuDeviceGet(ctypes.byref(device), index):
            return None
        driver.cuDriverGetVersion(ctypes.byref(version))
        driver.cuDeviceGetName(name, len(name), device)
        driver.cuDeviceGetUuid_v2(identity, device)  # the form that tells MIG instances apart
        driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
        for number, value in zip(_ATTRIBUTES, attributes, strict=True):
            driver.cuDeviceGetAttribute(ctypes.byref(value), number, device)
    except AttributeError:  # a library of this name that is not the driver's
        return None
    return Hardware(
        name=name.value.decode("utf-8", "replace").strip() or f"cuda:{index}",
        uuid=f"{'MIG' if b' MIG ' in name.value else 'GPU'}-{UUID(bytes=bytes(identity))}",
        capability=f"{major.value}.{minor.value}",
        memory=memory.value,
        multiprocessors=multiprocessors.value,
        driver=f"{version.value // 1000}.{version.value % 1000 // 10}",
        cudnn=cudnn_version(),
    )


def cudnn_version() -> str:
    """As ``9.14.0``; empty where there is no cuDNN 9 that can be loaded."""
    name = "libcudnn.so.9"
    for path in (name, *(str(Path(folder, name)) for folder in library_folders())):
        with contextlib.suppress(OSError, AttributeError):
            number = int(ctypes.CDLL(path).cudnnGetVersion())
            return f"{number // 10000}.{number // 100 % 100}.{number % 100}"
    return ""


def library_folders() -> list[str]:
    """Folders of CUDA's libraries that were installed as wheels, wherever on Python's path these are."""
    folders = (folder for entry in sys.path for folder in sorted(Path(entry or ".", "nvidia").glob("*/lib")))
    return [str(folder.resolve()) for folder in folders if folder.is_dir()]


def preload(runtime: Any) -> None:
    """Load the CUDA and cuDNN libraries that came as wheels, once; any thread may ask."""
    with _PRELOADING:  # a second thread waits until they are loaded
        _preload(runtime)


@cache
def _preload(runtime: Any) -> None:
    if load := getattr(runtime, "preload_dlls", None):
        load = _without_printing(load)  # it prints which libraries are missing
        for folder in library_folders():  # without a folder, it searches next to the runtime only
            load(directory=folder)
        load()


def _without_printing(function: Any) -> Any:
    """The same function with a ``print`` that prints nothing. Redirecting ``sys.stdout`` instead would affect the whole
    program: output of other threads would be lost, and it may be restored too late."""
    if not isinstance(function, FunctionType):
        return function
    namespace = {**function.__globals__, "print": lambda *values, **options: None}
    copied = FunctionType(function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__)
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


@cache
def _driver() -> Any:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        return None if driver.cuInit(0) else driver
    except (OSError, AttributeError):
        return None


def _cpu(index: int) -> Hardware:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return Hardware("cpu")
    fields = dict(re.findall(r"^(model name|cpu family|model|flags)\s*: (.*)$", text, re.MULTILINE))
    # The instruction sets decide which kernels run, and so the last bits of every number.
    instruction_sets = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8")
    flags = [flag for flag in instruction_sets if flag in fields.get("flags", "").split()]
    return Hardware(" ".join([fields.get("model name", "cpu").strip(), *flags]))


KINDS: Mapping[str, DeviceKind] = {
    "cuda": DeviceKind(
        provider=CUDA,
        hardware=lambda index: read_gpu(index) or Hardware(f"cuda:{index}"),
        precisions=("fp16", "fp32"),
        refused={"int8": "it is made for the integer products of a CPU; fp16 is faster there"},
        layouts=(PACKED, PADDED),
        token_budgets=(65536, 32768, 16384, 8192, 4096),
        fixed_pairs=64,
        install=f"{install_hint('gpu')} on a machine with an NVIDIA driver, or choose --device cpu",
        # The arena grows by what is asked, since the largest shape comes first. TF32 would change fp32 labels.
        options={"arena_extend_strategy": "kSameAsRequested", "use_tf32": "0"},
        attention={PACKED: MEMORY_EFFICIENT},
        memory_limit="gpu_mem_limit",
        arena="gpu",
        prepare=preload,
    ),
    "cpu": DeviceKind(
        provider=CPU,
        hardware=_cpu,
        precisions=("int8", "fp32"),
        layouts=(PADDED,),
        token_budgets=(1024, 512, 2048, 4096),
        fixed_pairs=1,
        install=install_hint("cpu"),
        # Its kernel of a fused residual and normalisation is slower than the two apart (docs/performance.md, *The
        # graph*), so that exported graphs keep them apart.
        unwanted_fusions=("SkipLayerNormFusion",),
        is_host=True,
    ),
}
"""By name, in the order in which ``auto`` tries them; the last one runs everywhere."""
