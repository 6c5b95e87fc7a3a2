"""The host overhead: checks per second from Parquet to Parquet when the model takes no time.

    python -m benchmarks.speed.host_overhead [--rows 100000 1000000] [--shard-rows 20000] [--one-shard]
                                             [--reading plain]

The model is replaced by one that answers immediately; the rest is the real program, with the restaurant bundle's
tokenizer. Each size runs in a process of its own, so that peak memory is measured for it alone.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from benchmarks import RESTAURANTS
from benchmarks.speed.harness import describe, measured
from benchmarks.speed.ours import run_here
from benchmarks.speed.sample import write_rows
from scorer import Scorer
from scorer.inference.device import KINDS
from scorer.inference.engine import EncodedPairs, Engine, Predictions
from scorer.metric import Reading
from scorer.storage.run_plan import Budgets


class FreeModel:
    """An engine without its model: batches are assembled as usual, then all pairs are entailed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def encode(self, texts: list[str], premise: Any, hypothesis: Any) -> EncodedPairs:
        return self._engine.encode(texts, premise, hypothesis)

    def predict(self, work: EncodedPairs, stop: threading.Event | None = None) -> Predictions:
        for batch in work.batches:
            self._engine.session.layout.assemble(batch, work)
        asked = len(work.pairs.inverse)
        certain = np.tile(np.array([0.05, 0.05, 0.9], np.float32), (asked, 1))
        return Predictions(certain, work.status[work.pairs.inverse], work.truncated[work.pairs.inverse])

    def cancel(self, stop: threading.Event) -> None:
        pass


def run_free(data: Path, out: Path, *reuse: Path, reading: Reading = "verbatim") -> dict[str, Any]:
    """Figures of a run in this process whose model answers at once, in batches of a GPU's size."""
    budgets = Budgets(batch_tokens=KINDS["cuda"].token_budgets[0])
    with Scorer(str(RESTAURANTS), device="cpu", precision="fp32", budgets=budgets, reading=reading) as scorer:
        scorer.pipeline.model = FreeModel(scorer.engine)
        began = time.perf_counter()
        summary = run_here(scorer, str(data), out, reuse=reuse).summary
        seconds = time.perf_counter() - began
    checks = summary.counts.checks
    return {
        "seconds": round(seconds, 2),
        "rows": summary.rows.all,
        "reused": summary.rows.reused,
        "shards": summary.shards.done,
        "checks": checks.all,
        "unique_pairs": checks.unique,
        "stages": dict(summary.seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--shard-rows", type=int, default=20_000)
    parser.add_argument("--one-shard", action="store_true", help="also the largest size in a single shard")
    parser.add_argument(
        "--reading", choices=get_args(Reading), default="verbatim", help="plain: also as it is read, and the ratio"
    )
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    args = parser.parse_args()
    jobs = [(rows, -(-rows // args.shard_rows)) for rows in args.rows]
    jobs += [(max(args.rows), 1)] if args.one_shard else []
    runs = []
    for rows, shards in jobs:
        with tempfile.TemporaryDirectory() as folder:
            data, out = Path(folder) / "in", Path(folder) / "out"
            measured(write_rows, data, rows, shards)
            found = measured(run_free, data, out)
            if args.reading != "verbatim":
                other = measured(partial(run_free, reading=args.reading), data, Path(folder) / args.reading)
                other["ratio"] = round(other["cpu_seconds"] / found["cpu_seconds"], 3)
                found[args.reading] = other | other.pop("result")
                print(f"--reading {args.reading}: {other['ratio']} times the CPU seconds")
        one = found | found.pop("result")
        rates = {f"{name}_per_second": round(one[name] / one["seconds"]) for name in ("rows", "checks")}
        runs.append(one | rates)
        print(
            f"{rows:>9,} rows in {shards:>2} shards: {rates['rows_per_second']:>7,} rows/s, "
            f"{rates['checks_per_second']:>9,} checks/s, peak {one['peak_mb']:,} MB; stages {one['stages']}"
        )
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps({"machine": describe(), "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
