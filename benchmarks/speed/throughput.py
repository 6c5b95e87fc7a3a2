"""The throughput of ``scorer run`` on this machine with a bundle, in the environment that a run needs: `make bench`.

    python -m benchmarks.speed.throughput [--bundle embedded] [--device auto] [--data FILE] [--seconds N] [--save]

Runs the command on a few rows twice, then on as many rows as fit the time, and computes the batches of these once more
with a bare session of ONNX Runtime. Takes at most two minutes on two cores and one on a GPU. Columns of FILE are named
as for a run without options: by variables of the environment (``D2T_TEXT_COLUMN``) or in ``scorer.toml``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from scorer.commands.console import duration
from scorer.errors import DeviceError, ScorerError
from scorer.inference.bundle import Bundle
from scorer.inference.device import parse_device
from scorer.inference.rates import MeasuredRate, keep_rate

from .harness import busy_seconds, describe, in_words, measured
from .ours import Silent
from .sample import make_rows

ROOT = Path(__file__).resolve().parents[2]
SECONDS = {"cpu": 97.0, "cuda": 55.0}
FACTS, MILLION = 6, 1_000_000
FEW = {"cpu": 4, "cuda": 64}
"""Rows of the first uses."""
MOST_SAMPLE_ROWS = 400_000
_CREDIBLE_PAIRS, _GROWTH, _CAREFUL_GROWTH = 20, 64, 8
"""A run of fewer pairs says little about the rate: the next one has at most eight times its rows, else 64 times."""
_STEADY = {"cpu": 25.0, "cuda": 12.0}
"""Seconds of the run that is measured, at most; it is enough if it took half of what was aimed at."""
_QUIET_SHARE = 0.1


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class CommandRun:
    """A run as a command.

    Args:
        rows: asked for.
        seconds: from its start to its end.
        summary: the content of ``_run.json``.
        driver_mb, worker_mb: peak resident memory; ``None`` where the system does not say.
        others: processors that other processes kept busy meanwhile.
    """

    rows: int
    seconds: float
    summary: dict[str, Any]
    driver_mb: int | None
    worker_mb: int | None
    others: float

    @property
    def pairs(self) -> int:
        return int(self.summary["checks"]["computed"])

    @property
    def scoring(self) -> float:
        """Seconds from the first window to the last receipt."""
        return float(self.summary["speed"]["seconds"])


class Measurement:
    """A bundle on a device, and the folder with inputs, outputs, logs and a cache of its own."""

    def __init__(self, bundle: str, device: str, data: Path | None, folder: Path) -> None:
        self.bundle, self.device, self.data, self.folder = bundle, device, data, folder
        self.kind = device.partition(":")[0]
        folder.mkdir(parents=True, exist_ok=True)
        self.clean()
        self.log = folder / "log.txt"
        self.log.write_bytes(b"")
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        self.environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str((folder / "cache").resolve())}

    def rows_file(self, rows: int) -> Path:
        """The input of a run: the data of the user, or so many rows of six facts whose texts are all different."""
        if self.data is not None:
            return self.data
        path = self.folder / f"rows-{rows}.parquet"
        pq.write_table(make_rows(np.random.default_rng(5), rows, systems=1, facts=FACTS), path, compression="zstd")
        return path

    def clean(self) -> None:
        """Remove all but the log."""
        for path in (self.folder / "out", self.folder / "cache", *self.folder.glob("rows-*.parquet")):
            path.unlink() if path.is_file() else shutil.rmtree(path, ignore_errors=True)

    def run(self, rows: int) -> CommandRun:
        """Score the first rows as a command."""
        source, out = self.rows_file(rows), self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        command = [sys.executable, "-m", "scorer", "run", str(source), "--limit", str(rows), "--out", str(out)]
        command += ["--bundle", self.bundle, "--device", self.device, "--max-error-rate", "1"]
        before, busy, began = _children_seconds(), busy_seconds(), time.monotonic()
        with self.log.open("ab") as log:
            process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
            try:
                peaks = _watch(process)
            finally:
                if process.poll() is None:
                    process.terminate()
                    process.wait()
        seconds = time.monotonic() - began
        others = (busy_seconds() - busy - (_children_seconds() - before)) / seconds
        if process.returncode:
            last = self.log.read_text(errors="replace").strip().splitlines() or ["it printed nothing"]
            raise SystemExit(f"bench: `scorer run` ended with {process.returncode}: {last[-1]} (all of it: {self.log})")
        summary = json.loads((out / "_run.json").read_text())
        driver, workers = peaks.pop(process.pid, None), list(peaks.values())
        return CommandRun(rows, seconds, summary, driver, max(workers, default=None), max(0.0, others))

    def steady(self, last: CommandRun, seconds: float, deadline: float) -> CommandRun:
        """The run that is measured, of as many rows as take so many seconds at the rate of the last one, which is more
        each time: a larger one follows while there are rows and there is time."""
        start = last.seconds - last.scoring
        while True:
            growth = _GROWTH if last.pairs >= _CREDIBLE_PAIRS else _CAREFUL_GROWTH
            rate = last.summary["rows"]["in"] / max(last.scoring, 1e-3)
            rows = max(1, int(min(rate * seconds, growth * last.rows, MOST_SAMPLE_ROWS)))
            say(f"3 of 4: `scorer run` on {rows:,} rows, about {duration(start + rows / rate)}")
            last = self.run(rows)
            is_all = last.summary["rows"]["in"] < rows or rows == MOST_SAMPLE_ROWS
            is_late = time.monotonic() + 2 * (start + seconds) > deadline
            if last.scoring >= seconds / 2 or is_all or is_late:
                return last


def start_device(asked: str) -> tuple[str, str]:
    """The device to measure, and why it is not the one that was asked for. Called in a process of its own.

    Raises:
        DeviceError: no kind of device is meant.
    """
    from scorer.inference.session import resolve_device

    reasons: list[str] = []
    if asked != "auto":
        parse_device(asked)
    try:
        return str(resolve_device(asked, reasons.append)), "; ".join(reasons)
    except DeviceError as error:
        return "cpu", str(error)


def replay(out: Path, source: Path, rows: int) -> dict[str, Any]:
    """Prepare the batches of a finished run as it did, and compute them with its session alone.

    Returns:
        ``pairs``, ``seconds`` of these calls, and ``rows`` of the whole source.
    """
    from scorer.run.executors import Job, RunOptions
    from scorer.run.inline import Inline
    from scorer.run.inspection import columns_of
    from scorer.scoring.settings import Settings, from_plan
    from scorer.storage.input_files import find_files
    from scorer.storage.output_folder import OutputFolder
    from scorer.storage.shards import read_windows

    plan = OutputFolder(out).read_plan()
    assert plan is not None
    settings, files = from_plan(Settings, plan.settings, str(out)), find_files([str(source)])
    with Inline(Job(settings, RunOptions((str(source),), out, max_error_rate=1.0)), Silent()) as whole:
        everything = whole.inspect(files).rows
    with Inline(Job(settings, RunOptions((str(source),), out, limit=rows, max_error_rate=1.0)), Silent()) as inline:
        shards = inline.inspect(files).shards
        inline.open(plan, shards)
        engine, budgets = inline.scorer.engine, plan.budgets
        session, pairs, seconds = engine.session, 0, 0.0
        assert budgets.window_rows and budgets.window_bytes and budgets.first_rows
        windows = (
            columns.rows(table)
            for shard in shards
            for columns, table in read_windows(
                shard, partial(columns_of, settings=settings), max_rows=budgets.window_rows,
                max_bytes=budgets.window_bytes, first_rows=budgets.first_rows,
            )
        )  # fmt: skip
        for number, window in enumerate(windows):
            work = inline.scorer.pipeline.prepare(window).work
            made = (session.layout.assemble(batch, work) for batch in work.batches)
            feeds = [{name: feed[name] for name in session.inputs} for feed in made]
            if not number:  # kernels of a GPU are chosen by shape; a processor's first call takes its memory
                _compute(session, feeds[:1] if engine.device.spec.is_host else feeds)
            began = time.perf_counter()
            _compute(session, feeds)
            seconds += time.perf_counter() - began
            pairs += sum(len(batch.pairs) for batch in work.batches)
    return {"pairs": pairs, "seconds": seconds, "rows": everything}


def _compute(session: Any, feeds: Sequence[dict[str, Any]]) -> None:
    for feed in feeds:
        session.session.run(["logits"], feed)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _watch(process: subprocess.Popen[bytes]) -> dict[int, int]:
    """Wait for a process; peak resident memory of it and its children, in MB, by their ids."""
    peaks, began, told = dict[int, int](), time.monotonic(), 0
    while True:
        for number in [process.pid, *_children(process.pid)]:
            with suppress(OSError, IndexError, ValueError):
                status = Path(f"/proc/{number}/status").read_text()
                peaks[number] = round(int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
            return peaks
        if (tens := int(time.monotonic() - began) // 10) > told:
            told = tens
            say(f"  {10 * tens} s")


def _children(process: int) -> Iterator[int]:
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield int(child)
                yield from _children(int(child))


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except ScorerError as error:
        raise SystemExit(f"bench: {error}") from error


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """All steps: figures of the run, the bare session and the first uses."""
    here = describe()
    here["load"] = round(os.getloadavg()[0], 2)
    began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    say(f"bench: {given.bundle} on device {given.device}; {in_words(here)}; load {here['load']}")
    with _one_line_errors():
        bundle = Bundle.load(given.bundle)
        device, why = measured(start_device, given.device)["result"]
    if why:
        say(f"bench: {why}; measuring {device}")
    work = Measurement(given.bundle, device, given.data, given.folder)
    deadline = began + (given.seconds or SECONDS[work.kind])
    say("1 of 4: first use of the bundle, which verifies it on this device")
    first = work.run(FEW[work.kind])
    say("2 of 4: second use")
    second = work.run(FEW[work.kind])
    start = second.seconds - second.scoring
    seconds = max(1.0, min(_STEADY[work.kind], (deadline - time.monotonic()) / 2 - 1.5 * start))
    steady = work.steady(second, seconds, deadline)
    say(f"4 of 4: the same batches in a bare session, about {duration(steady.seconds)}")
    with _one_line_errors():
        source = work.rows_file(steady.rows)
        bare = measured(replay, work.folder / "out", source, steady.rows, log=work.log)["result"]
    work.clean()
    speed, on = steady.summary["speed"], steady.summary["device"]
    rate = MeasuredRate(
        device=f"{on['kind']} {on['name']}".strip(),
        precision=steady.summary["signature_parts"]["prec"],
        tokens_per_s=speed["real_tokens_per_s"],
    )
    keep_rate(bundle.sha256, rate)
    bare_rate = bare["pairs"] / bare["seconds"] if bare["pairs"] else 0.0
    whole = bare["rows"] if given.data is not None else MILLION
    return {
        "kind": "throughput", "started": started, "bundle": bundle.name, "data": given.data and given.data.name,
        "device": rate.device, "instead": why, "precision": rate.precision,
        "rows": steady.summary["rows"]["in"], "pairs": steady.pairs, "seconds": steady.scoring,
        "pairs_per_s": speed["unique_pairs_per_s"], "rows_per_s": speed["rows_per_s"],
        "bare_pairs_per_s": round(bare_rate, 1),
        "of_bare": round(speed["unique_pairs_per_s"] / bare_rate, 4) if bare_rate else None,
        "first_use": round(first.seconds, 2), "second_use": round(second.seconds, 2), "few_rows": first.rows,
        "driver_mb": steady.driver_mb, "worker_mb": steady.worker_mb,
        "whole_rows": whole, "whole_seconds": round(whole / speed["rows_per_s"], 1) if speed["rows_per_s"] else None,
        "others": round(steady.others, 2), "took": round(time.monotonic() - began, 1), "machine": here,
    }  # fmt: skip


def in_lines(found: dict[str, Any]) -> list[str]:
    """The figures, a line each, and what they mean."""
    data, here, share = found["data"], found["machine"], found["of_bare"]
    rows = f"{found['rows']:,} rows" + ("" if data else " of six facts")
    lines = [
        f"{found['bundle']}, {found['precision']} on {found['device']}, {here['cores']} cores",
        f"scorer run, Parquet to Parquet: {found['pairs_per_s']:,.1f} pairs/s, {found['rows_per_s']:,.1f} rows/s "
        f"({found['pairs']:,} pairs of {rows} in {found['seconds']:.1f} s)",
        f"bare session, the same batches: {found['bare_pairs_per_s']:,.1f} pairs/s"
        + (f"; `scorer run` reaches {share:.0%} of it" if share else ""),
        f"as a command, {found['few_rows']} rows: first use {found['first_use']:.1f} s, which verifies the bundle; "
        f"second use {found['second_use']:.1f} s",
    ]
    if found["driver_mb"]:
        lines.append(f"peak memory: driver {found['driver_mb']:,} MB, worker {found['worker_mb'] or 0:,} MB")
    if found["whole_seconds"] is not None:
        what = f"All {found['whole_rows']:,} rows of {data}" if data else "A million rows of six facts"
        repeat = "" if data else f" (no text or fact repeats: {FACTS + 1} pairs a row)"
        lines.append(f"{what}: {duration(found['whole_seconds'])}{repeat}")
    versions = ", ".join(f"{name} {version}" for name, version in here["versions"].items())
    lines.append(f"{in_words(here)}; Python {here['python']}, {versions}; load at the start {here['load']}")
    if found["instead"]:
        lines.append(f"Not the device that was asked for: {found['instead']}")
    if found["others"] > _QUIET_SHARE * (os.cpu_count() or 1):
        used = f"{found['others']:.1f} of {os.cpu_count()} cores"
        lines.append(f"Other processes used {used} meanwhile: these figures mean little; repeat on a quiet machine.")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.throughput",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add: Callable[..., Any] = parser.add_argument
    add("--bundle", default="embedded", help="bundle folder, or `embedded`")
    add("--device", default="auto", help="auto, cpu, cuda or cuda:N; the CPU if it does not start")
    add("--data", type=Path, help="file of rows, as for `scorer run`; default: made-up restaurants")
    add("--seconds", type=float, help="time to aim at; default: 97 on a CPU, 55 on a GPU")
    add("--folder", type=Path, default=Path(".bench/throughput"), help="inputs, outputs and log")
    add("--save", action="store_true", help="write the result to benchmarks/results/throughput.json")
    given = parser.parse_args(arguments)
    if given.data is not None and not given.data.exists():
        parser.error(f"--data {given.data} does not exist; name a file of rows")
    found = measure(given)
    print("\n".join(in_lines(found)))
    file = ROOT / "benchmarks" / "results" / "throughput.json" if given.save else given.folder / "result.json"
    file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
