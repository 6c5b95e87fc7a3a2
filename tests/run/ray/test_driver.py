"""The driver of ``--ray`` against a cluster that follows a script: no Ray, no process, no clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scorer.run import events
from scorer.run.events import event_line
from scorer.run.ray.driver import Driver
from scorer.run.ray.fleet import MOST_DEATHS, Fleet
from scorer.run.ray.messages import Died, Ended, Message, Refused, Wrote
from scorer.run.ray.slots import Demand, Node, RaySlot
from scorer.run.relay import Relay
from tests.run import test_row_scorer

ONE, TWO = Node("1", "one", 1, 0), Node("2", "two", 1, 0)
END = event_line(events.Ended(0, "", concluded=True))
Step = Callable[["Script"], list[Message]]


class Told(test_row_scorer.Told):
    """Keeps the pairs of each progress too."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[int] = []

    def progress(self, shard: str, rows: int, pairs: int, partial: float = 0.0) -> None:
        self.pairs.append(pairs)


@dataclass
class Script:
    """A cluster in which one thing happens after the other; a second passes with each."""

    alive: list[Node]
    steps: list[Step]
    begun: list[str] = field(default_factory=list)
    pending: list[RaySlot] = field(default_factory=list)
    slots: dict[str, RaySlot] = field(default_factory=dict)
    time: float = 0.0

    def nodes(self) -> list[Node]:
        return self.alive

    def start(self, slot: RaySlot) -> None:
        self.begun.append(slot.name)
        self.slots[slot.name] = slot

    def listen(self, wait_s: float) -> list[Message]:
        self.time += wait_s
        return self.steps.pop(0)(self) if self.steps else []

    def waiting(self) -> list[RaySlot]:
        return self.pending


def nothing(script: Script) -> list[Message]:
    return []


PAUSE: list[Step] = [nothing, nothing]
"""Before a worker is replaced."""


def writes(name: str, *said: events.Event) -> Step:
    return lambda script: [Wrote(script.slots[name], b"".join(map(event_line, said)))]


def ends(name: str, said: bytes = END, code: int = 0) -> Step:
    return lambda script: [Wrote(script.slots[name], said), Ended(script.slots[name], code)]


def dies(name: str, leaves: bool = False) -> Step:
    def step(script: Script) -> list[Message]:
        if leaves:
            script.alive = [node for node in script.alive if node.host != name]
        return [Died(script.slots[name], "its actor died")]

    return step


def joins(node: Node) -> Step:
    def step(script: Script) -> list[Message]:
        script.alive = [*script.alive, node]
        return []

    return step


def refused(name: str, why: str = "it has no bundle") -> Step:
    return lambda script: [Refused(script.slots[name], why)]


@pytest.fixture
def probe(tmp_path: Path) -> Path:
    path = tmp_path / "probe"
    path.touch()
    return path


def drive(script: Script, probe: Path) -> tuple[events.Ended | None, Told, Driver]:
    told, demand = Told(), Demand(0)
    driver = Driver(script, Fleet(demand), demand, Relay(told), probe, now=lambda: script.time)
    return driver.drive(), told, driver


def test_all_nodes_work_until_the_end_of_the_run(probe: Path) -> None:
    script = Script([ONE, TWO], [writes("one", events.Said("hello")), ends("two"), ends("one")])
    found, told, _ = drive(script, probe)
    assert found == events.Ended(0, "", concluded=True)
    assert script.begun == ["one", "two"] and not script.steps
    assert told.messages == ["ray: 2 workers on 2 nodes, each with all CPU cores of its node", "one: hello"]


def test_a_worker_that_dies_is_replaced(probe: Path) -> None:
    crash = ends("one", b"", -9)
    script = Script([ONE, TWO], [dies("one"), *PAUSE, crash, *PAUSE, ends("one"), ends("two")])
    found, told, _ = drive(script, probe)
    assert found is not None and script.begun == ["one", "two", "one", "one"]
    assert told.messages[1:] == [
        "one: its actor died; it is replaced if its node is there",
        "one: its process ended with SIGKILL; it is replaced if its node is there",
    ]


def test_a_worker_that_always_dies_is_given_up_and_the_others_go_on(probe: Path) -> None:
    script = Script([ONE, TWO], [*([dies("one"), *PAUSE] * MOST_DEATHS), ends("two")])
    found, told, _ = drive(script, probe)
    assert found is not None and script.begun.count("one") == MOST_DEATHS
    assert told.messages[-1] == "one: its actor died; it is given up"


def test_a_worker_that_scores_between_its_deaths_is_replaced_each_time(probe: Path) -> None:
    life = [writes("one", events.Progress("a", 1, 1)), dies("one"), *PAUSE]
    script = Script([ONE], [*(life * (MOST_DEATHS + 2)), ends("one")])
    found, _, _ = drive(script, probe)
    assert found is not None and script.begun.count("one") == MOST_DEATHS + 3


def test_without_any_worker_left_the_run_ends_with_the_reason(probe: Path) -> None:
    script = Script([ONE], [dies("one"), *PAUSE] * MOST_DEATHS)
    found, _, driver = drive(script, probe)
    assert found is None and driver.why == "one: its actor died"


def test_an_error_that_would_come_again_is_not_tried_again(probe: Path) -> None:
    error = event_line(events.Ended(2, "another plan", concluded=False))
    script = Script([ONE, TWO], [refused("one"), ends("two", error, 2)])
    found, told, driver = drive(script, probe)
    assert found is None and script.begun == ["one", "two"] and driver.why == "two: another plan"
    assert told.messages[1:] == [
        "one: it has no bundle; the other workers go on",
        "two: another plan; the other workers go on",
    ]


def test_a_check_whose_probe_was_removed_is_made_again(probe: Path) -> None:
    def removed(script: Script) -> list[Message]:
        probe.unlink()
        return refused("one", "it is another folder")(script)

    script = Script([ONE], [removed, ends("one")])
    found, told, _ = drive(script, probe)
    assert found is not None and script.begun == ["one", "one"] and len(told.messages) == 1


def test_nodes_that_join_get_work_and_nodes_that_leave_are_not_waited_for(probe: Path) -> None:
    script = Script([ONE], [joins(TWO), nothing, dies("one", leaves=True), *[nothing] * 5, ends("two")])
    found, told, _ = drive(script, probe)
    assert found is not None and script.begun == ["one", "two"]
    assert told.messages[1] == "ray: 1 worker on 1 node joined"


def test_when_all_nodes_have_left_a_new_one_is_waited_for(probe: Path) -> None:
    script = Script([ONE], [dies("one", leaves=True), *[nothing] * 200, joins(TWO), nothing, ends("two")])
    assert drive(script, probe)[0] is not None
    script = Script([ONE], [dies("one", leaves=True)])
    found, _, driver = drive(script, probe)
    assert found is None and driver.why == "for 300 s no node has had a CPU core to give out"
    assert 300 < script.time < 310


def test_workers_that_have_not_begun_are_not_waited_for_at_the_end(probe: Path) -> None:
    def waits(script: Script) -> list[Message]:
        script.pending = [script.slots["two"]]
        return []

    script = Script([ONE, TWO], [waits, *[nothing] * 40, ends("one")])
    found, told, _ = drive(script, probe)
    assert found is not None and not script.steps
    assert told.messages[1].startswith("workers wait for a CPU core that others use: 1 (two)")


def test_a_worker_that_never_sees_the_end_is_not_waited_for(probe: Path) -> None:
    script = Script([ONE, TWO], [ends("one")])
    found, _, _ = drive(script, probe)
    assert found is not None and 30 < script.time < 40


def test_pairs_of_all_workers_are_added_up(probe: Path) -> None:
    def progress(name: str, pairs: int) -> Step:
        return writes(name, events.Progress("a", 1, pairs))

    steps = [progress("one", 5), progress("two", 7), dies("one"), *PAUSE, progress("one", 2), ends("one")]
    script = Script([ONE, TWO], [*steps, ends("two")])
    _, told, _ = drive(script, probe)
    assert told.pairs == [5, 12, 14]


def test_an_event_that_comes_in_two_pieces_is_read_once(probe: Path) -> None:
    def piece(content: bytes) -> Step:
        return lambda script: [Wrote(script.slots["one"], content)]

    script = Script([ONE], [piece(END[:9]), piece(END[9:]), lambda script: [Ended(script.slots["one"], 0)]])
    assert drive(script, probe)[0] is not None
