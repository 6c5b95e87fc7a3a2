"""Measure the cost of resuming a run whose shards are all finished.

    python -m benchmarks.resume [--shards 10000] [--folder DIR] [--profile FILE]

One shard of a few rows is scored by the embedded model. The others are copies of it: the same input, the same output, a
receipt each. Then the same command runs again, in a separate process; it checks every input, every receipt and the
bytes of every output, and finds nothing to do. The first of these runs writes the plan, the second is measured. The
start-up time is that of a run over one finished shard.

Goal: 100,000 shards in 60 s, and no cost that grows faster than the number of shards.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from benchmarks import RESTAURANTS
from scorer.storage import Receipts
from scorer.system.codec import seal

from . import machine

A_FOLDER = 1000
"""Number of shards in one folder."""
FIRST = "000/000.parquet"


def resume(data: Path, out: Path, profile: Path | None = None) -> tuple[float, dict[str, Any]]:
    """Seconds of a run, and its summary."""
    under = ["-m", "cProfile", "-o", str(profile)] if profile is not None else []
    call = [sys.executable, *under, "-m", "scorer", "run", str(data), "--out", str(out)]
    call += ["--bundle", str(RESTAURANTS), "--json"]
    began = time.perf_counter()
    ended = subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began, json.loads(ended.stdout)


def make(base: Path, shards: int) -> tuple[Path, Path]:
    """Make a folder of inputs and a folder of their outputs, all finished."""
    data, out = base / f"in{shards}", base / f"out{shards}"
    (data / FIRST).parent.mkdir(parents=True)
    triple = {"subject": "Blue Spice", "predicate": "eatType", "object": "pub"}
    kind = pa.list_(pa.struct([(name, pa.string()) for name in triple]))
    table = pa.table({"text": ["Blue Spice is a pub."] * 3, "triples": pa.array([[triple]] * 3, kind)})
    pq.write_table(table, data / FIRST)
    resume(data, out)
    receipts = Receipts(out)
    receipt = receipts.read(FIRST)
    assert receipt is not None
    for number in range(1, shards):
        relative = f"{number // A_FOLDER:03d}/{number % A_FOLDER:03d}.parquet"
        for path in (data / relative, out / relative, out / "_receipts" / f"{relative}.json"):
            path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(data / FIRST, data / relative)
        shutil.copy2(out / FIRST, out / relative)
        record = replace(receipt.input, uri=str(data / relative))
        one = replace(receipt, relative=relative, input=record)
        (out / "_receipts" / f"{relative}.json").write_bytes(seal(one))
    return data, out


def measure(base: Path, shards: int, profile: Path | None) -> dict[str, Any]:
    """Seconds to resume a run whose shards are all finished.

    Raises:
        SystemExit: the run scored a shard again, so that it was no resume.
    """
    data, out = make(base, shards)
    first, _ = resume(data, out)
    seconds, summary = resume(data, out, profile)
    if summary["shards"] != {"done": shards, "skipped": shards, "failed": 0}:
        raise SystemExit(f"not a resume of {shards} finished shards: {summary['shards']}")
    return {"shards": shards, "with_a_new_plan": round(first, 2), "seconds": round(seconds, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--profile", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        start = measure(Path(folder), 1, None)
        found = measure(Path(folder), options.shards, options.profile)
    each = 1000 * (found["seconds"] - start["seconds"]) / options.shards
    print(json.dumps({"machine": machine.describe(), "start": start["seconds"], **found}, indent=1))
    print(f"{found['seconds']:.1f} s for {options.shards:,} shards, {each:.3f} ms each")
    print(f"100,000 shards: about {start['seconds'] + 100 * each:.0f} s, the goal is 60 s")


if __name__ == "__main__":
    main()
