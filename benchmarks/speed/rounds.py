"""Interleaved rounds: every setting once per round, each in a separate process.

Other load on the machine therefore affects all settings equally. Ratios are computed within a round, and their median
is shown.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .settings import Setting


class WorkerError(Exception):
    """A setting cannot be measured; the table shows the message as the reason."""


class Worker:
    """The process of a setting; see :mod:`benchmarks.speed.worker` for the messages.

    Raises:
        WorkerError: it did not start; the message is the reason that it gave.
    """

    def __init__(self, spec: Mapping[str, Any], environment: Mapping[str, str], log: Path, python: str, limit: float):
        self._limit = limit
        self._lines: list[str] = []
        self._rest = b""
        with log.open("a") as errors:
            self._process = subprocess.Popen(
                [python, "-m", "benchmarks.speed.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(environment),
                cwd=Path(__file__).resolve().parents[2],
            )
        try:
            self.opened = self.ask(json.dumps(spec))
        except WorkerError:
            self.close()
            raise

    def ask(self, line: str) -> dict[str, Any]:
        """Send a line and wait for the answer.

        Raises:
            WorkerError: the process ended, or answered with an error.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as e:
            raise WorkerError(self._ended()) from e
        answer: dict[str, Any] = json.loads(self._read_line())
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def close(self) -> None:
        """End the process."""
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read_line(self) -> bytes:
        assert self._process.stdout is not None
        end = time.monotonic() + self._limit
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(0.0, end - time.monotonic())):
                    raise WorkerError(f"no answer within {self._limit:.0f} s")
                chunk = os.read(self._process.stdout.fileno(), 1 << 16)
                if not chunk:
                    raise WorkerError(self._ended())
                self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def _ended(self) -> str:
        code = self._process.wait()
        return "killed, probably for lack of memory" if code == -9 else f"ended with exit code {code}"


@dataclass
class Measured:
    """A setting with its rounds. ``answers``: the results of its last pass. ``error``: why there are none."""

    setting: Setting
    rounds: list[dict[str, Any]] = field(default_factory=list)
    opened: dict[str, Any] = field(default_factory=dict)
    answers: Any = None
    error: str | None = None

    @property
    def part(self) -> int | None:
        """The number of pairs that this setting is measured on, if it is too slow for the whole sample."""
        part: int | None = self.setting.options.get("pairs")
        return part

    def rates(self, items: int) -> list[float]:
        """Items per second, by round."""
        return [min(self.part or items, items) / one["seconds"] for one in self.rounds]


@dataclass
class Group:
    """Settings measured on one sample. ``items``: the number of ``unit`` that a pass computes."""

    name: str
    title: str
    unit: str
    items: int
    reference: str
    sample: dict[str, Any]
    measured: list[Measured]

    def find(self, name: str) -> Measured | None:
        return next((m for m in self.measured if m.setting.name == name and m.rounds), None)

    def ratio(self, one: Measured, other: Measured) -> float:
        """The speed of ``one`` divided by that of ``other``: the median of the ratios within rounds."""
        rates, theirs = (
            {r["round"]: rate for r, rate in zip(m.rounds, m.rates(self.items), strict=True)} for m in (one, other)
        )
        ratios = [rate / theirs[number] for number, rate in rates.items() if number in theirs]
        return statistics.median(ratios) if ratios else float("nan")


def run_rounds(
    settings: Sequence[Setting],
    spec_of: Callable[[Setting], Mapping[str, Any]],
    rounds: int,
    *,
    logs: Path,
    environment_of: Callable[[Setting], Mapping[str, str]],
    memory_floor_mb: int,
    device_has_room: Callable[[], bool] = lambda: True,
    python_of: Callable[[Setting], str] = lambda setting: sys.executable,
    failed: Mapping[str, str] | None = None,
    limit: float = 600.0,
    deadline: float = float("inf"),
    say: Callable[[str], None] = lambda message: None,
    after: Callable[[list[Measured]], None] = lambda measured: None,
) -> list[Measured]:
    """Measure settings in interleaved rounds: the first in the order given, later ones with the fastest first, so that
    the fastest settings have most rounds when the time is over.

    A process is kept between rounds if ``memory_floor_mb`` MB are still available, and room on the device, otherwise it
    is started again.
    ``failed``: parts that could not be prepared, with the reason. ``deadline``: after it, the first round is finished
    and no other one started. ``after``: called after each pass with what was measured so far.
    """
    measured = [Measured(setting) for setting in settings]
    for one in measured:
        one.error = next((f"{p}: {failed[p]}" for p in one.setting.needs if failed and p in failed), None)
    open_workers: dict[str, Worker] = {}
    logs.mkdir(parents=True, exist_ok=True)
    try:
        for number in range(rounds):
            for one in in_order(measured):
                if number and time.monotonic() > deadline:
                    say(f"out of time in round {number + 1} of {rounds}")
                    return measured
                if one.error is None:
                    _pass(one, number, spec_of, open_workers, logs, environment_of, python_of, limit, say)
                    after(measured)
                    name = one.setting.name
                    if name in open_workers and (_available_mb() < memory_floor_mb or not device_has_room()):
                        open_workers.pop(name).close()
    finally:
        for worker in open_workers.values():
            worker.close()
    return measured


def in_order(measured: Sequence[Measured]) -> list[Measured]:
    """Settings by the seconds of their last pass; those without one are last, in their order."""
    return sorted(measured, key=lambda one: one.rounds[-1]["seconds"] if one.rounds else float("inf"))


def _pass(
    one: Measured,
    number: int,
    spec_of: Callable[[Setting], Mapping[str, Any]],
    open_workers: dict[str, Worker],
    logs: Path,
    environment_of: Callable[[Setting], Mapping[str, str]],
    python_of: Callable[[Setting], str],
    limit: float,
    say: Callable[[str], None],
) -> None:
    name = one.setting.name
    try:
        if name not in open_workers:
            spec = dict(spec_of(one.setting))
            if one.opened:  # the batch size chosen in the first round is kept, so that all rounds measure the same
                spec["options"] = {**spec["options"], **_settled(one.opened["chosen"])}
            worker = Worker(spec, environment_of(one.setting), logs / f"{name}.log", python_of(one.setting), limit)
            open_workers[name] = worker
            one.opened = one.opened or worker.opened
        timed = open_workers[name].ask("pass")
        one.rounds.append({"round": number, **timed})
        if one.answers is None:
            one.answers = open_workers[name].ask("answers")["answers"]
        say(f"round {number + 1}  {timed['seconds']:8.2f} s  others {timed['others']}  {one.setting.label}")
    except WorkerError as e:
        one.error = str(e)
        if name in open_workers:
            open_workers.pop(name).close()
        say(f"round {number + 1}  failed: {one.setting.label}: {e}")


def _settled(chosen: Mapping[str, Any]) -> dict[str, Any]:
    settled: dict[str, Any] = {}
    if "batch" in chosen:
        settled["batches"] = [chosen["batch"]]
    if "way" in chosen and "batch" in chosen:
        settled["ways"] = [[chosen["way"], chosen["batch"]]]
    return settled


def _available_mb() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1024
    except OSError:
        pass
    return 1 << 40
