"""One setting in a separate process: opened once, then timed on each request.

Spoken over stdin and stdout, a line of JSON each way: the first line in is the specification, the first out ``ready``
or ``error``; then ``pass`` is answered with seconds, ``answers`` with what the last pass found. A runner is a function
of the specification that returns a function; calling that is one pass. What libraries print goes to stderr.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from importlib import metadata
from typing import Any

PACKAGES = (
    "torch", "transformers", "sentence-transformers", "optimum", "optimum-onnx", "optimum-intel", "onnxruntime",
    "onnxruntime-gpu", "openvino", "nncf", "tokenizers", "numpy", "pyarrow",
)  # fmt: skip


def main() -> None:
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(**message: Any) -> None:
        channel.write(json.dumps(message) + "\n")

    try:
        spec = json.loads(sys.stdin.readline())
        began = time.perf_counter()
        one_pass, chosen = _open(spec)
        say(
            ready=True, load_seconds=round(time.perf_counter() - began, 2), chosen=chosen, versions=versions(),
            python=sys.version.split()[0],
        )  # fmt: skip
        answers: Any = None
        for line in sys.stdin:
            word = line.strip()
            if word == "pass":
                timed = measure(one_pass)
                answers = timed.pop("answers")
                say(**timed)
            elif word == "answers":
                say(answers=answers.tolist() if hasattr(answers, "tolist") else answers)
    except BrokenPipeError:
        pass
    except Exception as e:  # a peer may fail in any way; the table says how
        traceback.print_exc()
        reason = next((line for line in str(e).splitlines() if line.strip()), "")
        say(error=f"{type(e).__name__}: {reason}"[:240])


def measure(one_pass: Callable[[], Any]) -> dict[str, Any]:
    """Time one pass. A runner that knows better what to count returns (answers, seconds).

    ``cpu_seconds``: processor time of this process meanwhile. ``others``: processors kept busy by other processes.
    """
    busy, own, began = _busy_seconds(), _own_seconds(), time.perf_counter()
    answers = one_pass()
    wall = time.perf_counter() - began
    used = _own_seconds() - own
    others = None if busy is None else max(0.0, ((_busy_seconds() or 0.0) - busy - used) / wall)
    seconds = wall
    if isinstance(answers, tuple):
        answers, seconds = answers
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {
        "answers": answers,
        "seconds": seconds,
        "cpu_seconds": round(used, 3),
        "load1": round(os.getloadavg()[0], 2),
        "others": None if others is None else round(others, 2),
        "peak_mb": peak,
    }


def versions() -> dict[str, str]:
    """Versions of the packages that are imported here."""
    found = {}
    for name in PACKAGES:
        module = {"optimum-onnx": "optimum.onnxruntime", "optimum-intel": "optimum.intel"}.get(name)
        module = module or name.replace("onnxruntime-gpu", "onnxruntime").replace("-", "_")
        if module in sys.modules:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
    return found


def _open(spec: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, Any]]:
    chosen: dict[str, Any] = {}
    one_pass = find_runner(spec["runner"])(spec, chosen)
    if spec.get("options", {}).get("warm_pass"):  # of runners that do not warm up by themselves
        chosen["first_pass_seconds"] = round(measure(one_pass)["seconds"], 3)
    return one_pass, chosen


def find_runner(name: str) -> Callable[[dict[str, Any], dict[str, Any]], Any]:
    """The runner of a name, ``module:function`` below ``benchmarks.speed.runners``."""
    module, function = name.split(":")
    runner: Callable[[dict[str, Any], dict[str, Any]], Any] = getattr(
        importlib.import_module(f"benchmarks.speed.runners.{module}"), function
    )
    return runner


def _busy_seconds() -> float | None:
    try:
        with open("/proc/stat") as handle:  # noqa: PTH123 - a kernel file, read on the way of every pass
            fields = [int(value) for value in handle.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")  # all but idle and waiting for disks


def _own_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


if __name__ == "__main__":
    main()
