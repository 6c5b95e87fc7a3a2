"""What the executor of processes makes of workers that die, hang, or differ from the plan.

The workers here are no processes: a script says what one answers, and when it ends.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from scorer.errors import DeviceError, InputError, ScorerError, UsageError
from scorer.run import workers
from scorer.run.devices import parse_devices
from scorer.run.driver import Outcome
from scorer.run.executors import (
    Begin,
    Inspect,
    Open,
    OutOfMemory,
    Progress,
    Score,
    WorkerError,
    WorkerReady,
    WorkerSlot,
)
from scorer.run.inspection import inspect_files
from scorer.run.processes import Processes
from scorer.run.shard_scorer import ShardScorer
from scorer.run.workers import RunStoppedError
from scorer.system.worker_process import WorkerEnd
from tests.run.runs import Told, job, run_in_small_windows, score, texts
from tests.storage.backends import data_files as outputs

SLOTS = (WorkerSlot("one", "cpu"), WorkerSlot("two", "cpu"))
Outputs = dict[str, bytes]


@dataclass
class Script:
    """What happens to workers.

    ``dies``: from the name of a slot, the shard that its worker would score next, and those that it holds: why it
    ends, empty if it does not. ``opens``: by slot, what is said instead of that it is ready, or changes in that.
    ``silent``: slots whose worker says nothing once it has a shard. ``memory``: it says before
    it ends that it lacks memory. ``reads``: from a file whose footer is to be read: why the worker ends, empty if it
    does not; ``asked``: the requests to read footers, as the names of files and whether the bundle is opened meanwhile.
    """

    dies: Callable[[str, str, list[str]], str] = lambda slot, shard, held: ""
    reads: Callable[[str], str] = lambda file: ""
    asked: list[tuple[list[str], bool]] = field(default_factory=list)
    opens: dict[str, Any] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    memory: bool = False
    started: list[str] = field(default_factory=list)
    seen: list[tuple[str, int, bool]] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)


class ScriptedProcess:
    """Stands for a worker process; it does its work when it is listened to."""

    def __init__(self, script: Script, slot: str) -> None:
        self.script, self.slot = script, slot
        script.started.append(slot)
        self.said: deque[Any] = deque([Progress()])
        self.tasks: list[Score] = []
        self.scorer: ShardScorer | None = None
        self.why = ""
        self._here, self._there = os.pipe()
        os.write(self._there, b"x")  # there is always something to hear

    @property
    def connection(self) -> int:
        return self._here

    def send(self, message: Any) -> None:
        match message:
            case Inspect():
                self.script.asked.append(([file.relative for file in message.files], message.opens))
                for file, footer in zip(message.files, inspect_files(message), strict=True):
                    if why := self.script.reads(file.relative):
                        self.why = why
                        break
                    self.said.append(footer)
            case Open():
                self._open(message)
            case Begin() if self.scorer is not None:
                self.scorer.begin(message)
            case Score():
                self.tasks.append(message)

    def _open(self, request: Open) -> None:
        change = self.script.opens.get(self.slot, {})
        if isinstance(change, ScorerError):
            self.said.append(WorkerError.of(change))
            return
        self.scorer = ShardScorer(request, lambda line: None)
        self.said.append(WorkerReady(info=replace(self.scorer.info, **change)))

    def receive(self) -> Any:
        if self.said:
            return self.said.popleft()
        if self.why:
            raise EOFError
        if not self.tasks or self.slot in self.script.silent or self.scorer is None:
            return Progress()
        names = [task.shard.relative for task in self.tasks]
        self.script.seen.append((names[0], len(names), self.tasks[0].halved))
        if why := self.script.dies(self.slot, names[0], names):
            self.why = why
            if self.script.memory:
                return OutOfMemory()
            raise EOFError
        (result,) = self.scorer.score([self.tasks.pop(0)])
        return result

    def kill(self) -> None:
        self.script.killed.append(self.slot)
        self.script.silent.discard(self.slot)  # the next one there works
        self.why = self.why or "ended with SIGKILL"

    def close(self) -> None:
        if self.scorer is not None:
            self.scorer.scorer.engine.close()
        for descriptor in (self._here, self._there):
            if descriptor >= 0:
                os.close(descriptor)
        self._here = self._there = -1

    def end(self) -> WorkerEnd:
        self.close()
        return WorkerEnd(self.why)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("in")
    for i in range(6):
        pq.write_table(texts(5 + i), folder / f"{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def whole(data: Path, bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    """The outputs of an inline run."""
    out = tmp_path_factory.mktemp("whole") / "out"
    score(data, out, bundle)
    return outputs(out)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


Run = Callable[..., Outcome]


@pytest.fixture
def scripted(data: Path, out: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs with scripted workers in two slots."""

    def scripted_run(script: Script, told: Told | None = None, slots: tuple[WorkerSlot, ...] = SLOTS) -> Outcome:
        def start(self: Any, slot: WorkerSlot) -> Any:
            return ScriptedProcess(script, slot.name)

        monkeypatch.setattr(Processes, "start", start)
        told = told or Told()
        return run_in_small_windows(Processes(job(data, out, bundle, max_error_rate=1.0), slots, told), told)

    return scripted_run


def test_workers_give_the_bytes_of_an_inline_run(scripted: Run, whole: Outputs, out: Path) -> None:
    script = Script()
    outcome = scripted(script)
    assert outcome.exit_code == 0 and outputs(out) == whole
    assert outcome.summary.counts.rows.all == sum(range(5, 11))
    assert max(held for _, held, _ in script.seen) == 2
    assert scripted(Script()).summary.shards.skipped == 6


def test_a_shard_that_ends_every_worker_is_quarantined_alone(scripted: Run, out: Path) -> None:
    script = Script(lambda slot, shard, held: "ended with SIGSEGV" if shard == "0.parquet" else "")
    outcome = scripted(script)
    assert outcome.exit_code == 3 and outcome.summary.shards.failed == 1
    note = (out / "_failed" / "0.parquet.json").read_text()
    assert "ended with SIGSEGV, twice, the second time with no other shard" in note
    deaths = [held for shard, held, _ in script.seen if shard == "0.parquet"]
    assert len(deaths) == 2 and deaths[-1] == 1  # first perhaps with another shard, then alone
    assert sorted(outputs(out)) == [f"{i}.parquet" for i in range(1, 6)]


def test_a_worker_that_dies_once_loses_nothing(scripted: Run, whole: Outputs, out: Path) -> None:
    deaths = iter(["ended with SIGKILL"])
    script = Script(lambda slot, shard, held: next(deaths, "") if shard == "3.parquet" else "")
    assert scripted(script).exit_code == 0
    assert outputs(out) == whole and len(script.started) == 3


def test_a_shard_that_lacks_memory_is_tried_once_more_in_half_windows(scripted: Run, out: Path) -> None:
    script = Script(lambda slot, shard, held: "lacked memory" if shard == "3.parquet" else "", memory=True)
    outcome = scripted(script)
    assert outcome.exit_code == 3 and sorted(outputs(out)) == [f"{i}.parquet" for i in (0, 1, 2, 4, 5)]
    assert [halved for shard, _, halved in script.seen if shard == "3.parquet"] == [False, False, True]


def test_a_shard_that_was_scored_in_half_windows_says_so(scripted: Run, out: Path) -> None:
    deaths = iter(["lacked memory"] * 2)
    script = Script(lambda slot, shard, held: next(deaths, "") if shard == "3.parquet" else "", memory=True)
    assert scripted(script).exit_code == 0
    receipts = {path.name: json.loads(path.read_text()) for path in (out / "_receipts").iterdir()}
    assert [name for name, receipt in receipts.items() if receipt["halved"]] == ["3.parquet.json"]


NAMES = [f"{i}.parquet" for i in range(6)]


def test_a_worker_that_dies_once_while_footers_are_read_costs_no_file(scripted: Run, whole: Outputs, out: Path) -> None:
    deaths = iter(["ended with SIGKILL"])
    script = Script(reads=lambda file: next(deaths, "") if file == "3.parquet" else "")
    told = Told()
    assert scripted(script, told).exit_code == 0 and outputs(out) == whole
    assert script.asked == [(NAMES, True), (["3.parquet"], False), (["4.parquet", "5.parquet"], False)]
    assert "3.parquet: the worker ended with SIGKILL; it is read again, by itself" in told.messages


def test_a_file_that_ends_a_worker_which_does_nothing_else_is_quarantined(scripted: Run, out: Path) -> None:
    script = Script(reads=lambda file: "ended with SIGSEGV" if file in ("0.parquet", "5.parquet") else "")
    assert scripted(script).exit_code == 3
    assert sorted(outputs(out)) == NAMES[1:5]
    for name in ("0.parquet", "5.parquet"):
        note = (out / "_failed" / f"{name}.json").read_text()
        assert "its footer ended with SIGSEGV, twice, the second time with no other file" in note
    assert [files for files, _ in script.asked] == [NAMES, NAMES[:1], NAMES[1:], NAMES[5:]]


def test_five_files_in_a_row_that_end_a_worker_stop_the_run(scripted: Run, out: Path) -> None:
    script = Script(reads=lambda file: "ended with SIGSEGV")
    with pytest.raises(RunStoppedError, match="5 files in a row each ended a worker that read the footer"):
        scripted(script)
    assert len(script.asked) == 10 and not out.exists()


def test_five_shards_in_a_row_that_end_a_worker_stop_the_run(scripted: Run, out: Path) -> None:
    script = Script(lambda slot, shard, held: "ended with SIGSEGV")
    with pytest.raises(RunStoppedError, match="5 shards in a row each ended a worker"):
        scripted(script)
    assert RunStoppedError.exit_code == 3
    assert len(list((out / "_failed").iterdir())) == 5


def test_a_device_whose_worker_cannot_open_is_excluded(scripted: Run, whole: Outputs, out: Path) -> None:
    told = Told()
    assert scripted(Script(opens={"two": DeviceError("no memory")}), told).exit_code == 0
    assert "two: no memory; the run continues without it" in told.messages
    assert outputs(out) == whole


@pytest.mark.parametrize("error", [DeviceError("no memory"), InputError("nearly all rows have errors")])
def test_an_error_of_the_first_worker_ends_the_run(scripted: Run, out: Path, error: ScorerError) -> None:
    with pytest.raises(type(error), match=str(error)):
        scripted(Script(opens={"one": error}))
    assert not out.exists()


@pytest.mark.parametrize(
    ("change", "differs"),
    [({"provider": "Other"}, "provider"), ({"versions": {}}, "numpy"), ({"signature": "model:other"}, "signature")],
)
def test_a_worker_that_computes_otherwise_is_excluded(
    scripted: Run, out: Path, change: dict[str, Any], differs: str
) -> None:
    told, script = Told(), Script(opens={"two": change})
    assert scripted(script, told).exit_code == 0
    assert any(f"{differs}: " in line for line in told.messages if line.startswith("two: differs from the plan in"))
    assert script.killed == ["two"]


def test_a_worker_without_progress_is_replaced(
    scripted: Run, whole: Outputs, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "HANG_SECONDS", 0.0)
    told, script = Told(), Script(silent={"two"})
    real = workers.Worker.receive

    def receive(self: Any) -> Any:
        found = real(self)
        if self.slot.name == "two" and self.tasks and isinstance(found, Progress):
            return self.kill_if_silent(float("inf"))
        return found

    monkeypatch.setattr(workers.Worker, "receive", receive)
    assert scripted(script, told).exit_code == 0
    assert any("made no progress" in line for line in told.messages) and "two" in script.killed
    assert outputs(out) == whole


def test_devices_are_named_all_of_the_machine_or_shares_of_the_cpu() -> None:
    assert [slot.device for slot in parse_devices("all", 3, [0])] == ["cuda:0", "cuda:1", "cuda:2"]
    assert [slot.device for slot in parse_devices("cuda:2, cuda:0", 0, [0])] == ["cuda:2", "cuda:0"]
    for count, cpus, shares in (
        (2, [0, 1, 2, 3], [(0, 1), (2, 3)]),
        (2, [4, 6, 7], [(4,), (6,)]),
        (3, [0, 1], [(0,), (1,), (0,)]),
        (1, [0, 1], [()]),  # all
        (2, [], [(), ()]),
    ):
        slots = parse_devices(f"cpu:{count}", 0, cpus)
        assert [slot.cpus for slot in slots] == shares and {slot.device for slot in slots} == {"cpu"}
    assert [slot.threads for slot in parse_devices("cpu:2", 0, [*range(64)], 8)] == [4, 4], "a quota is shared"
    assert [slot.threads for slot in parse_devices("cpu:3", 0, [*range(64)], 2)] == [1, 1, 1]
    assert [slot.threads for slot in parse_devices("cpu:2", 0, [*range(8)], 8)] == [None, None]
    for given in ("", "cpu", "cpu:0", "cpu:x", "cuda", "cuda:0,cuda:0", "cuda:0;cuda:1", "cpu:2,cuda:0"):
        with pytest.raises(UsageError, match="--devices"):
            parse_devices(given, 1, [0])
    with pytest.raises(DeviceError, match="no CUDA device was found"):
        parse_devices("all", 0, [0])
