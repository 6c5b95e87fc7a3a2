"""The output folder, in a folder and in a bucket: records, ends, links, names and locks. What is scored again and what
is refused is in :mod:`.test_output_decisions`, any order of runs in :mod:`.test_output_machine`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from scorer.errors import OutputError
from scorer.storage.local_files import temporary_name
from scorer.storage.location import Location
from scorer.storage.output_folder import OutputFolder
from scorer.storage.output_writer import LockedOutput, OutputWriter, Totals, lock_output
from scorer.storage.receipts import FailedShard, Identity, WrittenFile
from scorer.storage.run_plan import shards_digest
from scorer.storage.store import open_store
from scorer.system.codec import encode, seal
from tests.processes import LIMIT_S
from tests.storage.backends import files, put
from tests.storage.records import make_plan, make_receipt, make_shard, run

A, B, C = make_shard("a.parquet"), make_shard("2026/b.parquet", rows=5), make_shard("2026/01/c.parquet")
ALL = [A, B, C]
RECEIPT = "_receipts/2026/b.parquet.json"
NONE = "it has no receipt"


def test_outputs_whose_input_is_gone_are_kept(target: Location) -> None:
    run(target, ALL)
    run(target, [A, B, replace(C, identity=Identity(10, 0, "cd"))], bad=[C.relative])
    run(target, [A], allow_stale=True)
    assert {B.relative, RECEIPT, C.relative, "_failed/2026/01/c.parquet.json", "_SUCCESS"} <= files(target).keys()
    with lock_output(target) as output:
        writer = output.begin(output.compare(make_plan([A]), [A], None))
        assert writer.totals([A]).stale == [C.relative, B.relative]


def test_a_quarantined_shard_has_a_record_and_no_receipt(target: Location) -> None:
    run(target, ALL)
    broken = [A, replace(B, identity=Identity(10, 0, "cd")), C]
    run(target, broken, bad=[B.relative])
    assert RECEIPT not in files(target) and OutputFolder(target).why_unfinished() == "it has no _SUCCESS"
    record = OutputFolder(target).failed_shards()[B.relative]
    assert (record.kind, record.message, record.identity) == ("unreadable", "it is bad", broken[1].identity)
    put(target, "_failed/2026/b.parquet.json", b"{")
    assert OutputFolder(target).failed_shards() == {B.relative: FailedShard(relative=B.relative, created="")}


def test_success_counts_only_while_it_agrees(target: Location) -> None:
    run(target, ALL)
    put(target, "_SUCCESS", b"x")
    assert OutputFolder(target).why_unfinished() == "its _SUCCESS does not agree with its receipts"
    run(target, ALL)
    with lock_output(target):
        plan = make_plan(ALL)
        receipt = make_receipt(A, plan, output=WrittenFile("f" * 64, 1, 3))
        open_store(target).write("_receipts/a.parquet.json", seal(receipt))
    assert OutputFolder(target).why_unfinished() == "its _SUCCESS does not agree with its receipts"
    put(target, "_plan.json", b"{")
    assert OutputFolder(target).why_unfinished() == "its _plan.json is damaged"
    assert run(target, ALL) == {A.relative: "its output is damaged"}, "a damaged plan is written again"


def test_a_run_that_did_not_begin_leaves_no_folder(tmp_path: Path) -> None:
    with lock_output(tmp_path / "deep/out"):
        assert (tmp_path / "deep/out/_lock").exists()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out").mkdir()
    with lock_output(tmp_path / "out"):
        pass
    assert (tmp_path / "out").exists()


def test_what_cannot_be_an_output_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to("nowhere")
    for name, why in (
        ("", "is not an output folder of this program.*but holds 'file' and 1 more"),
        *((name, "; a file, folder or link stands there") for name in ("file", "link", "file/out")),
    ):
        with pytest.raises(OutputError, match=why), lock_output(tmp_path / name):
            pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_an_output_inside_another_one_is_refused(target: Location) -> None:
    run(target, [A])
    inside = target / "part-1" / "deep" if isinstance(target, Path) else target.below("part-1/deep")
    with pytest.raises(OutputError, match="is inside the output"), lock_output(inside):
        pass


def test_hidden_names_are_left_alone(target: Location) -> None:
    """What file managers and archives leave behind: ``._a.json`` is no receipt, ``.DS_Store`` makes no folder ours."""
    for name in (".DS_Store", "._a.parquet"):
        put(target, name, b"")
    run(target, [A], bad=[A.relative])
    for name in ("_receipts/._a.parquet.json", "_receipts/.DS_Store", "_receipts/.x/b.json", "_failed/._b.json"):
        put(target, name, b"\0")
    output = OutputFolder(target)
    assert output.receipts() == {} and list(output.failed_shards()) == [A.relative]
    assert run(target, [A]) == {A.relative: NONE}


def test_names_outside_the_folder_are_refused(target: Location) -> None:
    for name in ("../a", "/a", "a/../b", "a//b", "_plan", "a/_b", ".a", "", "a/", "a\0"):
        with pytest.raises(OutputError, match="is not a valid output path"):
            OutputFolder(target).receipt(name)


@pytest.mark.parametrize("name", ["../precious", "/{precious}", "linked/precious", "_lock"])
def test_a_plan_cannot_have_other_files_removed(tmp_path: Path, name: str) -> None:
    precious, out = tmp_path / "precious", tmp_path / "out"
    precious.write_bytes(b"")
    run(out, [A])
    (out / "linked").symlink_to(tmp_path)
    part = replace(A, relative=f"{name.format(precious=precious)}/part-00000.parquet", groups=(0, 1))
    plan = make_plan([A, replace(part, relative=name.format(precious=precious))])
    (out / "_plan.json").write_bytes(encode(plan, indent=1))
    run(out, [A], rescore=True, allow_stale=True)
    assert precious.exists()


def test_temporary_files_of_killed_runs_are_removed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(out, ALL)
    theirs = out / ".d2t-mine.tmp"
    for path in (theirs, out / temporary_name(), out / "2026" / temporary_name()):
        path.write_bytes(b"half")
    with lock_output(out) as output:
        assert [path.name for path in out.rglob(".*")] == [theirs.name]
        begun(output).temporary(A.relative).write_bytes(b"half")
    assert [path.name for path in out.rglob(".*")] == [theirs.name]


def begun(output: LockedOutput) -> OutputWriter:
    return output.begin(output.compare(make_plan(ALL), ALL, None))


LINKED: dict[str, Callable[[LockedOutput], object]] = {
    **dict.fromkeys(("2026", "2026/b.parquet"), lambda output: begun(output).temporary(B.relative)),
    **dict.fromkeys(
        ("_receipts", "_receipts/2026", "_failed", "_failed/2026"),
        lambda output: begun(output).quarantine(B.relative, "k", "m", None),
    ),
    "_plan.json": begun,
    "_run.json": lambda output: begun(output).finish(b"{}", Totals()),
}


@pytest.mark.parametrize("link", LINKED)
@pytest.mark.parametrize("leads_to", ["folder", "file", "nothing"])
def test_nothing_is_written_through_links(tmp_path: Path, link: str, leads_to: str) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    (elsewhere / "folder/2026").mkdir(parents=True)
    for name in ("file", "folder/b.parquet", "folder/2026/b.parquet.json", "folder/b.parquet.json"):
        (elsewhere / name).write_bytes(b"precious")
    before = files(elsewhere)
    why = rf"out/{link} is a symbolic link, and a run writes nothing through links"
    with lock_output(out) as output:
        (out / link).parent.mkdir(parents=True, exist_ok=True)
        (out / link).symlink_to(elsewhere / leads_to)
        with pytest.raises(OutputError, match=why):
            LINKED[link](output)
        assert (out / link).is_symlink()
    assert files(elsewhere) == before


def test_of_runs_that_race_for_a_folder_one_has_it_at_a_time(tmp_path: Path) -> None:
    """Each removes the folder again, since it does not begin, while others open its lock file."""
    together, holders, most = threading.Barrier(4, timeout=LIMIT_S), list[int](), list[int]()

    def attempt(number: int) -> None:
        together.wait()
        for _ in range(20):
            with suppress(OutputError), lock_output(tmp_path / "out"):
                holders.append(number)
                time.sleep(0.005)
                most.append(len(holders))
                holders.remove(number)

    with ThreadPoolExecutor(4) as racers:
        list(racers.map(attempt, range(4)))
    assert most and set(most) == {1}


def test_the_digest_of_all_shards_knows_paths_sizes_footers_and_ranges() -> None:
    part = replace(A, relative="b.parquet/part-00001.parquet", groups=(2, 5))
    others = [{"relative": "c.parquet"}, {"identity": Identity(11, 0, "ab")}, {"identity": Identity(10, 0, "cd")}]
    changed = [[A, part], [A, replace(part, groups=(2, 6))], *([replace(A, **one), part] for one in others)]
    assert len({shards_digest(make_plan(shards).inputs) for shards in changed}) == 5
    touched = make_plan([part, replace(A, identity=Identity(10, 0, "ab"))])
    assert shards_digest(touched.inputs) == shards_digest(make_plan([A, part]).inputs)
