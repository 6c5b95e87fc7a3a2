"""The cost of a run that reuses an earlier output, compared with a full run, with the embedded model.

    python -m benchmarks.reuse [--rows 50000] [--changed 0 1 10] [--shards 5] [--host-rows 1000000] [--folder DIR]

Rows are generated and scored once in full. Then, for each percentage, that share of the inputs gets other texts, spread
evenly, and is scored with ``--reuse``. (Each input has the texts of 20 systems. If single rows changed instead, they
would share fewer pairs than the rows of a full run do, and cost more than their share.) Each run is a separate process.

The goal is at most the changed share of a full run, plus 60 s of host overhead per million rows. The host overhead is
the time beyond that share and beyond the start-up (a run over one row), including the sample of reused rows that is
scored again. It is scaled from these rows to a million.

Finally, the host overhead alone, not scaled: a run over ``--host-rows`` rows without a change, with the model of
``benchmarks.host_overhead``, which answers at once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks import RESTAURANTS

from . import machine

SYSTEMS = 20
MADE = 100_000
"""Distinct rows for the host overhead; the others are copies with a number appended to the text."""
GOAL = 60.0
"""Seconds of host overhead per million rows."""


def change(data: Path, out: Path, percent: float) -> int:
    """Copy a data set, change that percentage of its inputs, and return the number of changed rows."""
    out.mkdir(exist_ok=True)
    changed = 0
    for path in sorted(data.glob("*.parquet")):
        table = pq.read_table(path)
        inputs = -(-len(table) // SYSTEMS)
        edited = np.linspace(0, inputs - 1, round(inputs * percent / 100)).astype(int)
        chosen = np.isin(np.arange(len(table)) // SYSTEMS, edited)
        texts = [
            f"{text} Do visit soon." if other else text
            for text, other in zip(table["text"].to_pylist(), chosen.tolist(), strict=True)
        ]
        place = table.schema.get_field_index("text")
        pq.write_table(table.set_column(place, "text", pa.array(texts)), out / path.name, compression="zstd")
        changed += int(chosen.sum())
    return changed


def timed_run(data: Path, out: Path, *more: str) -> dict[str, Any]:
    """Run the command line once: wall-clock and processor seconds, child processes included, and its counts."""
    command = [sys.executable, "-m", "scorer", "run", str(data), "--out", str(out), "--bundle", str(RESTAURANTS), *more]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    summary = json.loads((out / "_run.json").read_text())
    return {
        "wall": round(wall, 2),
        "cpu": round(cpu, 2),
        "rows": summary["rows"],
        "checks": summary["checks"]["computed"],
        "recheck": summary["recheck"],
        "stages": summary["seconds"],
    }


def without_model(data: Path, out: Path, *reuse: Path) -> dict[str, Any]:
    """A run whose model answers at once, in this process."""
    from scorer import Scorer
    from scorer.inference.devices import KINDS
    from scorer.run.options import RunOptions
    from scorer.run.runner import run
    from scorer.scoring.metric_rows import MetricScoring
    from scorer.scoring.plan import Budgets
    from scorer.scoring.settings import Settings

    from .host_overhead import FreeModel, Silent

    def opener(budgets: Budgets) -> Scorer:
        scorer = Scorer(str(RESTAURANTS), device="cpu", precision="fp32", token_budget=KINDS["cuda"].token_budgets[0])
        return scorer.with_model(FreeModel(scorer.engine))

    scoring = MetricScoring(Settings(str(RESTAURANTS)), opener)

    began = time.perf_counter()
    summary = run(RunOptions((str(data),), out, reuse=tuple(reuse)), scoring, Silent()).summary
    wall = time.perf_counter() - began
    own, child = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "rows": summary.counts.rows.to_json(),
        "wall": round(wall, 2),
        "cpu": round(sum(used.ru_utime + used.ru_stime for used in (own, child)), 2),
        "peak_mb": round(own.ru_maxrss / 1024),
        "recheck": summary.recheck.to_json(),
        "stages": dict(summary.seconds),
    }


def host_overhead(base: Path, rows: int) -> dict[str, Any]:
    """Score rows twice without a model, the second time with ``--reuse`` and no change; the figures of the second."""
    making = ["--rows", str(min(rows, MADE)), "--shards", "5", str(base / "made")]
    subprocess.run([sys.executable, "-m", "benchmarks.make_rows", *making], check=True)
    (base / "host").mkdir(exist_ok=True)
    for copy in range(-(-rows // MADE)):
        for path in (base / "made").glob("*.parquet"):
            table = pq.read_table(path)
            texts = pc.binary_join_element_wise(table["text"], str(copy), " ")  # so that no two copies share a key
            place = table.schema.get_field_index("text")
            table = table.set_column(place, "text", texts)
            pq.write_table(table, base / "host" / f"{copy:04d}-{path.name}", compression="zstd")
    found: dict[str, Any] = {}
    for arguments in ([base / "host-0"], [base / "host-1", base / "host-0"]):
        command = [sys.executable, "-m", "benchmarks.reuse", "--inner", str(base / "host"), *map(str, arguments)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"without a model, {found['rows']['in']:,} rows, {found['rows']['reused']:,} of them reused: "
            f"{found['wall']:.1f} s ({found['cpu']:.1f} s of processor), peak {found['peak_mb']} MB; "
            f"stages {found['stages']}",
            flush=True,
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--shards", type=int, default=5)
    parser.add_argument("--changed", type=float, nargs="+", default=[0, 1, 10], metavar="PERCENT")
    parser.add_argument("--host-rows", type=int, default=1_000_000, help="rows for the host overhead alone; 0 skips it")
    parser.add_argument("--folder", type=Path, help="work folder to keep; its full run is not repeated")
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    parser.add_argument("--inner", type=Path, nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inner:
        print(json.dumps(without_model(*args.inner)))
        return
    about = machine.describe()
    print(f"{machine.in_words(about)}; load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        base = args.folder or Path(folder)
        kept = base / "full.json"
        if kept.exists():
            full = json.loads(kept.read_text())
        else:
            making = ["--rows", str(args.rows), "--shards", str(args.shards), str(base / "in")]
            subprocess.run([sys.executable, "-m", "benchmarks.make_rows", *making], check=True)
            full = timed_run(base / "in", base / "earlier")
            kept.write_text(json.dumps(full))
        print(f"full run of {args.rows:,} rows: {full['wall']:,.1f} s ({full['cpu']:,.1f} s of processor)", flush=True)
        one = base / "one"
        one.mkdir(exist_ok=True)
        pq.write_table(pq.read_table(next((base / "in").glob("*.parquet"))).slice(0, 1), one / "one.parquet")
        start = timed_run(one, base / "out-one")
        print(f"starting, and one row: {start['wall']:,.1f} s ({start['cpu']:,.1f} s of processor)", flush=True)
        runs = []
        for percent in args.changed:
            data, out = base / f"in-{percent:g}", base / f"out-{percent:g}"
            share = change(base / "in", data, percent) / args.rows
            found = timed_run(data, out, "--reuse", str(base / "earlier"))
            found["changed"] = share
            found["of_full"] = found["wall"] / full["wall"]
            found["host_per_million"] = (found["wall"] - start["wall"] - share * full["wall"]) / args.rows * 1e6
            found["host_cpu_per_million"] = (found["cpu"] - start["cpu"] - share * full["cpu"]) / args.rows * 1e6
            runs.append(found)
            print(
                f"{share:5.1%} changed: {found['wall']:7.1f} s ({found['cpu']:.1f} s of processor), "
                f"{found['of_full']:.1%} of a full run, {found['checks'] / full['checks']:.1%} of its pairs; "
                f"{found['rows']['reused']:,} rows reused, {found['recheck']['rows']} of them scored again, "
                f"{found['recheck']['disagreed']} disagreed; beyond its share {found['host_per_million']:.0f} s per "
                f"million rows (goal {GOAL:.0f}), {found['host_cpu_per_million']:.0f} s of processor",
                flush=True,
            )
        host = host_overhead(base, args.host_rows) if args.host_rows else None
        print(f"load at the end {os.getloadavg()[0]:.1f}")
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        figures = {
            "machine": about,
            "load": os.getloadavg()[0],
            "full": full,
            "start": start,
            "nights": runs,
            "host": host,
        }
        args.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
