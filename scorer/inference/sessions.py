"""A runtime session on the device that was asked for, or an error: never another device in silence.

A provider in the list of available ones proves nothing (its libraries may be missing), so a session is created and
asked what it took.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import DeviceError, MissingDependencyError

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
CUDA_OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        # The arena grows by what is asked, since the largest shape comes first.
        "arena_extend_strategy": "kSameAsRequested",
        # TF32 would change fp32 labels.
        "use_tf32": "0",
    }
)
"""Of the CUDA provider. `make bench-gpu` holds others against them."""
OWN_GRAPH = Path(__file__).parent / "matrix" / "fp32.onnx"
"""A product of two matrices: what a device is tried with."""
_OUT_OF_MEMORY = (
    "failed to allocate memory",
    "out of memory",
    "cudaerrormemoryallocation",
    "bad_alloc",
    "bad allocation",
    "cannot allocate memory",
)
_DEVICE = re.compile(r"auto|cpu|cuda(?::(\d+))?")


@dataclass(frozen=True)
class Device:
    """A resolved device. ``kind``: ``cpu`` or ``cuda``; ``index``: which GPU; ``name``: the hardware in words."""

    kind: str
    index: int = 0
    name: str = ""

    @property
    def provider(self) -> str:
        return CUDA if self.kind == "cuda" else CPU

    def __str__(self) -> str:
        return f"cuda:{self.index}" if self.kind == "cuda" else "cpu"


def runtime() -> Any:
    """The ``onnxruntime`` module.

    Raises:
        MissingDependencyError: neither of its wheels is installed.
    """
    try:
        import onnxruntime
    except ImportError as e:
        raise MissingDependencyError(
            "ONNX Runtime is not installed: pip install 'd2t-scorer[cpu]', or on a machine with an NVIDIA GPU "
            "'d2t-scorer[gpu]' (one of them, not both)"
        ) from e
    return onnxruntime


def installed_wheels() -> dict[str, str]:
    """ONNX Runtime wheels by name with their versions; two of them shadow each other."""
    found = {}
    for name in ("onnxruntime", "onnxruntime-gpu"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def available_threads() -> int:
    """Processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def create_session(model: Path, device: Device, threads: int, cuda_options: Mapping[str, str] = CUDA_OPTIONS) -> Any:
    """An ``InferenceSession`` of ``model`` that really runs on ``device``.

    Raises:
        DeviceError: the provider is not in this build, or it did not start; says what was found.
    """
    ort = runtime()
    if device.provider not in ort.get_available_providers():
        raise DeviceError(
            f"device {device} was asked for, but ONNX Runtime {ort.__version__} here has only "
            f"{', '.join(ort.get_available_providers())}; {_cuda_mend()}"
        )
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 4  # failures come back as exceptions; the log would repeat them on stderr
    providers: list[Any] = [device.provider]
    if device.kind == "cuda":
        _preload_cuda(ort)
        providers = [(CUDA, {"device_id": device.index, **cuda_options}), CPU]
    try:
        session = ort.InferenceSession(
            str(model), options, providers=providers, disabled_optimizers=unwanted_fusions(device.provider)
        )
    except Exception as e:  # the runtime's exceptions share no base class but Exception
        raise DeviceError(f"model {model} does not start on {device}: {first_line(e)}; see `scorer doctor`") from e
    session.disable_fallback()
    taken = session.get_providers()
    if taken[0] != device.provider:
        raise DeviceError(
            f"device {device} was asked for, but the session took {taken[0]} (its libraries are missing or do not "
            f"fit); {_cuda_mend()}"
        )
    return session


def unwanted_fusions(provider: str) -> list[str]:
    """Fusions that the runtime must not do as it loads a graph for ``provider``.

    On the CPU its kernel of a fused residual and normalisation is slower than the two apart, by what
    ``python -m benchmarks.kernels`` shows, so that exported graphs keep them apart.
    """
    return ["SkipLayerNormFusion"] if provider == CPU else []


def resolve_device(asked: str) -> Device:
    """Turn ``auto``, ``cpu``, ``cuda`` or ``cuda:N`` into a device on which a session starts.

    ``auto`` is CUDA where a session on it really starts, else the CPU. What is named and does not start is an error.
    The session is one of a graph of this program's own: a bundle's graph is not opened to find out where it could be.

    Raises:
        DeviceError: not one of these words, or the named device does not start.
    """
    match = _DEVICE.fullmatch(asked)
    if match is None:
        raise DeviceError(f"device {asked!r} is not known; write auto, cpu, cuda or cuda:N")
    if asked == "cpu":
        return Device("cpu", name=_cpu_name())
    cuda = Device("cuda", int(match[1] or 0), _gpu_name(int(match[1] or 0)))
    if asked == "auto" and CUDA not in runtime().get_available_providers():
        return Device("cpu", name=_cpu_name())
    try:
        create_session(OWN_GRAPH, cuda, 1)
    except DeviceError:
        if asked != "auto":
            raise
        return Device("cpu", name=_cpu_name())
    return cuda


def is_out_of_memory(error: Exception) -> bool:
    """Whether a failed run failed for want of memory, of the device or of this process."""
    message = str(error).lower()
    return isinstance(error, MemoryError) or any(sign in message for sign in _OUT_OF_MEMORY)


def _preload_cuda(ort: Any) -> None:
    """Load the CUDA and cuDNN libraries that came as wheels; where they are system-wide this finds nothing to do."""
    preload = getattr(ort, "preload_dlls", None)
    if preload is not None:
        preload()


def _cuda_mend() -> str:
    if len(installed_wheels()) > 1:
        return "both onnxruntime and onnxruntime-gpu are installed and shadow each other: uninstall both, install one"
    return "install 'd2t-scorer[gpu]' on a machine with an NVIDIA driver, or choose --device cpu"


def first_line(error: BaseException) -> str:
    """An exception of another library as one line."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return "cpu"
    fields = dict(re.findall(r"^(model name|cpu family|model|flags)\s*: (.*)$", text, re.MULTILINE))
    # The instruction sets decide which kernels run, and so the last bits of every number.
    wanted = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8")
    flags = [flag for flag in wanted if flag in fields.get("flags", "").split()]
    return " ".join([fields.get("model name", "cpu").strip(), *flags])


def _gpu_name(index: int) -> str:
    for information in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))[index : index + 1]:
        match = re.search(r"^Model:\s*(.*)$", information.read_text(), re.MULTILINE)
        if match:
            return match[1].strip()
    return f"cuda:{index}"
