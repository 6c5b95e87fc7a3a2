"""What holds for an output wherever it is: the Store protocol, the plan, the marker, receipts, the lease's line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from scorer.errors import OutputError
from scorer.run.status import status_of
from scorer.storage import RunOutput, SeenOutput, inspect_output, lease
from scorer.storage.lock_files import Worker
from scorer.storage.objects import lease as store_lease
from scorer.storage.objects.uri import Location
from scorer.storage.store import ABSENT, ANY
from tests.plans import made_plan
from tests.storage.backends import BACKENDS, place
from tests.storage.receipts import fingerprint, receipt


@pytest.fixture(params=BACKENDS)
def out(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    return place(request.param, tmp_path, monkeypatch)


def test_a_write_says_what_it_expects_to_replace(out: Location) -> None:
    with RunOutput.open(out, create=True) as held:
        store = held.store
        first = store.put("deep/a.json", b"1", ABSENT)
        assert first and store.put("deep/a.json", b"2", ABSENT) is None
        second = store.put("deep/a.json", b"22", first)
        assert second and store.put("deep/a.json", b"3", first) is None
        assert store.read("deep/a.json") == (b"22", second)
        assert store.put("deep/a.json", b"333", ANY)
        seen = store.look("deep/a.json")
        assert seen is not None and seen.size == 3 and list(store.list("deep")) == ["deep/a.json"]
        store.delete(["deep/a.json", "none"])
        assert store.read("deep/a.json") is None and store.look("deep/a.json") is None and not store.list("deep")


def test_plan_receipts_notes_and_marker(out: Location) -> None:
    assert inspect_output(out) == "absent"
    with RunOutput.open(out, create=True) as held:
        assert held.create_plan(made_plan(inputs=["a"]).content) and not held.create_plan(b"another")
        held.receipts.refresh()
        held.receipts.write_failed("a", "crashed", "why", None)
        assert list(held.receipts.failed()) == ["a"]
        held.receipts.write(receipt("a"))
        held.receipts.clear_failed("a")
        assert held.receipts.read("a") == receipt("a")
        held.write_success()
        held.receipts.forget()
        assert SeenOutput(out).is_finished and held.receipts.failed_names() == []
        held.set_aside("a")
        assert SeenOutput(out).why_unfinished() == "it has no _SUCCESS"
        held.receipts.write(receipt("a", fingerprint("another")))
        held.write_success()
        held.store.put("_receipts/a.json", b"{", ANY)
        assert SeenOutput(out).why_unfinished() == "a: its receipt is damaged: Input data was truncated"
    assert inspect_output(out) == "ours"


def test_a_second_run_is_refused_and_parts_go_together(out: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (lease, store_lease):
        monkeypatch.setattr(module, "BEAT_S", 0.02)
        monkeypatch.setattr(module, "EXPIRY_S", 2.0)
    with RunOutput.open(out, create=True, part=(1, 2)), RunOutput.open(out, part=(2, 2)) as other:
        assert list(other.others()) == ["_lock.1-of-2"]
        with pytest.raises(OutputError, match=r"is held by part 1/2 \(pid |is held by part 2/2 \(pid "):
            RunOutput.open(out)
    with RunOutput.open(out) as held:
        assert held.others() == {}


def test_the_status_names_workers_their_shards_and_why_some_died(
    out: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (lease, store_lease):
        monkeypatch.setattr(module, "BEAT_S", 0.02)
    with RunOutput.open(out, create=True) as held:
        held.write_plan(made_plan(inputs=["a", "b", "c"]).content)
        held.show([Worker("cuda:0", "cuda L4", ("a", "b")), Worker("cuda:1", "cuda L4")], ["cuda:1: SIGKILL"])
        deadline = time.monotonic() + 20
        while not (status := status_of(out)).held and time.monotonic() < deadline:
            time.sleep(0.02)
        assert (status.done, status.held, status.waiting) == (0, 2, 1)
        (holder,) = status.holders
        assert [(one.name, one.device, one.shards) for one in holder.workers] == [
            ("cuda:0", "cuda L4", ("a", "b")),
            ("cuda:1", "cuda L4", ()),
        ]
        assert holder.died == ("cuda:1: SIGKILL",)
        held.show([Worker("x" * 5000, "é" * 5000, ("ü" * 5000,))] * 3000)
        while status_of(out).holders[0].running != 3000 and time.monotonic() < deadline:
            time.sleep(0.02)
        held.check()
    assert status_of(out).holders == ()
