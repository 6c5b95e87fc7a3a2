"""What the pool makes of workers that die, hang, differ from the plan or cannot read the inputs.

The crew here has no processes: a script says what a worker answers to each shard.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scorer.errors import DeviceError, InputError
from scorer.run import pool as pools
from scorer.run.driver import run
from scorer.run.messages import Begin, Facts, Failed, Frames, Made, Moved, Ready, Request, Stopped, Task, Unseen, frame
from scorer.run.options import Outcome, RunOptions
from scorer.run.pool import Ended, Place, Pool, Wrote
from scorer.run.shard_worker import OpenScorer, ShardWorker, shard_of_task
from scorer.scoring.plan import Budgets
from scorer.scoring.signature import Signature
from scorer.storage import ShardReader
from scorer.storage.durable import Holder
from scorer.storage.output import open_store
from tests.run.test_row_scorer import TextLengthScoring, Told, lengths, texts
from tests.storage.backends import data_files as outputs

SLOTS = (Place("one", "cpu"), Place("two", "cpu"))
Outputs = dict[str, bytes]
Death = Callable[[Place, str, list[str]], str]


class Scripted:
    """Workers that score in this process, each message at once, unless ``dies`` gives a reason to end.

    ``dies``: from the place, the shard that the worker would score next, and those that it holds.
    """

    def __init__(self, out: Path, dies: Death = lambda place, shard, held: "", facts: Any = None) -> None:
        self.out, self.dies, self.facts = out, dies, facts or {}
        self.said: deque[Wrote | Ended] = deque()
        self.held: dict[Place, list[Task]] = {}
        self.begin: dict[Place, Begin] = {}
        self.starts: list[Place] = []
        self.seen: list[tuple[str, int]] = []
        self.silent: set[Place] = set()
        self.lies: set[Place] = set()
        self.killed: list[Place] = []

    def places(self) -> Sequence[Place]:
        return SLOTS

    def start(self, place: Place) -> None:
        self.starts.append(place)
        self.held[place] = []

    def send(self, place: Place, content: bytes) -> None:
        for message in Frames().read(content):
            if isinstance(message, Request):
                self._ready(place)
            elif isinstance(message, Begin):
                self.begin[place] = message
            elif isinstance(message, Task):
                self.held[place].append(message)

    def _ready(self, place: Place) -> None:
        change = self.facts.get(place)
        if isinstance(change, Stopped):
            self.said += [Wrote(place, frame(change)), Ended(place, "ended with exit code 2")]
            return
        self.said.append(Wrote(place, frame(Ready(replace(_facts(), **(change or {}))))))

    def listen(self, wait_s: float) -> Sequence[Wrote | Ended]:
        for place, tasks in self.held.items():
            if not tasks or place in self.silent:
                continue
            names = [task.relative for task in tasks]
            self.seen.append((names[0], len(names)))
            if why := self.dies(place, names[0], names):
                tasks.clear()
                self.said.append(Ended(place, why))
            else:
                self.said.append(Wrote(place, frame(self._answer(place, tasks.pop(0)))))
        found, self.said = list(self.said), deque()
        return found

    def _answer(self, place: Place, task: Task) -> Any:
        if place in self.lies:
            return Unseen(Failed(task.relative, "changed", f"{task.uri}: it changed", task.identity))
        return self._score(place, task)

    def _score(self, place: Place, task: Task) -> Made:
        scoring, results = TextLengthScoring(), []
        with ShardReader() as reader, scoring.open(Budgets()) as opened:
            begin = self.begin[place]
            holder = Holder(self.out, begin.token, lambda: None)
            made = OpenScorer(opened, None)
            worker = ShardWorker(made, reader, begin.plan, open_store(self.out), holder, results.append, Told(), 1.0)
            worker.score([(shard_of_task(task, reader, scoring), task.expect)])
        return results[0]

    def kill(self, place: Place) -> None:
        self.killed.append(place)
        self.silent.discard(place)
        self.held[place] = []
        self.said.append(Ended(place, "ended with SIGKILL"))

    def close(self) -> None:
        pass


def _facts() -> Facts:
    with TextLengthScoring().open(Budgets()) as opened:
        return OpenScorer(opened.warm_up(None, []), None).facts


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("in")
    for i in range(6):
        pq.write_table(texts(5 + i), folder / f"{i}.parquet")
    return folder


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    """The outputs of an inline run."""
    out = tmp_path_factory.mktemp("whole")
    lengths(data, out)
    return outputs(out)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def pooled(data: Path, out: Path, crew: Scripted, told: Told | None = None) -> Outcome:
    options = RunOptions((str(data),), out, max_error_rate=1.0, window_rows=4)
    with Pool(crew, "the bundle B") as pool:
        return run(options, TextLengthScoring(), told or Told(), pool)


def said_by(data: Path, out: Path, crew: Scripted) -> str:
    """The messages of a run that succeeds."""
    told = Told()
    assert pooled(data, out, crew, told).exit_code == 0
    return "\n".join(told.messages)


def test_workers_give_the_bytes_of_an_inline_run(data: Path, whole: Outputs, out: Path) -> None:
    crew = Scripted(out)
    outcome = pooled(data, out, crew)
    assert outcome.exit_code == 0 and outputs(out) == whole
    assert outcome.summary.counts.rows.all == sum(range(5, 11))
    assert max(held for _, held in crew.seen) == 2
    again = pooled(data, out, Scripted(out))
    assert again.summary.shards.skipped == 6


def test_a_shard_that_ends_every_worker_is_quarantined_alone(data: Path, out: Path) -> None:
    crew = Scripted(out, lambda place, shard, held: "ended with SIGSEGV" if shard == "0.parquet" else "")
    outcome = pooled(data, out, crew)
    assert outcome.exit_code == 3 and outcome.summary.shards.failed == 1
    note = (out / "_failed" / "0.parquet.json").read_text()
    assert "ended with SIGSEGV, twice, the second time with no other shard" in note
    deaths = [held for shard, held in crew.seen if shard == "0.parquet"]
    assert len(deaths) == 2 and deaths[-1] == 1  # first perhaps with another shard, then alone
    assert sorted(outputs(out)) == [f"{i}.parquet" for i in range(1, 6)]


def test_a_worker_that_dies_once_loses_nothing(data: Path, whole: Outputs, out: Path) -> None:
    deaths = iter(["ended with SIGKILL"])
    crew = Scripted(out, lambda place, shard, held: next(deaths, "") if shard == "3.parquet" else "")
    assert pooled(data, out, crew).exit_code == 0
    assert outputs(out) == whole and len(crew.starts) == 3


def test_a_device_whose_worker_always_dies_is_given_up(data: Path, whole: Outputs, out: Path) -> None:
    crew = Scripted(out, facts={SLOTS[1]: Stopped(DeviceError, "no memory")})
    assert "two: no memory; the run continues without it" in said_by(data, out, crew)
    assert outputs(out) == whole


@pytest.mark.parametrize(
    ("error", "places", "says"),
    [
        (DeviceError("no memory"), SLOTS, "no worker is left: .*no memory; the device or the bundle B cannot"),
        (InputError("nearly all rows have errors"), SLOTS[:1], "one: nearly all rows have errors"),
    ],
)
def test_without_a_worker_or_for_an_error_that_none_could_avoid_the_run_ends(
    data: Path, out: Path, error: Exception, places: tuple[Place, ...], says: str
) -> None:
    stopped = Stopped(type(error), str(error))  # type: ignore[arg-type]
    with pytest.raises(type(error), match=says):
        pooled(data, out, Scripted(out, facts=dict.fromkeys(places, stopped)))
    assert not out.exists()


@pytest.mark.parametrize("differs", ["provider", "versions", "signature"])
def test_a_worker_that_computes_otherwise_is_left_out(data: Path, out: Path, differs: str) -> None:
    change = {"provider": "Other", "versions": {"x": "2"}, "signature": Signature("metric:other")}[differs]
    crew = Scripted(out, facts={SLOTS[1]: {differs: change}})
    assert f"two differs from the plan in {differs}" in said_by(data, out, crew)
    assert SLOTS[1] not in crew.begin and crew.killed == [SLOTS[1]]


def test_a_resume_leaves_out_workers_that_differ_from_the_plan(data: Path, out: Path) -> None:
    pooled(data, out, Scripted(out))
    receipt = out / "_receipts" / "0.parquet.json"
    receipt.unlink()
    crew = Scripted(out, facts={SLOTS[0]: {"provider": "Other"}})
    assert "one differs from the plan in provider" in said_by(data, out, crew)
    assert SLOTS[0] not in crew.begin
    receipt.unlink()
    others = {slot: {"versions": {"x": "2"}} for slot in SLOTS}
    with pytest.raises(DeviceError, match=r"no worker is left: .* differs from the plan in versions"):
        pooled(data, out, Scripted(out, facts=others))
    assert not receipt.exists()


def test_a_worker_that_sees_other_inputs_than_the_driver_is_left_out(data: Path, whole: Outputs, out: Path) -> None:
    crew = Scripted(out)
    crew.lies.add(SLOTS[1])
    assert said_by(data, out, crew).count("two does not see the inputs as the driver does") == 1
    assert outputs(out) == whole and crew.killed == [SLOTS[1]]


def test_a_shard_that_the_driver_does_not_see_either_is_quarantined(data: Path, out: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(data, tmp_path / "in"))

    class Replacing(Scripted):
        def _answer(self, place: Place, task: Task) -> Any:
            if task.relative == "2.parquet":
                pq.write_table(texts(99), task.uri)
                self.lies.add(place)
            answer = super()._answer(place, task)
            self.lies.clear()
            return answer

    crew = Replacing(out)
    outcome = pooled(data, out, crew)
    assert (outcome.exit_code, outcome.summary.shards.failed, crew.killed) == (3, 1, [])


def test_a_worker_without_progress_is_replaced(
    data: Path, whole: Outputs, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "SILENCE_S", 0.05)
    crew = Scripted(out)
    crew.silent.add(SLOTS[1])
    assert "no progress" in said_by(data, out, crew) and SLOTS[1] in crew.killed
    assert outputs(out) == whole


class _Opening(Scripted):
    """Workers that are not ready before so many looks, in each of which 100 s pass, and say then that they moved."""

    def __init__(self, out: Path, looks: int, moves: bool) -> None:
        super().__init__(out)
        self.looks, self.moves, self.seconds = looks, moves, 0.0

    def monotonic(self) -> float:
        return self.seconds

    def listen(self, wait_s: float) -> Sequence[Wrote | Ended]:
        self.seconds += 100
        self.looks -= 1
        if self.looks <= 0:
            return super().listen(wait_s)
        return [Wrote(place, frame(Moved())) for place in self.held if self.moves]


def test_a_first_use_that_hangs_ends_the_run_and_one_that_moves_does_not(
    data: Path, whole: Outputs, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = _Opening(out, looks=50, moves=True)
    monkeypatch.setattr(pools, "time", crew)
    assert pooled(data, out, crew).exit_code == 0
    assert outputs(out) == whole and not crew.killed
    crew = _Opening(tmp_path / "out2", looks=50, moves=False)
    monkeypatch.setattr(pools, "time", crew)
    with pytest.raises(DeviceError, match=r"one: no progress for 600 s while the bundle B was .* on cpu;"):
        pooled(data, tmp_path / "out2", crew)
    assert crew.seconds == 700 and not (tmp_path / "out2").exists()
