"""Explanations for users: why a GPU or an installation does not work, and whether a bundle can be trusted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata

from .bundle import BINARY, NLI, Manifest, Scheme
from .device import Hardware, read_gpu

WHEEL_KERNELS: Mapping[str, tuple[tuple[int, int], ...]] = {"1.31.1": ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (12, 0))}
"""Compute capabilities that the CUDA provider of a wheel has machine code for, by version. None of these wheels has
PTX, from which a driver could make code for another one."""
CUDNN_MISSING = (
    "no cuDNN 9, which fp32 (so --exact, and pairs that are not finite in fp16) and the padded layout need: "
    "pip install 'onnxruntime-gpu[cuda,cudnn]'"
)


def find_gpus() -> list[Hardware]:
    """GPUs that the driver shows to this process, MIG instances and ``CUDA_VISIBLE_DEVICES`` considered."""
    gpus: list[Hardware] = []
    while (gpu := read_gpu(len(gpus))) is not None:
        gpus.append(gpu)
    return gpus


def kernels_missing(capability: str, runtime_version: str) -> str | None:
    """Reason why the wheel's own kernels do not run on a GPU; ``None`` where they do, or where it is not known.

    Code for one capability runs on later ones of the same major version, and on no other.
    """
    kernels = WHEEL_KERNELS.get(runtime_version, ())
    major, _, minor = capability.partition(".")
    if not kernels or not minor:
        return None
    if any(kernel_major == int(major) and kernel_minor <= int(minor) for kernel_major, kernel_minor in kernels):
        return None
    listed = ", ".join(f"{kernel_major}.{kernel_minor}" for kernel_major, kernel_minor in kernels)
    return (
        f"the GPU has compute capability {capability}, and ONNX Runtime {runtime_version} has kernels for {listed} "
        "only; install a build of ONNX Runtime for this GPU"
    )


def conflicting_wheels() -> list[str]:
    """ONNX Runtime wheels in one folder, whose files overwrite each other; empty where there is no conflict.

    Wheels in different folders do not mix: Python takes the whole package from the first folder of its path.
    """
    folders: dict[str, str] = {}
    for name in ("onnxruntime", "onnxruntime-gpu"):
        with suppress(metadata.PackageNotFoundError):
            folders[name] = os.path.realpath(str(metadata.distribution(name).locate_file("")))
    return list(folders) if len(folders) > len(set(folders.values())) else []


def caveat(manifest: Manifest) -> str | None:
    """Reason not to trust the labels of a bundle; ``None`` where nothing is known."""
    if manifest.source.random_init:
        return f"the weights of the bundle {manifest.name} are random, so its labels mean nothing"
    if manifest.forced:
        return f"the bundle {manifest.name} was exported with --force although {'; '.join(manifest.forced)}"
    return None


def describe_scheme(scheme: Scheme) -> str:
    """The scheme in words: its name, its labels or logit, and the threshold."""
    if scheme.kind == NLI:
        return f"{NLI} ({', '.join(scheme.labels)})"
    output = f"{scheme.supported} of {' and '.join(scheme.labels)}" if scheme.kind == BINARY else "one logit"
    return f"{scheme.kind} ({output}, passes from {scheme.threshold:g})"
