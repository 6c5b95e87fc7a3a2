"""Where a run finds itself: no network, odd locales and paths, clocks that were set, a read-only input."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import threading
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.faults import harness
from tests.faults.harness import Trial, assert_same, bytes_of, execute, finish, launch, run
from tests.faults.test_full_disk import NAMESPACE, needs_namespace
from tests.processes import wait_until

pytestmark = pytest.mark.usefixtures("inline_runs")


def test_no_network_is_asked_for(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    def blocked(*_: Any, **__: Any) -> Any:
        raise AssertionError("a connection was tried")

    for name in ("connect", "connect_ex", "bind"):
        monkeypatch.setattr(socket.socket, name, blocked)
    monkeypatch.setattr(socket, "getaddrinfo", blocked)
    trial.resume()


ODD = "déjà vu  ☃ 日本 'q\" $HOME %s {x}"


def test_paths_with_blanks_and_unicode_under_locale_c(tmp_path: Path, bundle: Path) -> None:
    base = tmp_path / ODD
    made = Path(shutil.copytree(bundle, base / f"bundle {ODD}"))
    data = base / "in"
    for name in (f"{ODD}.parquet", f"{ODD}/a b.parquet", "x\n.parquet"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(harness.rows(30), data / name)
    run(data, base / "whole", made)
    finish(launch(data, base / "out", made, env={"LC_ALL": "C", "LANG": "C"}))
    assert_same(base / "out", base / "whole")
    assert len(harness.outputs(base / "out")) == 3


def test_names_that_are_not_utf8(tmp_path: Path, bundle: Path) -> None:
    base = tmp_path / os.fsdecode(b"b\xe9")
    data = base / os.fsdecode(b"\xff")
    data.mkdir(parents=True)
    for name in (os.fsdecode(b"caf\xe9.parquet"), "a:b.parquet", "file:c.parquet"):
        with (data / "plain").open("wb") as file:
            pq.write_table(harness.rows(30), file)
        (data / "plain").rename(data / name)
    run(data, base / "out", bundle)
    before = bytes_of(base / "out")
    assert len(before) == 3
    run(data, base / "out", bundle)
    assert harness.summary(base / "out")["shards"]["skipped"] == 3
    assert bytes_of(base / "out") == before
    made = Path(shutil.copytree(bundle, base / "bundle"))
    assert "opens only paths in UTF-8" in run(data, base / "out2", made, code=2)


def test_a_read_only_input(trial: Trial) -> None:
    needs_namespace()
    script = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && "$@"'
    execute([*NAMESPACE, "sh", "-c", script, "sh", str(trial.data), *trial.command()])
    trial.check()


def descriptors() -> list[str]:
    found = []
    for path in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(path.readlink()))
        except OSError:
            continue
    return sorted(name for name in found if not name.startswith("/proc"))


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_run_leaves_nothing_behind(tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, temporary, others = harness.make_data(tmp_path / "in", shards=12, n=10), tmp_path / "tmp", children()
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    run(data, tmp_path / "warm", bundle)
    gc.collect()
    before, threads = descriptors(), set(threading.enumerate())
    tasks = len(os.listdir("/proc/self/task"))  # noqa: PTH208
    for i in range(2):
        run(data, tmp_path / f"out{i}", bundle)
        gc.collect()
        assert descriptors() == before
        assert set(threading.enumerate()) <= threads  # one of an earlier test may end meanwhile
        wait_until(lambda: len(os.listdir("/proc/self/task")) <= tasks, "threads are left")  # noqa: PTH208
        assert not list(temporary.iterdir())
        assert not list((tmp_path / f"out{i}").rglob(".*"))
    assert children() <= others


SHIFTS = ["-400d", pytest.param("+400d", marks=pytest.mark.slow)]
faked = pytest.mark.skipif(shutil.which("faketime") is None, reason="faketime is not installed (apt-get install it)")


@faked
@pytest.mark.parametrize("shift", SHIFTS)
def test_a_run_whose_clock_was_set_resumes(trial: Trial, shift: str) -> None:
    trial.crash("run.synced")
    receipts = {path: path.read_bytes() for path in trial.receipts}
    execute(["faketime", "-f", shift, *trial.command()])
    trial.check()
    assert {path: path.read_bytes() for path in trial.receipts} == receipts
    assert trial.skipped == len(receipts)
