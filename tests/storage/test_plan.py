"""The hold on an output folder: whose it is, the lease, the order of its markers, what is stale."""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import OutputError, SchemaError, UsageError
from scorer.storage import Receipts, RunOutput, SeenOutput, WrittenFile, inspect_output, lease
from scorer.storage.durable import open_temporary, temporary_name, token_of
from scorer.storage.finished import planned_inputs
from tests.plans import made_plan
from tests.processes import LIMIT_S, finish, start, wait_gone
from tests.storage.receipts import receipt
from tests.storage.tables import rows_table, write


def plan(*inputs: str, **more: object) -> bytes:
    return made_plan(inputs=inputs, settings=more).content


def done(out: Path, name: str) -> None:
    """Make a shard look done."""
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_bytes(b"x")
    Receipts(out).write(receipt(name))


def peek(out: Path) -> Any:
    """The inputs of a plan."""
    content = SeenOutput(out).read("_plan.json")
    return planned_inputs(content, "_plan.json") if content is not None else None


def tree(out: Path) -> list[str]:
    return sorted(str(path.relative_to(out)) for path in out.rglob("*"))


def test_looking_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "a/b/out"
    assert inspect_output(out) == "absent"
    assert tree(tmp_path) == []
    out.mkdir(parents=True)
    assert inspect_output(out) == "empty"
    with RunOutput.open(out) as folder:
        assert tree(out) == ["_lock"]
        assert inspect_output(out) == "empty"
        folder.write_plan(plan())
    assert inspect_output(out) == "ours"


@pytest.mark.parametrize(
    ("name", "says"),
    [("notes.txt", "holds 'notes.txt'"), ("_plan.json/", "holds '_plan.json'"), ("_SUCCESS", "holds '_SUCCESS'")],
)
def test_what_is_not_ours_is_refused(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).write_bytes(b"")
    for attempt in (inspect_output, RunOutput.open):
        with pytest.raises(OutputError, match=f"is not an output folder .*{says}.*choose a new or empty folder"):
            attempt(tmp_path)
    assert tree(tmp_path) == [name.rstrip("/")]


def test_files_and_broken_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("nowhere")
    for name, says in (("file", "is a file"), ("link", "leads nowhere"), ("file/out", "file is a file")):
        with pytest.raises(OutputError, match=says):
            inspect_output(tmp_path / name)


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="cannot be written by this user"):
        inspect_output(tmp_path)
    with pytest.raises(OutputError, match=r"cannot be created: .* cannot be written"):
        inspect_output(tmp_path / "new")


def test_a_folder_is_made_only_when_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="does not exist"):
        RunOutput.open(tmp_path / "new")
    assert tree(tmp_path) == []
    with RunOutput.open(tmp_path / "new/er", create=True):
        assert (tmp_path / "new/er").is_dir()


def test_a_second_holder_is_told_who_holds(tmp_path: Path) -> None:
    with RunOutput.open(tmp_path):
        says = rf"is held by another run \(pid {os.getpid()} on .+ since .+\); wait"
        with pytest.raises(OutputError, match=says):
            RunOutput.open(tmp_path)
    with RunOutput.open(tmp_path):
        pass


HOLD = """
import signal, sys
from pathlib import Path
from scorer.storage import RunOutput, ShardReader
with RunOutput.open(Path(sys.argv[1]), create=True), ShardReader() as reader:
    reader.probe(sys.argv[2])
    print(reader._child.pid, flush=True)
    signal.pause()
"""


def test_the_lease_is_free_the_moment_its_holder_is_killed(tmp_path: Path) -> None:
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
        finally:
            holder.kill()
        holder.wait()
        with RunOutput.open(out):
            pass
        wait_gone(child)


RACE = """
import sys, time
from pathlib import Path
from scorer.errors import OutputError
from scorer.storage import RunOutput
print("ready", flush=True)
go, end = Path(sys.argv[2]), Path(sys.argv[3])
while not go.exists():
    pass
try:
    with RunOutput.open(Path(sys.argv[1]), create=True):
        print("held", flush=True)
        while not end.exists():
            time.sleep(0.01)
except OutputError:
    print("refused", flush=True)
"""


def test_of_runs_that_race_for_a_folder_one_gets_it(tmp_path: Path) -> None:
    go, end = tmp_path / "go", tmp_path / "end"
    racers = [start(RACE, str(tmp_path / "out"), str(go), str(end)) for _ in range(4)]
    outputs = [racer.stdout for racer in racers if racer.stdout is not None]
    assert [output.readline().strip() for output in outputs] == ["ready"] * 4
    go.touch()
    assert sorted(output.readline().strip() for output in outputs) == ["held", "refused", "refused", "refused"]
    end.touch()
    for racer in racers:
        assert racer.communicate(timeout=LIMIT_S) == ("", "")


def test_a_lock_that_is_replaced_meanwhile_is_not_a_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = lease.fcntl.flock, []

    def replaced(lock: int, how: int) -> None:
        if not calls:
            (tmp_path / "_lock").unlink()
        calls.append(lock)
        real(lock, how)

    monkeypatch.setattr(lease.fcntl, "flock", replaced)
    with RunOutput.open(tmp_path) as folder:
        assert len(calls) == 2
        assert os.path.samestat(os.fstat(folder._lease._lock), (tmp_path / "_lock").stat())


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lease.fcntl, "flock", refuse)
    with pytest.raises(OutputError, match=r"cannot lock .*No locks available"):
        RunOutput.open(tmp_path)


def test_plans_come_back_and_take_success_away(tmp_path: Path) -> None:
    with RunOutput.open(tmp_path) as folder:
        assert folder.read("_plan.json") is None and peek(tmp_path / "none") is None
        folder.write_plan(plan("a", seed=1))
        done(tmp_path, "a")
        folder.write_run(b"{}")
        folder.write_success()
        assert folder.is_finished
        assert folder.read("_plan.json") == plan("a", seed=1) and list(peek(tmp_path)) == ["a"]
        folder.write_plan(plan("a", seed=1))
        assert not folder.is_finished
        folder.reopen()
    assert tree(tmp_path) == ["_lock", "_plan.json", "_receipts", "_receipts/a.json", "a"]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"schema": "1"}', "\xff", "[" * 100_000])
def test_a_damaged_plan_is_none_and_still_ours(tmp_path: Path, content: str) -> None:
    (tmp_path / "_plan.json").write_text(content, "latin-1")
    assert inspect_output(tmp_path) == "ours"
    assert peek(tmp_path) is None


def test_a_plan_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "_plan.json").write_text('{"schema": 2}')
    with pytest.raises(SchemaError, match="has schema 2, and this version of d2t-scorer reads schema 1"):
        peek(tmp_path)


def test_outputs_whose_input_is_gone_are_removed(tmp_path: Path) -> None:
    with RunOutput.open(tmp_path) as folder:
        folder.write_plan(plan("keep.parquet", "2026/planned.parquet", "never.parquet"))
        for name in ("keep.parquet", "2026/gone.parquet", "2026/01/gone.parquet"):
            done(tmp_path, name)
        (tmp_path / "2026/planned.parquet").write_bytes(b"renamed, but killed before its receipt")
        Receipts(tmp_path).write_failed("bad.parquet", "crashed", "m", None)
        Receipts(tmp_path).write_failed("keep.parquet", "crashed", "m", None)
        folder.write_success()
        (tmp_path / "notes.txt").write_bytes(b"somebody's")
        removed = folder.remove_stale(["keep.parquet"])
        assert removed == ["2026/01/gone.parquet", "2026/gone.parquet", "2026/planned.parquet", "bad.parquet"]
        assert not folder.is_finished
        assert folder.remove_stale(["keep.parquet"]) == []
    kept = ["keep.parquet", "notes.txt", "_receipts/keep.parquet.json", "_failed/keep.parquet.json"]
    assert tree(tmp_path) == sorted([*kept, "_receipts", "_failed", "_lock", "_plan.json"])


def test_nothing_stale_leaves_success(tmp_path: Path) -> None:
    with RunOutput.open(tmp_path) as folder:
        folder.write_plan(plan("a.parquet"))
        done(tmp_path, "a.parquet")
        folder.write_success()
        assert folder.remove_stale({"a.parquet"}) == []
        assert folder.is_finished


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


STALE = """
import sys
from pathlib import Path
from scorer.storage import RunOutput
with RunOutput.open(Path(sys.argv[1])) as folder:
    folder.remove_stale([])
"""


def test_killed_while_removing_what_is_stale(tmp_path: Path) -> None:
    with RunOutput.open(tmp_path) as folder:
        folder.write_plan(plan("a.parquet"))
        done(tmp_path, "a.parquet")
        folder.write_success()
    status, _, errors = finish(STALE, str(tmp_path), D2T_SCORER_CRASH_AT="stale.receipt_removed")
    assert (status, errors) == (97, "")
    assert tree(tmp_path) == ["_lock", "_plan.json", "_receipts", "a.parquet"]  # no receipt, no _SUCCESS
    assert finish(STALE, str(tmp_path))[0] == 0
    assert tree(tmp_path) == ["_lock", "_plan.json"]


PLAN = """
import sys
from pathlib import Path
from scorer.storage import RunOutput
with RunOutput.open(Path(sys.argv[1])) as folder:
    folder.write_plan(b"2")
"""


@pytest.mark.parametrize(
    ("point", "seed"), [("plan.success_removed", 1), ("plan.synced", 1), ("plan.renamed", 2), ("plan.published", 2)]
)
def test_killed_while_replacing_the_plan(tmp_path: Path, point: str, seed: int) -> None:
    with RunOutput.open(tmp_path) as folder:
        folder.write_plan(b"1")
        folder.write_success()
    assert finish(PLAN, str(tmp_path), D2T_SCORER_CRASH_AT=point)[0] == 97
    assert (tmp_path / "_plan.json").read_text() == str(seed)
    assert not (tmp_path / "_SUCCESS").exists()
    with RunOutput.open(tmp_path) as folder:
        folder.sweep_temporary()
    assert tree(tmp_path) == ["_lock", "_plan.json"]


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


def test_success_counts_only_while_it_agrees_with_plan_and_receipts(tmp_path: Path) -> None:
    with RunOutput.open(tmp_path) as folder:
        folder.write_plan(plan("a", "b"))
        done(tmp_path, "a")
        done(tmp_path, "b")
        folder.write_success()
        assert folder.is_finished
        Receipts(tmp_path).write(receipt("b", output=WrittenFile("f" * 64, 1, 3)))
        assert not folder.is_finished
        done(tmp_path, "b")
        assert folder.is_finished
        folder.receipts.remove("a")
        assert not folder.is_finished


def test_the_token_is_in_the_lock_and_in_the_names_of_temporary_files(tmp_path: Path) -> None:
    with RunOutput.open(tmp_path) as folder:
        assert json.loads((tmp_path / "_lock").read_text())["token"] == folder.token
        temporary, file = open_temporary(tmp_path / "a", folder.holder)
        file.close()
        assert token_of(temporary.name) == folder.token
    with RunOutput.open(tmp_path) as another:
        assert another.token != folder.token


def test_hidden_names_are_left_alone(tmp_path: Path) -> None:
    """What file managers and archives leave behind: ``._a.json`` is no receipt, ``.DS_Store`` makes no folder ours."""
    (tmp_path / ".DS_Store").write_bytes(b"")
    (tmp_path / "._a.parquet").write_bytes(b"")
    assert inspect_output(tmp_path) == "empty"
    with RunOutput.open(tmp_path) as folder:
        folder.write_plan(plan("a.parquet"))
        done(tmp_path, "a.parquet")
        folder.receipts.write_failed("b.parquet", "k", "m", None)
        for name in ("_receipts/._a.parquet.json", "_receipts/.DS_Store", "_receipts/.x/b.json", "_failed/._b.json"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(b"\0")
        assert list(folder.receipts.all()) == ["a.parquet"]
        assert list(folder.receipts.failed()) == ["b.parquet"]
        assert folder.remove_stale(["a.parquet"]) == ["b.parquet"]


def test_a_receipt_or_plan_that_is_no_regular_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "_receipts").mkdir()
    os.mkfifo(tmp_path / "_receipts/a.parquet.json")
    assert Receipts(tmp_path).read("a.parquet") is None
    (tmp_path / "_plan.json").mkdir()
    assert peek(tmp_path) is None


def test_a_uri_is_no_output_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given in ("s3://bucket/x", "file:///x"):
        with pytest.raises(UsageError, match="is a URI"):
            inspect_output(Path(given))
    assert tree(tmp_path) == []
