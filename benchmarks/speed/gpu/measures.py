"""Measures of the steps, each a process: `python -m benchmarks.speed.gpu.measures NAME ARGUMENTS`. ``peer`` imports
nothing of the program, so that it needs none of its dependencies."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from .steps import report, report_failure


def samples(bundle: str, out: str, pairs: str = "32768", rows: str = "67000") -> None:
    """OUT/sample: 39,346 distinct pairs of restaurant texts (rows/rows.parquet, and pairs.json for peers).
    OUT/many/part-0000.parquet: 67,000 rows, 401,909 distinct pairs, without a list of them."""
    from benchmarks.speed.sample import write_rows, write_sample
    from scorer.inference.bundle import Bundle

    sample = write_sample(Path(out) / "sample", Bundle.load(bundle), int(pairs))
    write_rows(Path(out) / "many", int(rows), 1, 6, 1)
    report("samples", rows=sample.rows, pairs=sample.pairs, tokens=sample.tokens, many=int(rows))


def matrix(device: str) -> None:
    """FLOP/s of products of square matrices by PyTorch, the reference for utilisation, and which card it is:
    ``sustained`` over five seconds, in which the clock settles, and ``burst``, that of the fastest twenty in a row."""
    import torch

    on_gpu, facts = device.startswith("cuda"), {}
    size, dtype, limit = (8192, torch.float16, 5.0) if on_gpu else (512, torch.float32, 0.05)
    if on_gpu:
        fields = "name,driver_version,memory.total,power.limit,clocks.sm,temperature.gpu"
        query = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]
        facts["smi"] = subprocess.run(query, capture_output=True, text=True, check=False).stdout.strip()
        facts |= {"device": torch.cuda.get_device_name(device), "cuda": torch.version.cuda}
    # Values of small variance: products of others take more power, which lowers the clock rate.
    a, b = (torch.randn(size, size, device=device).mul(0.02).to(dtype) for _ in "ab")
    spans: list[float] = []
    while sum(spans[1:]) < limit:
        began = time.perf_counter()
        for _ in range(20):
            a @ b
        if on_gpu:
            torch.cuda.synchronize()
        spans.append(time.perf_counter() - began)
    work, timed = 20 * 2 * size**3, spans[1:]
    rates = {"sustained": work * len(timed) / sum(timed), "burst": work / min(timed)}
    report("matrix", **rates, **facts, size=size, dtype=str(dtype))


def pair_flops(architecture: Mapping[str, Any], lengths: Sequence[int]) -> float:
    """Floating point operations of an encoder's matrix products over pairs of these lengths: 8 h² + 4 h f a token and
    layer, 4 h for each token that it attends to (Chowdhery et al., *PaLM*, 2022, appendix B); the last one whole."""
    layers, hidden, inner = (architecture.get(name, 0) for name in ("layers", "hidden_size", "intermediate_size"))
    squared = sum(length**2 for length in lengths)
    return float(layers * ((8 * hidden**2 + 4 * hidden * inner) * sum(lengths) + 4 * hidden * squared))


class Variant(NamedTuple):
    """A graph of a bundle, tokens of a call, and options of the provider besides those of every session."""

    graph: str
    tokens: int
    options: Mapping[str, str]


VARIANTS = {
    "cuda": [
        Variant("fp16.packed", 65536, {"sdpa_kernel": "2"}),  # CUTLASS's attention; 1: FlashAttention
        Variant("fp16.packed", 65536, {"sdpa_kernel": "1"}),
        Variant("fp16.packed", 131072, {"sdpa_kernel": "2"}),
        Variant("fp16.packed", 32768, {"sdpa_kernel": "2"}),
        Variant("fp16", 65536, {}),
    ],
    "cpu": [Variant("int8", 1024, {}), Variant("int8", 2048, {}), Variant("fp32", 1024, {})],
}
"""By kind of device; the first one is the program's own, and the others are compared with it."""


def variants(bundle: str, sample: str, device: str, limit: str) -> None:
    """Bare rates by graph, provider options and size of a call, of two passes each over the program's own feeds; on a
    GPU the kernels of the first, too. No further one begins after LIMIT seconds."""
    import numpy as np

    from benchmarks.speed.ours import encode, open_engine, session_pass
    from scorer.inference.session import ModelSession
    from scorer.status import SCORED

    began = time.perf_counter()
    first: Any = None
    first_pass: Callable[[], Any] | None = None
    spec = {"bundle": bundle, "pairs": f"{sample}/pairs.json", "device": device, "options": {}}
    engine = open_engine(spec)
    encoded = encode(spec, engine)
    chosen, pairs = np.flatnonzero(encoded.status == SCORED), len(encoded.lengths)
    work = pair_flops(engine.bundle.manifest.architecture, encoded.lengths.tolist())
    for variant in VARIANTS[engine.device.kind]:
        about = variant._asdict()
        if time.perf_counter() - began > float(limit):
            report("variant", **about, error="no time left")
            continue
        try:
            use = replace(engine.use, variant=variant.graph, options=variant.options)
            session = ModelSession(use, engine.thread, use.layout_of(variant.tokens), print)
            batches = session.layout.pack(encoded.lengths, chosen)
            one_pass = session_pass(session, replace(encoded, batches=batches))
            (logits, one), (_, other) = one_pass(), one_pass()
            first, first_pass = (logits, one_pass) if first is None else (first, first_pass)
            report(
                "variant", **about, calls=len(batches), seconds=[round(one, 4), round(other, 4)],
                pairs_per_s=round(pairs / min(one, other)), tflops=round(work / min(one, other) / 1e12, 1),
                max_dlogit=float(np.abs(logits - first).max()),
                labels=float((logits.argmax(1) == first.argmax(1)).mean()),
            )  # fmt: skip
        except Exception as error:
            report_failure("variant", error, **about)
        session = one_pass = None
        gc.collect()
    if first_pass is not None and not engine.device.spec.is_host:  # last: what a profiler leaves behind would be timed
        report("profile", **profile(first_pass))


def profile(call: Any) -> dict[str, Any]:
    """Seconds of a call, and of its kernels with their counts, the longest first, as PyTorch's profiler sees them."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiled

    with profiled(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        began = time.perf_counter()
        call()
        seconds = time.perf_counter() - began
    kernels = [one for one in profiler.key_averages() if one.device_type == DeviceType.CUDA]
    kernels.sort(key=lambda one: -one.self_device_time_total)
    shown = {one.key: (round(one.self_device_time_total / 1e6, 6), one.count) for one in kernels[:16]}
    busy = sum(one.self_device_time_total for one in kernels) / 1e6
    return {"seconds": round(seconds, 4), "busy": round(busy, 4), "kernels": shown}


def peer(checkpoint: str, sample: str, device: str, limit: str) -> None:
    """CrossEncoder on the same pairs, which it sorts itself, by precision and batch size, in whole passes."""
    began = time.perf_counter()
    import torch
    from sentence_transformers import CrossEncoder

    pairs = [tuple(pair) for pair in json.loads((Path(sample) / "pairs.json").read_text())["pairs"]]
    on_gpu = device.startswith("cuda")
    for dtype in ("float16", "bfloat16") if on_gpu else ("float32",):
        try:
            model = CrossEncoder(checkpoint, device=device, model_kwargs={"dtype": getattr(torch, dtype)})
            for batch in (512, 256, 1024) if on_gpu else (16,):
                if time.perf_counter() - began > float(limit):
                    report("peer", dtype=dtype, batch=batch, error="no time left")
                    continue
                few = pairs[:: max(1, len(pairs) // (2 * batch))]
                model.predict(few, batch_size=batch, show_progress_bar=False)
                start = time.perf_counter()
                model.predict(pairs, batch_size=batch, show_progress_bar=False)
                took = time.perf_counter() - start
                rate = round(len(pairs) / took)
                report("peer", dtype=dtype, batch=batch, seconds=round(took, 3), pairs_per_s=rate)
            del model
            gc.collect()
        except Exception as error:
            report_failure("peer", error, dtype=dtype)


def labels(bundle: str, sample: str, device: str) -> None:
    """Labels of half precision, with and without ``exact``, against those of fp32, of a bundle with real weights."""
    from benchmarks.speed.ours import engine_pairs

    def found(precision: str, exact: bool) -> Any:
        options = {"precision": precision, "exact": exact}
        spec = {"bundle": bundle, "pairs": f"{sample}/pairs.json", "device": device, "options": options}
        return engine_pairs(spec, {})().argmax(1)

    expected = found("fp32", False)
    half = "fp16" if device.startswith("cuda") else "int8"
    for exact in (False, True):
        kind = f"{half} exact" if exact else half
        try:
            same = int((found(half, exact) == expected).sum())
            report("labels", kind=kind, same=same, of=len(expected))
        except Exception as error:
            report_failure("labels", error, kind=kind)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
