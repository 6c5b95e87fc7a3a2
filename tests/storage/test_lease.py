"""Leases across machines, as seen through a file system that keeps an flock within one of them."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from scorer.errors import OutputError
from scorer.storage import OutputFolder, lease

LINE = {"pid": 7, "host": "elsewhere", "started": "2026-01-01T00:00:00+00:00", "boot": "another kernel", "token": "t"}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "EXPIRY_S", 0.6)
    monkeypatch.setattr(lease, "BEAT_S", 0.05)


def foreign(out: Path, name: str = "_lock", age: float = 0.0) -> Path:
    path = out / name
    path.write_text(json.dumps(LINE))
    then = time.time() - age
    os.utime(path, (then, then))
    return path


class Beating:
    """The heartbeat of a machine that lives."""

    def __init__(self, path: Path) -> None:
        self._path, self._ended = path, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._ended.wait(0.05):
            os.utime(self._path)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


@pytest.mark.parametrize("name", ["_lock", "_lock.1-of-2"])
def test_a_machine_that_lives_keeps_its_lease(tmp_path: Path, name: str) -> None:
    path = foreign(tmp_path, name)
    with Beating(path), pytest.raises(OutputError, match=r"another run \(pid 7 on elsewhere since"):
        OutputFolder.open(tmp_path)
    assert json.loads(path.read_text()) == LINE


def test_a_lost_machine_is_waited_for_and_said(tmp_path: Path) -> None:
    foreign(tmp_path)
    said: list[str] = []
    began = time.monotonic()
    with OutputFolder.open(tmp_path, say=said.append):
        assert time.monotonic() - began >= 0.6
    assert "waiting up to" in said[0] and "pid 7 on elsewhere" in said[0]


@pytest.mark.parametrize("age", [3600.0, -3600.0])
def test_a_heartbeat_long_past_is_not_waited_for_and_one_of_the_future_is(tmp_path: Path, age: float) -> None:
    foreign(tmp_path, age=age)
    began = time.monotonic()
    with OutputFolder.open(tmp_path):
        assert (time.monotonic() - began < 0.5) == (age > 0)


def test_a_run_of_this_machine_that_was_killed_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "_lock").write_text(json.dumps({**LINE, "boot": lease._boot()}))
    began = time.monotonic()
    with OutputFolder.open(tmp_path):
        assert time.monotonic() - began < 0.5


def test_the_heartbeat_moves_while_held_and_ends_with_it(tmp_path: Path) -> None:
    def beaten() -> int:
        return (tmp_path / "_lock").stat().st_mtime_ns

    with OutputFolder.open(tmp_path):
        first = beaten()
        deadline = time.monotonic() + 5
        while beaten() == first and time.monotonic() < deadline:
            time.sleep(0.01)
        assert beaten() > first
    assert (tmp_path / "_lock").read_bytes() == b""
    assert not [thread for thread in threading.enumerate() if thread.name == "lease"]


def test_who_lost_the_lease_writes_no_more(tmp_path: Path) -> None:
    with OutputFolder.open(tmp_path) as folder:
        folder.check()
        foreign(tmp_path, age=10)
        with pytest.raises(OutputError, match="took this output folder over"):
            folder.check()
        time.sleep(0.2)
        assert time.time() - (tmp_path / "_lock").stat().st_mtime > 5  # no heartbeat in the other's name
    assert json.loads((tmp_path / "_lock").read_text()) == LINE


def test_parts_see_parts_of_other_machines(tmp_path: Path) -> None:
    foreign(tmp_path, "_lock.1-of-2")
    foreign(tmp_path, "_lock.2-of-2", age=60)
    with OutputFolder.open(tmp_path, shared=True) as folder, folder.brief():
        assert folder.join((3, 3)) == ["1/2"]


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"boot": "x"}'])
def test_odd_lines_in_a_lock_do_no_harm(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "_lock").write_bytes(content)
    with OutputFolder.open(tmp_path), pytest.raises(OutputError, match="another run"):
        OutputFolder.open(tmp_path)
