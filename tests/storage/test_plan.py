"""The hold on an output: whose it is, the order of its markers, what is stale. What is said of both kinds of store
runs in both; the others are about links, locks, permissions, processes or temporary files, which only a folder has."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import OutputError
from scorer.storage import Receipts, RunOutput, SeenOutput, WrittenFile, inspect_output
from scorer.storage.durable import open_temporary, temporary_name
from scorer.storage.finished import planned_inputs
from scorer.storage.location import Location
from scorer.storage.store_old import ABSENT, ANY
from tests.plans import made_plan
from tests.processes import LIMIT_S, start, wait_gone
from tests.storage.backends import files, put
from tests.storage.receipts import fingerprint, finish_output, receipt
from tests.storage.tables import rows_table, write


def plan(*inputs: str, **more: object) -> bytes:
    return made_plan(inputs=inputs, settings=more).content


def done(held: RunOutput, name: str, **more: Any) -> None:
    """Make a shard look done."""
    put(held.path, name, b"x")
    held.receipts.write(receipt(name, **more))
    held.receipts.forget()


def peek(out: Location) -> Any:
    """The inputs of a plan."""
    content = SeenOutput(out).read("_plan.json")
    return planned_inputs(content, "_plan.json") if content is not None else None


def tree(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*"))


def test_a_write_says_what_it_expects_to_replace(target: Location) -> None:
    with RunOutput.open(target, create=True) as held:
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


def test_what_cannot_be_an_output_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("nowhere")
    for name, says in (("file", "is a file"), ("link", "leads nowhere"), ("file/out", "file is a file")):
        with pytest.raises(OutputError, match=says):
            inspect_output(tmp_path / name)
    monkeypatch.setattr(os, "access", lambda *_: False)
    for path in (tmp_path, tmp_path / "new"):
        with pytest.raises(OutputError, match="written"):
            inspect_output(path)


HOLD = """
import signal, sys
from pathlib import Path
from scorer.storage import RunOutput, ShardReader
with RunOutput.open(Path(sys.argv[1]), create=True), ShardReader() as reader:
    windows = reader.windows(sys.argv[2], max_rows=1, max_bytes=1000)
    next(windows)
    print(reader._child.pid, flush=True)
    signal.pause()
"""


def test_a_holder_that_is_killed_leaves_neither_its_lease_nor_a_reader(tmp_path: Path) -> None:
    out, shard = tmp_path / "out", write(tmp_path / "a.parquet", rows_table(3))
    with start(HOLD, str(out), shard) as holder:
        try:
            assert holder.stdout is not None
            child = int(holder.stdout.readline())
            with pytest.raises(OutputError, match=f"pid {holder.pid} "):
                RunOutput.open(out)
            # A reader that lives on for a moment must not hold what its parent held.
            for path in Path(f"/proc/{child}/fd").iterdir():
                with suppress(FileNotFoundError):  # closed since it was listed
                    assert "_lock" not in str(path.readlink())
            os.kill(child, signal.SIGSTOP)
        finally:
            holder.kill()
        holder.wait()
        with RunOutput.open(out):
            pass
        wait_gone(child)


def test_outputs_whose_input_is_gone_are_removed(target: Location) -> None:
    with RunOutput.open(target, create=True) as held:
        held.write_plan(plan("keep.parquet", "2026/planned.parquet", "never.parquet"))
        for name in ("keep.parquet", "2026/gone.parquet", "2026/01/gone.parquet"):
            done(held, name)
        put(target, "2026/planned.parquet", b"renamed, but killed before its receipt")
        held.receipts.write_failed("bad.parquet", "crashed", "m", None)
        held.receipts.write_failed("keep.parquet", "crashed", "m", None)
        held.receipts.forget()
        finish_output(held)
        put(target, "notes.txt", b"somebody's")
        removed = held.remove_stale(["keep.parquet"])
        assert removed == ["2026/01/gone.parquet", "2026/gone.parquet", "2026/planned.parquet", "bad.parquet"]
        assert not held.is_finished and held.remove_stale(["keep.parquet"]) == []
    kept = ["keep.parquet", "notes.txt", "_receipts/keep.parquet.json", "_failed/keep.parquet.json", "_plan.json"]
    assert sorted(files(target)) == sorted(kept)
    if isinstance(target, Path):
        assert not (target / "2026").exists()


@pytest.mark.parametrize("name", ["../precious", "/{precious}", "linked/precious", "_lock", ".git/x"])
def test_a_plan_cannot_have_other_files_removed(tmp_path: Path, name: str) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"")
    out = tmp_path / "out"
    with RunOutput.open(out, create=True) as folder:
        (out / "linked").symlink_to(tmp_path)
        folder.write_plan(plan(name.format(precious=precious)))
        assert folder.remove_stale([]) == []
        assert (out / "_lock").exists()
    assert precious.exists()


def test_temporary_files_of_dead_runs_are_swept(tmp_path: Path) -> None:
    ours = ["a/" + temporary_name("0" * 16), "a/b/" + temporary_name()]
    others = [temporary_name(), "a/.d2t-mine.tmp", "a/.d2t-0123456789abcdef-x.tmp"]
    with RunOutput.open(tmp_path / "a", create=True) as folder:
        folder.write_plan(plan())
        (tmp_path / "a/b").mkdir()
        for name in ours + others:
            (tmp_path / name).write_bytes(b"half")
        assert sorted(folder.sweep_temporary()) == sorted(name.removeprefix("a/") for name in ours)
    assert all((tmp_path / name).exists() for name in others)


def test_temporary_files_of_a_live_part_are_kept(tmp_path: Path) -> None:
    with RunOutput.open(tmp_path, part=(1, 2)) as one, RunOutput.open(tmp_path, part=(2, 2)) as other:
        live, file = open_temporary(tmp_path / "a.parquet", one.holder)
        file.close()
        dead, mine = (tmp_path / temporary_name(token) for token in ("0" * 16, other.token))
        for path in (dead, mine):
            path.write_bytes(b"half")
        assert sorted(other.sweep_temporary()) == sorted([dead.name, mine.name])
        assert live.exists()
    with RunOutput.open(tmp_path) as folder:
        assert folder.sweep_temporary() == [live.name]


def test_success_counts_only_while_it_agrees_with_plan_and_receipts(target: Location) -> None:
    with RunOutput.open(target, create=True) as held:
        assert held.create_plan(plan("a", "b")) and not held.create_plan(b"another")
        done(held, "a")
        done(held, "b")
        held.write_run(b"{}")
        finish_output(held)
        assert SeenOutput(target).is_finished
        held.write_plan(plan("a", "b"))
        assert SeenOutput(target).why_unfinished() == "it has no _SUCCESS" and "_run.json" not in files(target)
        finish_output(held)
        done(held, "b", output=WrittenFile("f" * 64, 1, 3))
        assert not SeenOutput(target).is_finished
        done(held, "b")
        assert SeenOutput(target).is_finished
        held.store.put("_receipts/a.json", b"{", ANY)
        assert SeenOutput(target).why_unfinished() == "a: its receipt is damaged: Input data was truncated"
        done(held, "a", wanted=fingerprint("another"))
        held.receipts.remove("a")
        assert not SeenOutput(target).is_finished
        held.set_aside("b")
        assert SeenOutput(target).why_unfinished() == "it has no _SUCCESS" and held.receipts.read("b") is None


def test_hidden_names_are_left_alone(target: Location) -> None:
    """What file managers and archives leave behind: ``._a.json`` is no receipt, ``.DS_Store`` makes no folder ours."""
    put(target, ".DS_Store", b"")
    put(target, "._a.parquet", b"")
    assert inspect_output(target) == "empty"
    with RunOutput.open(target) as held:
        held.write_plan(plan("a.parquet"))
        done(held, "a.parquet")
        held.receipts.write_failed("b.parquet", "k", "m", None)
        for name in ("_receipts/._a.parquet.json", "_receipts/.DS_Store", "_receipts/.x/b.json", "_failed/._b.json"):
            put(target, name, b"\0")
        held.receipts.forget()
        assert list(held.receipts.all()) == ["a.parquet"]
        assert list(held.receipts.failed()) == ["b.parquet"]
        assert held.remove_stale(["a.parquet"]) == ["b.parquet"]


def test_a_receipt_or_plan_that_is_no_regular_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "_receipts").mkdir()
    os.mkfifo(tmp_path / "_receipts/a.parquet.json")
    (tmp_path / "_plan.json").mkdir()
    assert Receipts(tmp_path).read("a.parquet") is None and peek(tmp_path) is None


def test_of_runs_that_race_for_a_folder_one_gets_it(tmp_path: Path) -> None:
    together = threading.Barrier(4, timeout=LIMIT_S)

    def attempt(_: int) -> RunOutput | None:
        together.wait()
        with suppress(OutputError):
            return RunOutput.open(tmp_path / "out", create=True)
        return None

    with ThreadPoolExecutor(4) as racers:
        (held,) = filter(None, racers.map(attempt, range(4)))
    held.close()
