"""Measure the overhead of a shard: reading, writing, receipts, the lease.

    python -m benchmarks.workers [--shards 1000] [--rows 100] [--rounds 3] [--folder DIR] [--seaweedfs]

A row scorer counts the characters of a text. In each round, a run in a process that has imported everything scores the
same shards into a new folder and, with ``--seaweedfs``, into SeaweedFS, an S3 server on loopback
(``make .venv-objects/installed``), which shares the cores with the run. The outputs are compared. Requests are counted
by a proxy in one more run, which is not timed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scorer.run.driver import run
from scorer.run.options import RunOptions
from scorer.scoring.plain_rows import PlainRows
from scorer.scoring.plan import Budgets
from scorer.scoring.signature import Signature
from scorer.scoring.windows import ScoredWindow, Tag, Window
from scorer.storage import Counts
from scorer.storage.counts import RowCounts
from scorer.storage.objects.copy import local_copy
from scorer.storage.objects.uri import Location, StoreUri, parse_location
from tests.storage.objects.proxy import proxying
from tests.storage.objects.weed import BUCKET, Server, serving, weed

from . import machine
from .runners.ours import Silent

PLAIN, STORE = "local", "SeaweedFS"


@dataclass(frozen=True)
class TextColumn:
    """Reads and keeps the column ``text``."""

    needed: tuple[str, ...] = ("text",)
    keeps_all: bool = False

    @property
    def shape(self) -> Mapping[str, object]:
        return {"text": "text"}

    def refusal(self, table: pa.Table) -> str | None:
        return None


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


def work(data: Path, out: Location) -> None:
    """The process of one run: waits for a line, scores, and prints seconds, shards and syncs."""
    syncs, real = [0], os.fsync

    def fsync(descriptor: int) -> None:
        syncs[0] += 1
        real(descriptor)

    os.fsync = fsync
    options = RunOptions((str(data),), out)
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    outcome = run(options, Scoring(), Silent())
    seconds = time.perf_counter() - began
    told = {"seconds": seconds, "syncs": syncs[0], "done": outcome.summary.shards.done, "code": outcome.exit_code}
    print(json.dumps(told), flush=True)


def make(data: Path, shards: int, rows: int) -> None:
    """Inputs: the same rows in every shard, 200 shards in a folder."""
    table = pa.table({"text": [f"Blue Spice is pub number {i}." for i in range(rows)]})
    for number in range(shards):
        path = data / f"{number // 200:03d}" / f"{number:06d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)


def measure(data: Path, out: Location, shards: int) -> tuple[float, float]:
    """Seconds until all shards are done, and syncs for a shard.

    Raises:
        SystemExit: not all shards were done.
    """
    call = [sys.executable, "-m", "benchmarks.workers", "--worker", str(data), str(out)]
    place = Path(__file__).resolve().parents[1]
    process = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=place)
    assert process.stdout is not None
    process.stdout.readline()
    told = json.loads(process.communicate("go\n")[0])
    if (told["done"], told["code"]) != (shards, 0):
        raise SystemExit(f"not all of {shards} shards were done: {told}")
    return told["seconds"], told["syncs"] / shards


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
    with proxying(server.port) as proxy:
        kept = os.environ["AWS_ENDPOINT_URL"]
        os.environ["AWS_ENDPOINT_URL"] = server.environment(proxy.port)["AWS_ENDPOINT_URL"]
        measure(data, StoreUri("s3", BUCKET, "counted"), shards)
        os.environ["AWS_ENDPOINT_URL"] = kept
        beats = sum(path.partition("?")[0].endswith("/_lock") for _, path in proxy.requests)
        return len(proxy.requests) / shards, beats / shards


def table(rounds: Sequence[Mapping[str, float]], shards: int) -> list[str]:
    """Medians as a Markdown table. ``rounds``: seconds by name, of each round."""
    lines = ["| | seconds | ms a shard | shards a second | seconds of the local run, divided by these |"]
    lines.append("|---|---|---|---|---|")
    for name in rounds[0]:
        seconds = statistics.median(one[name] for one in rounds)
        ratio = statistics.median(one[PLAIN] / one[name] for one in rounds)
        lines.append(
            f"| {name} | {seconds:.1f} | {1000 * seconds / shards:.1f} | {shards / seconds:.0f} | {ratio:.2f} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seaweedfs", action="store_true")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        data, out = options.worker
        work(Path(data), parse_location(out))
        return
    if options.seaweedfs and weed() is None:
        parser.error("--seaweedfs: no program `weed`; make .venv-objects/installed")
    names = [PLAIN, STORE] if options.seaweedfs else [PLAIN]
    rounds, syncs = [], dict[str, float]()
    with ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        server = None
        if options.seaweedfs:
            (base / "seaweedfs").mkdir()
            server = stack.enter_context(serving(base / "seaweedfs"))
            os.environ.update(server.environment())
        make(base / "in", options.shards, options.rows)
        for number in range(options.rounds):
            seconds = {}
            for name in names:
                place = f"out{number}"
                out: Location = StoreUri("s3", BUCKET, place) if name == STORE else base / place
                seconds[name], syncs[name] = measure(base / "in", out, options.shards)
                if name == STORE:
                    compare(base / place, out)
            rounds.append(seconds)
        requests = count_requests(base / "in", server, options.shards) if server is not None else None
    print(json.dumps({"machine": machine.describe(), "shards": options.shards, "rows": options.rows, "rounds": rounds}))
    print("\n".join(table(rounds, options.shards)))
    print("syncs a shard: " + ", ".join(f"{name} {count:.2f}" for name, count in syncs.items()))
    if requests is not None:
        print(f"requests a shard: {requests[0]:.2f}, heartbeats among these: {requests[1]:.2f}")


if __name__ == "__main__":
    main()
