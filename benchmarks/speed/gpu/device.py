"""What a device reaches in plain products, how much arithmetic pairs take, and what it does during a pass."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.device_trace import ATTENTION_LOG, said_of_attention
from benchmarks.speed.rounds import Worker, WorkerError, ask_once


def flops(architecture: Mapping[str, Any], tokens: Sequence[int]) -> float:
    """Arithmetic of pairs with these lengths: for roberta-large 604 MFLOP + 98.3 kFLOP · s a token."""
    from scorer.inference.verification import pair_flops

    work = pair_flops(architecture, sum(tokens), sum(n * n for n in tokens))
    assert work is not None, "the bundles of this bench say how large their models are"
    return work


def matrix_rates(device: str, environment: Mapping[str, str], logs: Path) -> tuple[dict[str, float], dict[str, Any]]:
    """FLOP/s of the device on large products in half precision (a CPU, for a trial, in fp32), and what it is.

    ``sustained``: over five seconds, in which the clock settles, as it does in a run; ``burst``: of the fastest twenty
    products in a row.
    """
    dtype, size, seconds = ("float16", 8192, 5.0) if device.startswith("cuda") else ("float32", 512, 0.05)
    options = {"dtype": dtype, "size": size, "seconds": seconds}
    spec = {"runner": "device:sustained", "device": device, "options": options}
    worker = Worker(spec, environment, logs / "matrix.log", sys.executable, 300)
    try:
        worker.ask("pass")
        return worker.ask("answers")["answers"], {**worker.opened["chosen"], **options}
    finally:
        worker.close()


def free_gib(device: str) -> float:
    """Free memory of a GPU by nvidia-smi, GiB; infinity where it does not say."""
    index = device.partition(":")[2] or "0"
    command = ["nvidia-smi", "-i", index, "--query-gpu=memory.free", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=20).stdout
        return float(said) / 1024
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return float("inf")


def watch(spec: Mapping[str, Any], environment: Mapping[str, str], log: Path) -> dict[str, Any]:
    """What the device did in a pass of ``scorer run``, and the attention kernels that the runtime says it took.

    ``idle``, ``copies``, ``kernels``, ``attention``, ``kinds``: see :mod:`benchmarks.speed.device_trace`. ``said``: the
    runtime's own lines, each once. ``error``: why there is nothing.
    """
    log.unlink(missing_ok=True)
    try:
        seen: dict[str, Any] = ask_once(spec, {**environment, ATTENTION_LOG: "1"}, log)
    except WorkerError as e:
        return {"error": str(e)}
    lines = log.read_text(errors="replace").splitlines()
    return {**seen, "said": said_of_attention(lines)[:20]}


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
    lines.append("of the kernels' time: " + ", ".join(f"{kind} {s / total:.1%}" for kind, s in seen["kinds"].items()))
    for words, kernels in (("attention", seen["attention"]), ("kernel", seen["kernels"])):
        for name, (seconds, calls) in list(kernels.items())[:6]:
            lines.append(f"{words}: {seconds / total:6.1%}, {calls:,} calls, {name[:110]}")
    return [*lines, *(f"the runtime says: {line}" for line in seen.get("said", [])[:6])]
