"""Timed processes, and the machine that they run on."""

from __future__ import annotations

import os
import platform
import re
import resource
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from scorer.errors import first_line

PACKAGES = (
    "torch", "transformers", "sentence-transformers", "optimum", "optimum-onnx", "optimum-intel", "onnxruntime",
    "onnxruntime-gpu", "openvino", "nncf", "tokenizers", "numpy", "pyarrow",
)  # fmt: skip
_FLAGS = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_bf16", "amx_int8")
"""Instruction sets that decide which kernels run."""
Runner = Callable[[dict[str, Any], dict[str, Any]], Callable[[], Any]]
"""Opens a setting: from its specification, and a dict that it fills with its choices, to a function that does one pass.
A pass returns its answers, or (answers, seconds) if the runner measures the time itself."""


def describe() -> dict[str, Any]:
    """Processor, cores that this process may use, instruction sets, memory, system, installed versions."""
    cpu = _read("/proc/cpuinfo")
    fields = dict(re.findall(r"^(model name|cpu family|model|cache size|flags)\s*: (.*)$", cpu, re.MULTILINE))
    memory = re.search(r"MemTotal:\s*(\d+)", _read("/proc/meminfo"))
    installed = {one.name: one.version for one in metadata.distributions()}
    return {
        "processor": fields.get("model name", platform.processor() or platform.machine()).strip(),
        "family": f"{fields.get('cpu family', '?')}/{fields.get('model', '?')}",
        "cores": cores(),
        "instructions": [flag for flag in _FLAGS if flag in fields.get("flags", "").split()],
        "cache": fields.get("cache size", ""),
        "memory_gb": round(int(memory[1]) / 2**20, 1) if memory else None,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {package: installed[package] for package in PACKAGES if package in installed},
    }


def in_words(machine: dict[str, Any]) -> str:
    sets, memory = ", ".join(machine["instructions"]), f"{machine['memory_gb'] or 0:.0f} GB"
    return f"{machine['processor']} (family {machine['family']}), {machine['cores']} cores, {sets}, {memory}"


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measured(function: Callable[..., Any], *arguments: Any, log: Path | None = None) -> dict[str, Any]:
    """Call a function of a module in a process of its own, which prints to ``log``: ``result``, ``seconds``,
    ``cpu_seconds`` and ``peak_mb``."""
    with ProcessPoolExecutor(1, get_context("spawn"), _print_to, (log,)) as pool:
        return pool.submit(_measure, function, arguments).result()


def _measure(function: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[str, Any]:
    began = time.perf_counter()
    result = function(*arguments)
    seconds, own = time.perf_counter() - began, _own_seconds()
    return {"result": result, "seconds": round(seconds, 2), "cpu_seconds": round(own, 2), "peak_mb": _peak_mb()}


class SettingError(Exception):
    """A setting cannot be measured; the table shows the message as the reason."""


def time_setting(runner: Runner, spec: dict[str, Any], log: Path) -> dict[str, Any]:
    """Open a setting in a process of its own, and time one pass: what it chose, seconds to open, answers, seconds,
    ``others`` (processors kept busy by other processes), ``peak_mb``.

    Raises:
        SettingError: it did not start, its pass failed, or the process ended.
    """
    try:
        found: dict[str, Any] = measured(_open_and_time, runner, spec, log=log)["result"]
    except BrokenProcessPool as error:
        raise SettingError("the process ended, probably for lack of memory") from error
    except Exception as error:  # a peer may fail in any way; the table says how, the log where
        with log.open("a") as file:
            traceback.print_exception(error, file=file)
        raise SettingError(f"{type(error).__name__}: {first_line(error)}"[:240]) from error
    return found


def _open_and_time(runner: Runner, spec: dict[str, Any]) -> dict[str, Any]:
    began, chosen = time.perf_counter(), dict[str, Any]()
    one_pass = runner(spec, chosen)
    load, busy, own, began = time.perf_counter() - began, busy_seconds(), _own_seconds(), time.perf_counter()
    answers = one_pass()
    seconds = wall = time.perf_counter() - began
    others = (busy_seconds() - busy - (_own_seconds() - own)) / wall
    if isinstance(answers, tuple):
        answers, seconds = answers
    found = {"chosen": chosen, "load_seconds": round(load, 2), "answers": answers, "seconds": seconds}
    return found | {"others": round(max(0.0, others), 2), "peak_mb": _peak_mb()}


def _print_to(log: Path | None) -> None:
    """Let this process and its libraries print to a file."""
    if log is not None:
        with log.open("a") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)


def busy_seconds() -> float:
    """Seconds that all processors were neither idle nor waiting for disks; 0 where the system does not say."""
    fields = [int(value) for value in _read("/proc/stat").partition("\n")[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK") if len(fields) == 8 else 0.0


def _own_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak_mb() -> int:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
