"""The host overhead: checks per second from Parquet to Parquet when the model takes no time.

    python -m benchmarks.speed.host_overhead [--rows 100000 1000000] [--shard-rows 20000] [--one-shard]
    python -m benchmarks.speed.host_overhead --rows 43000 --bundle DIR   # over the stand-in for a GPU

The model is replaced by one that answers immediately; the rest is the real program: reading, parsing, templates,
tokenisation (with the embedded bundle's tokenizer), deduplicating, packing and assembling batches, verdicts, row
keys, writing with checksums, receipts. Each size runs in a separate process, so that peak memory is measured for it
alone. The model should remain the bottleneck: roberta-large on a large GPU computes some thousands of pairs per
second.

With ``--bundle`` the fp16 variant of a bundle runs on libraries that stand in for CUDA's (``../shared/gpu/fake``,
whose README says how to make them and what to set). They compute nothing, and a wait for the device takes as long as
the products that were handed in would at ``FAKE_CUDA_TFLOPS``. From their log comes the share of time in which the
device had work: what the host can do, not what a GPU does.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import RESTAURANTS
from benchmarks.speed import machine
from benchmarks.speed.runners.ours import run_here
from benchmarks.speed.worker import versions
from scorer import Scorer
from scorer.inference import verification
from scorer.inference.device import KINDS
from scorer.inference.engine import EncodedPairs, Engine, Predictions
from scorer.storage.plan import Budgets


class FreeModel:
    """The host work of an engine without its model: batches are assembled as usual, then all pairs are entailed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def encode(self, texts: list[str], premise: Any, hypothesis: Any) -> EncodedPairs:
        return self._engine.encode(texts, premise, hypothesis)

    def predict(self, work: EncodedPairs, stop: threading.Event | None = None) -> Predictions:
        for batch in work.batches:
            self._engine.layout.assemble(batch, work)
        asked = len(work.pairs.inverse)
        certain = np.tile(np.array([0.05, 0.05, 0.9], np.float32), (asked, 1))
        return Predictions(certain, work.status[work.pairs.inverse], work.truncated[work.pairs.inverse])

    def cancel(self) -> None:
        """Does nothing, since no call takes long."""


def device_share(lines: Iterable[str], rate: float) -> dict[str, float]:
    """From the log of the stand-in: ``had_work``, the share of time from the first call to the end of the last in which
    the device had work, from a call's first kernel to its end; ``gap_ms``, the median between two calls.

    Args:
        lines: each has seconds, a thread, and what was asked of the device.
        rate: FLOP/s at which products are said to run.
    """
    spans: list[tuple[float, float]] = []
    begin, work = 0.0, 0.0
    for line in lines:
        at, _, what = line.split(" ", 2)
        if what.startswith("kernel"):
            begin = begin or float(at)
        elif what.startswith("cublasGemmEx"):
            work += 2 * math.prod(int(found) for found in re.findall(r" [nmk](\d+)", what)) / rate
        elif what.startswith("cudaStreamSynchronize") and work:
            spans.append((begin, float(at) + work))
            begin = work = 0.0
    if len(spans) < 2:
        raise SystemExit(f"the log of the stand-in has {len(spans)} calls; are FAKE_CUDA_LOG and FAKE_CUDA_TFLOPS set?")
    busy = sum(end - start for start, end in spans)
    gaps = [later - end for (_, end), (later, _) in pairwise(spans)]
    return {
        "calls": len(spans),
        "device_seconds": round(spans[-1][1] - spans[0][0], 2),
        "had_work": round(busy / (spans[-1][1] - spans[0][0]), 4),
        "gap_ms": round(1000 * statistics.median(gaps), 2),
        "longest_gap_ms": round(1000 * max(gaps), 1),
    }


def over_stand_in(data: Path, out: Path, bundle: Path) -> dict[str, Any]:
    """As :func:`measure`, with a bundle on the device that the stand-in claims to be; see :func:`device_share`."""
    # The stand-in's numbers are zeros, which disagree with every checkpoint.
    verification.MINIMUM_AGREEMENT = 0.0
    log, rate = Path(os.environ["FAKE_CUDA_LOG"]), float(os.environ["FAKE_CUDA_TFLOPS"]) * 1e12
    # The usual budget, since nothing that is timed here says which is the fastest on a device.
    usual = KINDS["cuda"].token_budgets[0]
    with Scorer(str(bundle), device="cuda", precision="fp16", budgets=Budgets(batch_tokens=usual)) as scorer:
        before = len(log.read_text().splitlines())
        found = measure(data, out, scorer)
        return found | device_share(log.read_text().splitlines()[before:], rate)


def free_scorer() -> Scorer:
    """A scorer whose model takes no time. fp32 so that pairs are packed into batches, of a GPU's size, since it is a
    fast device that the host must keep up with; the session itself is never asked."""
    budgets = Budgets(batch_tokens=KINDS["cuda"].token_budgets[0])
    scorer = Scorer(str(RESTAURANTS), device="cpu", precision="fp32", budgets=budgets)
    scorer.pipeline.model = FreeModel(scorer.engine)
    return scorer


def measure(data: Path, out: Path, opened: Scorer | None = None) -> dict[str, Any]:
    """Run once over generated rows; returns the figures of the run. ``opened``: takes the place of the model that takes
    no time."""
    with opened or free_scorer() as scorer:
        began, used = time.perf_counter(), time.process_time()
        outcome = run_here(scorer, str(data), out)
        seconds, used = time.perf_counter() - began, time.process_time() - used
    summary = outcome.summary
    rows, checks, tokens = summary.counts.rows.all, summary.counts.checks, summary.counts.tokens
    if opened is not None:
        seconds = summary.speed.seconds
    return {
        "rows": rows,
        "model": "free" if opened is None else opened.engine.precision,
        "shards": summary.shards.done,
        "versions": dict(summary.versions),
        "checks": checks.all,
        "unique_pairs": checks.unique,
        "seconds": round(seconds, 2),
        "rows_per_second": round(rows / seconds),
        "checks_per_second": round(checks.all / seconds),
        "tokens_per_cpu_second": round(tokens.real / used),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "stages": dict(summary.seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--shard-rows", type=int, default=20_000)
    parser.add_argument("--one-shard", action="store_true", help="also the largest size in a single shard")
    parser.add_argument("--bundle", type=Path, help="let the fp16 variant of this bundle run on the stand-in for CUDA")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--inner", type=Path, nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inner:
        found = over_stand_in(*args.inner, args.bundle) if args.bundle else measure(*args.inner)
        print(json.dumps(found))
        return
    jobs = [(rows, -(-rows // args.shard_rows)) for rows in args.rows]
    jobs += [(max(args.rows), 1)] if args.one_shard else []
    runs = []
    for rows, shards in jobs:
        with tempfile.TemporaryDirectory() as folder:
            data, out = Path(folder) / "in", Path(folder) / "out"
            # Not in this process: a child begins with the peak memory of its parent.
            making = ["--rows", str(rows), "--shards", str(shards), str(data)]
            subprocess.run([sys.executable, "-m", "benchmarks.speed.make_rows", *making], check=True)
            command = [sys.executable, "-m", "benchmarks.speed.host_overhead", "--inner", str(data), str(out)]
            command += ["--bundle", str(args.bundle)] if args.bundle else []
            one = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
            runs.append(one)
        print(
            f"{one['rows']:>9,} rows in {one['shards']:>2} shards: {one['rows_per_second']:>7,} rows/s, "
            f"{one['checks_per_second']:>9,} checks/s, {one['tokens_per_cpu_second'] / 1e6:.1f} M tokens a processor "
            f"second, peak {one['peak_mb']:,} MB; stages {one['stages']}"
        )
        if args.bundle:
            print(
                f"  {one['unique_pairs']:,} distinct pairs in {one['calls']} calls: in {one['had_work']:.1%} of "
                f"{one['device_seconds']} s the device had work; between two calls {one['gap_ms']} ms in the median, "
                f"{one['longest_gap_ms']} at most"
            )
    if args.out:
        here = machine.describe() | {"load_at_the_end": os.getloadavg()[0]}
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps({"machine": here, "versions": versions(), "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
