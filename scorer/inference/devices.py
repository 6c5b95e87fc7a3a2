"""What each kind of device needs: one row a kind. Another execution provider is another row in :data:`KINDS`.

Everything that differs between kinds of device is a field here; the modules around it read the row and name no kind.
What a row says of a GPU that nobody measured (sizes of calls, options) is a first choice; verification and calibration
on the device decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..errors import install_hint
from . import cuda

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
PADDED, PACKED = "padded", "packed"
"""Layouts of a call: pairs padded to one length, or laid end to end."""


@dataclass(frozen=True)
class Hardware:
    """One device. ``name``: in words. ``numbers``: what the last bits of its results depend on, besides the name.

    ``uuid``: of this very device, empty where it has none. ``capability``: CUDA's, empty elsewhere.
    """

    name: str
    uuid: str = ""
    capability: str = ""
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeviceKind:
    """A row of the table.

    Provider and session:
        ``provider``: ONNX Runtime's name of it. ``options``: of the provider, for each session. ``attention``: options
        to add by layout, which choose the attention kernel. ``memory_limit``: the option that
        limits a session's memory, empty if there is none. ``arena``: the arena to shrink after a call did not fit.
        ``unwanted_fusions``: what the runtime must not fuse as it loads a graph.
        ``computes_on_host``: whether a session uses the threads of this process. ``first_call``: whether a
        session is called once before it counts as started, since libraries are loaded by the first call.

    Choices:
        ``precisions``: for ``auto``, the best first. ``refused``: precisions with the reason they do not run.
        ``layouts``: for ``auto``, the best first.
        ``token_budgets``: tokens a call, the usual number first, then others to calibrate with. ``fixed_pairs``: pairs
        a call when fp32 stands in for another precision. ``few_lengths``: whether fp32 is padded to powers of two.

    Measuring:
        ``matrix``: rows of the square matrices of the rate. ``smoke_test_memory``: bytes of the smoke test's
        process itself. ``limits_smoke_test``: whether its address space can be limited. ``quick_check``: whether a
        large model is verified on a part of the probes.

    Machine:
        ``numbered``: whether there may be several, as in ``cuda:1``. ``hardware``: reads one by its number.
        ``prepare``: called with the ``onnxruntime`` module before a session. ``diagnose``: why a first call failed,
        from capability, version of the runtime and message. ``memory_errors``: signs of a call that did not fit, in
        lower case. ``install``: what to do where it does not start.
    """

    name: str
    provider: str
    hardware: Callable[[int], Hardware]
    precisions: tuple[str, ...]
    layouts: tuple[str, ...]
    token_budgets: tuple[int, ...]
    fixed_pairs: int
    matrix: int
    smoke_test_memory: int
    memory_errors: tuple[str, ...]
    install: str
    options: Mapping[str, str] = field(default_factory=dict)
    attention: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    memory_limit: str = ""
    arena: str = ""
    unwanted_fusions: tuple[str, ...] = ()
    computes_on_host: bool = False
    first_call: bool = True
    refused: Mapping[str, str] = field(default_factory=dict)
    few_lengths: bool = True
    limits_smoke_test: bool = False
    quick_check: bool = False
    numbered: bool = True
    prepare: Callable[[Any], None] = lambda runtime: None
    diagnose: Callable[[str, str, str], str | None] = lambda capability, version, message: None


@dataclass(frozen=True)
class Device:
    """A resolved device.

    ``kind``: a name in :data:`KINDS`. ``index``: which one of that kind. ``name``: the hardware in words. ``hardware``:
    what is known of it.
    """

    kind: str
    index: int = 0
    name: str = ""
    hardware: Hardware = Hardware("")

    @property
    def row(self) -> DeviceKind:
        """What this kind of device needs."""
        return KINDS[self.kind]

    @property
    def provider(self) -> str:
        return self.row.provider

    def __str__(self) -> str:
        return f"{self.kind}:{self.index}" if self.row.numbered else self.kind


def device(kind: str, index: int = 0) -> Device:
    """A device of a kind, with what can be read of it. Nothing is started."""
    hardware = KINDS[kind].hardware(index)
    return Device(kind, index, hardware.name, hardware)


def parse(asked: str) -> tuple[str, int] | None:
    """``NAME`` or ``NAME:N`` as kind and number; ``None`` where no row is meant."""
    name, colon, number = asked.partition(":")
    row = KINDS.get(name)
    if row is None or (colon and not (row.numbered and number.isascii() and number.isdecimal())):
        return None
    return name, int(number or 0)


def unwanted_fusions(provider: str) -> list[str]:
    """Fusions that the runtime must not do as it loads a graph for a provider."""
    return [fusion for row in KINDS.values() if row.provider == provider for fusion in row.unwanted_fusions]


def is_out_of_memory(error: Exception) -> bool:
    """Whether a failed run failed for want of memory, of a device or of this process."""
    message = str(error).lower()
    return isinstance(error, MemoryError) or any(
        sign in message for row in KINDS.values() for sign in row.memory_errors
    )


def _cpu(index: int) -> Hardware:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return Hardware("cpu")
    fields = dict(re.findall(r"^(model name|cpu family|model|flags)\s*: (.*)$", text, re.MULTILINE))
    # The instruction sets decide which kernels run, and so the last bits of every number.
    wanted = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8")
    flags = [flag for flag in wanted if flag in fields.get("flags", "").split()]
    return Hardware(" ".join([fields.get("model name", "cpu").strip(), *flags]))


def _gpu(index: int) -> Hardware:
    found = cuda.read_gpu(index)
    if found is None:
        return Hardware(f"cuda:{index}")
    return Hardware(found.name, found.uuid, found.capability, found.numbers)


_HOST_MEMORY = ("failed to allocate memory", "bad_alloc", "bad allocation", "cannot allocate memory")
"""What every provider says where memory of the process itself is short."""

KINDS: Mapping[str, DeviceKind] = MappingProxyType(
    {
        "cuda": DeviceKind(
            name="cuda",
            provider=CUDA,
            hardware=_gpu,
            precisions=("fp16", "fp32"),
            refused={
                "int8": "it is made for the integer products of a CPU; fp16 is faster there",
            },
            layouts=(PACKED, PADDED),
            token_budgets=(65536, 16384, 32768, 131072),
            fixed_pairs=64,
            matrix=8192,
            smoke_test_memory=8 << 30,  # CUDA's libraries alone take some
            memory_errors=(
                "out of memory",
                "cudaerrormemoryallocation",
                "is smaller than requested",  # the arena: "Available memory of ... is smaller than requested ..."
                "cublas_status_alloc_failed",
                "cudnn_status_alloc_failed",
                *_HOST_MEMORY,
            ),
            install=f"{install_hint('gpu')} on a machine with an NVIDIA driver, or choose --device cpu",
            options=MappingProxyType(
                {
                    # The arena grows by what is asked, since the largest shape comes first.
                    "arena_extend_strategy": "kSameAsRequested",
                    # TF32 would change fp32 labels.
                    "use_tf32": "0",
                }
            ),
            attention=MappingProxyType({PACKED: cuda.MEMORY_EFFICIENT}),
            memory_limit="gpu_mem_limit",
            arena="gpu",
            prepare=cuda.preload,
            diagnose=cuda.diagnose,
        ),
        "cpu": DeviceKind(
            name="cpu",
            provider=CPU,
            hardware=_cpu,
            precisions=("int8", "fp32"),
            layouts=(PADDED,),
            token_budgets=(1024, 512, 2048, 4096),
            fixed_pairs=1,
            matrix=1024,
            smoke_test_memory=2 << 30,
            memory_errors=_HOST_MEMORY,
            install=install_hint("cpu"),
            # Its kernel of a fused residual and normalisation is slower than the two apart
            # (docs/performance.md, *The graph*), so that exported graphs keep them apart.
            unwanted_fusions=("SkipLayerNormFusion",),
            computes_on_host=True,
            first_call=False,
            few_lengths=False,
            limits_smoke_test=True,
            quick_check=True,
            numbered=False,
        ),
    }
)
"""By name, in the order in which ``auto`` tries them; the last one runs everywhere."""
