"""What the pool makes of workers that die, hang, differ from the plan or cannot read the inputs.

The crew here has no processes: a script says what a worker answers to each shard.
"""

from __future__ import annotations

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
from scorer.storage import ShardReader
from scorer.storage.durable import Holder
from scorer.storage.output import open_store
from tests.run.test_row_scorer import TextLengthScoring, Told, lengths, texts

SLOTS = (Place("one", "cpu"), Place("two", "cpu"))
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
        facts = _facts()
        change = self.facts.get(place)
        if isinstance(change, Stopped):
            self.said.append(Wrote(place, frame(change)))
            self.said.append(Ended(place, "ended with exit code 2"))
            return
        self.said.append(Wrote(place, frame(Ready(replace(facts, **(change or {}))))))

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
    scoring = TextLengthScoring()
    with ShardReader() as reader, scoring.open(Budgets()) as opened:
        found = OpenScorer(opened.warm_up(None, []), None)
        assert reader is not None
        return found.facts


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for i in range(6):
        pq.write_table(texts(5 + i), tmp_path / "in" / f"{i}.parquet")
    return tmp_path / "in"


def pooled(data: Path, out: Path, crew: Scripted, told: Told | None = None) -> Outcome:
    options = RunOptions((str(data),), out, max_error_rate=1.0, window_rows=4)
    with Pool(crew, "the bundle B") as pool:
        return run(options, TextLengthScoring(), told or Told(), pool)


def outputs(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("*.parquet")}


def test_workers_give_the_bytes_of_an_inline_run(data: Path, tmp_path: Path) -> None:
    lengths(data, tmp_path / "whole")
    crew = Scripted(tmp_path / "out")
    outcome = pooled(data, tmp_path / "out", crew)
    assert outcome.exit_code == 0 and outputs(tmp_path / "out") == outputs(tmp_path / "whole")
    assert outcome.summary.counts.rows.all == sum(range(5, 11))
    assert max(held for _, held in crew.seen) == 2
    again = pooled(data, tmp_path / "out", Scripted(tmp_path / "out"))
    assert again.summary.shards.skipped == 6


def test_a_shard_that_ends_every_worker_is_quarantined_alone(data: Path, tmp_path: Path) -> None:
    told = Told()
    crew = Scripted(tmp_path / "out", lambda place, shard, held: "ended with SIGSEGV" if shard == "0.parquet" else "")
    outcome = pooled(data, tmp_path / "out", crew, told)
    assert outcome.exit_code == 3 and outcome.summary.shards.failed == 1
    note = (tmp_path / "out" / "_failed" / "0.parquet.json").read_text()
    assert "ended with SIGSEGV, twice, the second time with no other shard" in note
    deaths = [held for shard, held in crew.seen if shard == "0.parquet"]
    assert deaths == [2, 1] or deaths == [1, 1]  # first perhaps with another shard, then alone
    assert sorted(outputs(tmp_path / "out")) == [f"{i}.parquet" for i in range(1, 6)]


def test_a_worker_that_dies_once_loses_nothing(data: Path, tmp_path: Path) -> None:
    died: list[str] = []

    def once(place: Place, shard: str, held: list[str]) -> str:
        if shard == "3.parquet" and not died:
            died.append(shard)
            return "ended with SIGKILL"
        return ""

    lengths(data, tmp_path / "whole")
    crew = Scripted(tmp_path / "out", once)
    assert pooled(data, tmp_path / "out", crew).exit_code == 0
    assert outputs(tmp_path / "out") == outputs(tmp_path / "whole") and len(crew.starts) == 3


def test_a_device_whose_worker_always_dies_is_given_up(data: Path, tmp_path: Path) -> None:
    """It is not the shards that are to blame: the other worker scores all of them."""
    lengths(data, tmp_path / "whole")
    told = Told()
    crew = Scripted(tmp_path / "out", facts={SLOTS[1]: Stopped(DeviceError, "no memory")})
    assert pooled(data, tmp_path / "out", crew, told).exit_code == 0
    assert "two: no memory; the run continues without it" in told.messages
    assert outputs(tmp_path / "out") == outputs(tmp_path / "whole")


def test_without_a_worker_the_device_is_to_blame(data: Path, tmp_path: Path) -> None:
    stopped = Stopped(DeviceError, "no memory")
    crew = Scripted(tmp_path / "out", facts=dict.fromkeys(SLOTS, stopped))
    with pytest.raises(DeviceError, match=r"no worker is left: .*no memory; the device or the bundle B cannot"):
        pooled(data, tmp_path / "out", crew)
    assert not (tmp_path / "out").exists()


def test_an_error_that_no_other_worker_could_avoid_ends_the_run(data: Path, tmp_path: Path) -> None:
    stopped = Stopped(InputError, "nearly all rows have errors")
    with pytest.raises(InputError, match="one: nearly all rows have errors"):
        pooled(data, tmp_path / "out", Scripted(tmp_path / "out", facts={SLOTS[0]: stopped}))


@pytest.mark.parametrize("differs", ["provider", "versions", "signature"])
def test_a_worker_that_computes_otherwise_is_left_out(data: Path, tmp_path: Path, differs: str) -> None:
    """Outputs of workers with other columns, bundles or versions must never be mixed."""
    from scorer.scoring.signature import Signature

    change = {"provider": "Other", "versions": {"x": "2"}, "signature": Signature("metric:other")}[differs]
    told = Told()
    crew = Scripted(tmp_path / "out", facts={SLOTS[1]: {differs: change}})
    assert pooled(data, tmp_path / "out", crew, told).exit_code == 0
    assert any(f"two differs from the plan in {differs}" in message for message in told.messages)
    assert SLOTS[1] not in crew.begin and crew.killed == [SLOTS[1]]


def test_a_resume_leaves_out_workers_that_differ_from_the_plan(data: Path, tmp_path: Path) -> None:
    """With some shards done, the others must be computed on the same kind of device."""
    out = tmp_path / "out"
    pooled(data, out, Scripted(out))
    receipt = next(iter(sorted((out / "_receipts").rglob("*.json"))))
    receipt.unlink()
    told = Told()
    crew = Scripted(out, facts={SLOTS[0]: {"provider": "Other"}})
    assert pooled(data, out, crew, told).exit_code == 0
    assert any("one differs from the plan in provider" in message for message in told.messages)
    assert SLOTS[0] not in crew.begin
    receipt.unlink()
    others = {slot: {"versions": {"x": "2"}} for slot in SLOTS}
    with pytest.raises(DeviceError, match=r"no worker is left: .* differs from the plan in versions"):
        pooled(data, out, Scripted(out, facts=others))
    assert not receipt.exists()


def test_a_worker_that_sees_other_inputs_than_the_driver_is_left_out(data: Path, tmp_path: Path) -> None:
    lengths(data, tmp_path / "whole")
    crew, told = Scripted(tmp_path / "out"), Told()
    crew.lies.add(SLOTS[1])
    assert pooled(data, tmp_path / "out", crew, told).exit_code == 0
    assert sum("two does not see the inputs as the driver does" in message for message in told.messages) == 1
    assert outputs(tmp_path / "out") == outputs(tmp_path / "whole") and crew.killed == [SLOTS[1]]


def test_a_shard_that_the_driver_does_not_see_either_is_quarantined(data: Path, tmp_path: Path) -> None:
    class Replacing(Scripted):
        def _answer(self, place: Place, task: Task) -> Any:
            if task.relative == "2.parquet":
                pq.write_table(texts(99), task.uri)
                self.lies.add(place)
            answer = super()._answer(place, task)
            self.lies.clear()
            return answer

    crew = Replacing(tmp_path / "out")
    outcome = pooled(data, tmp_path / "out", crew)
    assert (outcome.exit_code, outcome.summary.shards.failed, crew.killed) == (3, 1, [])


def test_a_worker_without_progress_is_replaced(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "SILENCE_S", 0.05)
    lengths(data, tmp_path / "whole")
    crew, told = Scripted(tmp_path / "out"), Told()
    crew.silent.add(SLOTS[1])
    assert pooled(data, tmp_path / "out", crew, told).exit_code == 0
    assert SLOTS[1] in crew.killed and any("no progress" in message for message in told.messages)
    assert outputs(tmp_path / "out") == outputs(tmp_path / "whole")


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
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths(data, tmp_path / "whole")
    crew = _Opening(tmp_path / "out", looks=50, moves=True)
    monkeypatch.setattr(pools, "time", crew)
    assert pooled(data, tmp_path / "out", crew).exit_code == 0
    assert outputs(tmp_path / "out") == outputs(tmp_path / "whole") and not crew.killed
    crew = _Opening(tmp_path / "out2", looks=50, moves=False)
    monkeypatch.setattr(pools, "time", crew)
    with pytest.raises(DeviceError, match=r"one: no progress for 600 s while the bundle B was .* on cpu;"):
        pooled(data, tmp_path / "out2", crew)
    assert crew.seconds == 700 and not (tmp_path / "out2").exists()
