"""The overhead of a shard: reading, writing, receipts, the lock, messages to workers.

    python -m benchmarks.speed.workers [--shards 300] [--rows 100] [--rounds 3] [--executors one,two,ray] [--seaweedfs]

The model is a tiny one, so that what is not the model shows. In each round the same shards are scored as a command
into a new folder and, with ``--seaweedfs``, into SeaweedFS, an S3 server on loopback (``make .venv-
objects/installed``), which shares the cores with the run: with one worker, with two, and with two on a Ray cluster
that the command starts (``make .venv-ray/installed``). The outputs are compared. Milliseconds a shard are those from
the first shard to the last receipt, as ``_run.json`` says.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.storage.local_copy import local_copy
from scorer.storage.location import Location, StoreUri

from . import machine

ROOT = Path(__file__).resolve().parents[2]
RAY = str(ROOT / ".venv-ray" / "bin" / "python")
EXECUTORS = {
    "one": (sys.executable, ["--device", "cpu"]),
    "two": (sys.executable, ["--devices", "cpu:2"]),
    "ray": (RAY, ["--device", "cpu", "--ray", "--ray-cpus", "1"]),
}
"""By name, the interpreter of the driver, and the options that choose its workers."""


def make(data: Path, shards: int, rows: int) -> None:
    """Write the inputs: the same rows in every shard, 200 shards in a folder."""
    facts = [["Blue Spice | eatType | pub"]] * rows
    table = pa.table({"triples": facts, "text": [f"Blue Spice is pub number {i}." for i in range(rows)]})
    for number in range(shards):
        path = data / f"{number // 200:03d}" / f"{number:06d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)


def measure(executor: str, data: Path, out: Location, bundle: Path, shards: int) -> float:
    """Milliseconds a shard of one run.

    Raises:
        SystemExit: not all shards were done.
    """
    python, options = EXECUTORS[executor]
    command = [python, "-m", "scorer", "run", str(data), "--out", str(out), "--bundle", str(bundle), *options]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, cwd=ROOT, env=variables, check=False)
    summary = json.loads(done.stdout) if done.stdout else {"shards": {"done": 0}}
    if done.returncode or summary["shards"]["done"] != shards:
        raise SystemExit(f"{executor} into {out}: exit code {done.returncode}, shards {summary['shards']}")
    milliseconds: float = 1000 * summary["speed"]["seconds"] / shards
    print(f"{executor} into {out}: {milliseconds:.1f} ms a shard", file=sys.stderr)
    return milliseconds


def compare(one: Location, other: Location) -> None:
    """Make sure that two outputs are the same.

    Raises:
        SystemExit: they differ.
    """
    found = []
    for out in (one, other):
        with local_copy(out) as folder:
            found.append({path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.parquet")})
    if found[0] != found[1]:
        raise SystemExit(f"{one} and {other} differ")


def one_round(number: int, base: Path, executors: Sequence[str], shards: int, *, stores: bool) -> dict[str, float]:
    """All executors and places in turn, each into an output of its own."""
    from tests.storage.objects.weed import BUCKET

    told, outs = {}, []
    for executor in executors:
        places: dict[str, Location] = {"folder": base / f"{executor}{number}"}
        if stores:
            places["SeaweedFS"] = StoreUri("s3", BUCKET, f"{executor}{number}")
        for place, out in places.items():
            told[f"{executor}, {place}"] = measure(executor, base / "in", out, base / "bundle", shards)
            outs.append(out)
    for out in outs[1:]:
        compare(outs[0], out)
    return told


def main() -> None:
    from tests.bundles import make_bundle
    from tests.storage.objects.weed import serving, weed

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=300)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--executors", default="one,two,ray")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seaweedfs", action="store_true")
    given = parser.parse_args()
    executors = given.executors.split(",")
    if missing := [one for one in executors if not Path(EXECUTORS.get(one, ("",))[0]).is_file()]:
        parser.error(f"--executors {missing[0]}: not one of {', '.join(EXECUTORS)}, or not installed")
    if given.seaweedfs and weed() is None:
        parser.error("--seaweedfs: no program `weed`; make .venv-objects/installed")
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=given.folder)))
        if given.seaweedfs:
            (base / "seaweedfs").mkdir()
            os.environ.update(stack.enter_context(serving(base / "seaweedfs")).environment())
        make(base / "in", given.shards, given.rows)
        make_bundle(base / "bundle")
        rounds = [
            one_round(number, base, executors, given.shards, stores=given.seaweedfs) for number in range(given.rounds)
        ]
    print(json.dumps({"machine": machine.describe(), "shards": given.shards, "rows": given.rows, "rounds": rounds}))
    print("| | ms a shard |\n|---|---|")
    for name in rounds[0]:
        print(f"| {name} | {statistics.median(one[name] for one in rounds):.1f} |")


if __name__ == "__main__":
    main()
