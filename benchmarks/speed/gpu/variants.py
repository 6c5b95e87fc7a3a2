"""Bare rates of a packed graph by the provider's options and the size of a call: `variants BUNDLE SAMPLE SECONDS`.

The feeds are the program's own, made before; each pass is timed twice. No further one begins after SECONDS. ``best``:
the two fastest of the results so far once more, which shows the noise.
"""

from __future__ import annotations

import dataclasses
import gc
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.runners.common import traced
from benchmarks.speed.runners.ours import open_engine, prepare
from scorer.inference.session import runtime

from .arithmetic import flops
from .steps import failure, report, results

TOKENS = 65536
ORDER = [("2", TOKENS), ("1", TOKENS), ("2", 2 * TOKENS)]
"""Kernel of the packed attention (1: Flash, 2: CUTLASS) and tokens a call."""


def session_of(bundle: Path, kernel: str) -> Any:
    """The packed graph in a session with the program's options, but for the kernel of the attention."""
    ort = runtime()
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.enable_mem_pattern, options.log_severity_level = 1, False, 4
    provider = {"arena_extend_strategy": "kSameAsRequested", "use_tf32": "0", "sdpa_kernel": kernel}
    path = next(bundle.glob("model.fp16.packed.onnx"))
    return ort.InferenceSession(
        str(path), options, providers=[("CUDAExecutionProvider", provider), "CPUExecutionProvider"]
    )


def best() -> list[tuple[str, int]]:
    """Options that were timed before, the fastest first."""
    timed = {
        (one["kernel"], one["tokens"]): one["pairs_per_s"]
        for one in results()
        if one["step"] == "variant" and "pairs_per_s" in one
    }
    return sorted(timed, key=lambda key: -timed[key])


def measure(bundle: Path, sample: Path, seconds: float, asked: Sequence[tuple[str, int]], *, profile: bool) -> None:
    """Time the variants that are asked for, and profile the kernels of the first."""
    began = time.perf_counter()
    options = {"precision": "fp16", "layout": "packed", "token_budget": TOKENS, "unverified": True}
    spec = {"bundle": str(bundle), "pairs": str(sample / "pairs.json"), "device": "cuda", "options": options}
    engine = open_engine(spec)
    encoded = prepare(spec, engine)
    lengths = encoded.lengths
    work = flops(engine.bundle.architecture, lengths.tolist())

    def feeds_of(tokens: int) -> tuple[list[Any], list[Any]]:
        layout = engine.layout_of(tokens)
        batches = layout.pack(lengths, np.arange(len(lengths)))
        return batches, [layout.assemble(batch, encoded) for batch in batches]

    first = None
    for kernel, tokens in asked:
        if time.perf_counter() - began > seconds:
            report("variant", kernel=kernel, tokens=tokens, error="no time left")
            continue
        try:
            session, (batches, feeds) = session_of(bundle, kernel), feeds_of(tokens)
            for feed in feeds[:: max(1, len(feeds) // 8)]:
                session.run(["logits"], feed)
            spans, logits = [], np.zeros((len(lengths), 3), np.float32)
            for _ in range(2):
                start = time.perf_counter()
                passed = [session.run(["logits"], feed)[0] for feed in feeds]
                spans.append(time.perf_counter() - start)
            for batch, result in zip(batches, passed, strict=True):
                logits[batch.pairs] = result[: len(batch.pairs)]
            first = logits if first is None else first
            report(
                "variant", kernel=kernel, tokens=tokens, calls=len(feeds), seconds=[round(span, 4) for span in spans],
                pairs_per_s=round(len(lengths) / min(spans)), tflops=round(work / min(spans) / 1e12, 1),
                max_dlogit=float(np.abs(logits - first).max()),
                labels=float((logits.argmax(1) == first.argmax(1)).mean()),
            )  # fmt: skip
            del session
            gc.collect()
        except Exception as e:
            failure("variant", e, kernel=kernel, tokens=tokens)
    if profile and asked:  # last: what a profiler leaves behind would be timed
        kernel, tokens = asked[0]
        session, (_, feeds) = session_of(bundle, kernel), feeds_of(tokens)
        session.run(["logits"], feeds[0])
        seen = traced(lambda: [session.run(["logits"], feed) for feed in feeds], "cuda")
        if seen is not None:
            kernels = dict(list(seen.kernels.items())[:16])
            report("profile", kernel=kernel, tokens=tokens, seen=dataclasses.asdict(seen) | {"kernels": kernels})


if __name__ == "__main__":
    folder, pairs, limit, *more = sys.argv[1:]
    measure(Path(folder), Path(pairs), float(limit), best()[:2] if more else ORDER, profile=not more)
