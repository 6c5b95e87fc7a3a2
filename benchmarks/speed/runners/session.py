"""The session of one form of the graph: where each of its nodes runs, what the runtime made of it, and its versions."""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.speed.worker import versions
from scorer.inference.bundle import Bundle
from scorer.inference.device import read_gpu, unwanted_fusions
from scorer.inference.session import providers, resolve_device, runtime, session_options, small_feed
from scorer.inference.variants import executions

from .common import load_cuda

_WARNINGS = 2
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def opened(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, Any], float]]:
    """Opens a session as a run does, with the optimised graph saved, and makes one call with the runtime's profiler.

    ``load_seconds``, ``first_call_seconds``, ``second_call_seconds``. ``ran``: number of nodes that ran, by provider
    and operator. ``graph``: nodes of the optimised graph by operator. ``memcpy``: copies between devices in it.
    ``log``: the runtime's warnings, each once.
    """
    load_cuda(spec)
    options = spec["options"]
    bundle, on = Bundle.load(spec["bundle"]), resolve_device(spec["device"])
    execution = executions(bundle, options["precision"], options["layout"], on)[0]
    model = bundle.variant(execution.variant)

    def run() -> tuple[dict[str, Any], float]:
        ort = runtime()
        with tempfile.TemporaryDirectory() as folder:
            settings = session_options(on, spec.get("threads") or 1)
            settings.log_severity_level = _WARNINGS
            settings.optimized_model_filepath = str(Path(folder) / "optimised.onnx")
            settings.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights")
            settings.enable_profiling = True
            settings.profile_file_prefix = str(Path(folder) / "calls")
            on.spec.prepare(ort)
            began = time.perf_counter()
            with printed() as log:
                session = ort.InferenceSession(
                    str(model),
                    settings,
                    providers=providers(on, execution.options),
                    disabled_optimizers=unwanted_fusions(on.provider),
                )
                loaded = time.perf_counter()
                feed = small_feed(session)
                session.run(None, feed)
                first = time.perf_counter()
                session.run(None, feed)
                second = time.perf_counter()
            ran = nodes_that_ran(json.loads(Path(session.end_profiling()).read_text()))
            graph = operators(Path(settings.optimized_model_filepath))
        found = {
            "load_seconds": round(loaded - began, 3), "first_call_seconds": round(first - loaded, 3),
            "second_call_seconds": round(second - first, 4), "providers": session.get_providers(),
            # Two calls were profiled.
            "ran": {provider: {op: n // 2 for op, n in ops.items()} for provider, ops in ran.items()},
            "graph": graph, "memcpy": sum(n for op, n in graph.items() if op.startswith("Memcpy")),
            "log": list(dict.fromkeys(_COLOUR.sub("", line).strip()[:240] for line in log if line.strip()))[:20],
        }  # fmt: skip
        return found, second - began

    return run


def nodes_that_ran(events: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Nodes that ran by provider and operator, from a profile of the runtime."""
    found: dict[str, Counter[str]] = {}
    for event in events:
        if event.get("cat") == "Node" and str(event.get("name", "")).endswith("_kernel_time"):
            about = event["args"]
            found.setdefault(about.get("provider", "?"), Counter())[about.get("op_name", "?")] += 1
    return {provider: dict(counts.most_common()) for provider, counts in sorted(found.items())}


def operators(path: Path) -> dict[str, int]:
    """Nodes of an ONNX file by operator; those of inner graphs count too."""
    import onnx

    found: Counter[str] = Counter()
    graphs = [onnx.load(str(path), load_external_data=False).graph]
    while graphs:
        for node in graphs.pop().node:
            found[node.op_type] += 1
            graphs += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return dict(found.most_common())


def about(spec: dict[str, Any], chosen: dict[str, Any]) -> Callable[[], tuple[dict[str, str], float]]:
    """Versions of the runtime, its libraries and the driver, and what the device is, by name.

    A session was started on the device before, so that its libraries are loaded.
    """
    load_cuda(spec)
    on = resolve_device(spec["device"])

    def run() -> tuple[dict[str, str], float]:
        found = {"device": on.name, **versions(), "onnxruntime": str(runtime().__version__)}
        gpu = read_gpu(on.index) if on.spec.numbered else None
        if gpu is not None:
            found |= {
                "capability": gpu.capability, "driver supports CUDA": gpu.driver, "cuDNN": gpu.cudnn,
                "memory GiB": f"{gpu.memory / 2**30:.0f}", "multiprocessors": str(gpu.multiprocessors),
            }  # fmt: skip
        return found, 0.0

    return run


@contextmanager
def printed() -> Iterator[list[str]]:
    """The lines that anything in this process prints meanwhile, native code included; filled in at the end."""
    lines: list[str] = []
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in (1, 2)]
    with tempfile.TemporaryFile() as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        try:
            yield lines
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            ctypes.CDLL(None).fflush(None)  # C's own buffer, which is written late where stdout is a file
            for number, old in zip((1, 2), kept, strict=True):
                os.dup2(old, number)
                os.close(old)
            file.seek(0)
            lines += file.read().decode("utf-8", "replace").splitlines()
