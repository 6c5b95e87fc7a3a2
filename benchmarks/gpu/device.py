"""What a device reaches in plain products, how much arithmetic pairs take, and what it does during a pass."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.rounds import Worker, WorkerError, ask_once

ATTENTION_VARIABLE = "ORT_ENABLE_ATTENTION_KERNEL_DEBUG_INFO"
"""Must be 1 before a process starts; the runtime then prints a line for each attention node that it calls."""
_KERNEL_SIGNS = ("sdpakernel", "attention_kernel", "attention kernel", "cudnn_flash", "operator=")


def flops(architecture: Mapping[str, Any], tokens: Sequence[int]) -> float:
    """Arithmetic of pairs with these lengths: for roberta-large 604 MFLOP + 98.3 kFLOP · s a token."""
    layers, h, i = (int(architecture[key]) for key in ("layers", "hidden_size", "intermediate_size"))
    dense, attention = 2 * layers * (4 * h * h + 2 * h * i), 4 * layers * h
    return float(sum(s * (dense + attention * s) for s in tokens))


def matrix_rate(device: str, environment: Mapping[str, str], logs: Path) -> tuple[float, dict[str, Any]]:
    """FLOP/s that the device reaches in half precision (a CPU, for a trial, in fp32), and what it is."""
    on_gpu = device.startswith("cuda")
    options = (
        {"dtype": "float16", "sizes": [4096, 8192, 16384], "repeat": 20}
        if on_gpu
        else {"dtype": "float32", "sizes": [512], "repeat": 3}
    )
    spec = {"runner": "matrix:rate", "device": device, "options": options}
    worker = Worker(spec, environment, logs / "matrix.log", sys.executable, 300)
    try:
        worker.ask("pass")
        return float(worker.ask("answers")["answers"][0]), {**worker.opened["chosen"], **options}
    finally:
        worker.close()


def watch(spec: Mapping[str, Any], environment: Mapping[str, str], log: Path) -> dict[str, Any]:
    """What the device did in a pass of ``scorer run``, and the attention kernels that the runtime says it took.

    ``idle``, ``copies``, ``kernels``, ``attention``: see :mod:`benchmarks.device_trace`. ``said``: the runtime's own
    lines, each once. ``error``: why there is nothing.
    """
    log.unlink(missing_ok=True)
    try:
        seen: dict[str, Any] = ask_once(spec, {**environment, ATTENTION_VARIABLE: "1"}, log)
    except WorkerError as e:
        return {"error": str(e)}
    lines = log.read_text(errors="replace").splitlines()
    found = [line.strip()[:160] for line in lines if any(sign in line.lower() for sign in _KERNEL_SIGNS)]
    return {**seen, "said": list(dict.fromkeys(found))[:20]}


def seen_in_words(seen: Mapping[str, Any]) -> list[str]:
    """What :func:`watch` saw of the device, a line each."""
    if "error" in seen:
        return [f"The device was not watched: {seen['error']}"]
    if not seen.get("kernels"):
        return ["Nothing ran on a CUDA device, so that none was watched."]
    lines = [
        f"`scorer run` from its first kernel to its last, {seen['seconds']:.2f} s: idle {seen['idle']:.2%}, "
        f"only copying {seen['copies']:.2%}."
    ]
    total = sum(seconds for seconds, _ in seen["kernels"].values())
    for words, kernels in (("attention", seen["attention"]), ("kernel", seen["kernels"])):
        for name, (seconds, calls) in list(kernels.items())[:6]:
            lines.append(f"{words}: {seconds / total:6.1%}, {calls:,} calls, {name[:110]}")
    return [*lines, *(f"the runtime says: {line}" for line in seen.get("said", [])[:6])]
