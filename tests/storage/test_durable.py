"""Who may give a file its name, what is never written through, and that an output is there whole and checked or not at
all."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import OutputError
from scorer.storage import Receipts, RunOutput, ShardWriter
from scorer.storage.durable import atomic_bytes, temporary_name, token_of
from tests.storage.receipts import fingerprint, finish_output, receipt
from tests.storage.tables import rows_table
from tests.storage.tables import write_shard as write
from tests.storage.test_plan import done, plan, tree


def contents(folder: Path) -> dict[Path, bytes | bool]:
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.mark.parametrize("planted", ["a link to a file", "a link to nothing", "a file"])
def test_what_was_planted_under_a_temporary_name_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    """Even where the name is known: it is made by this program or the write fails."""
    name = temporary_name()
    monkeypatch.setattr("scorer.storage.durable.temporary_name", lambda token="": name)
    victim = tmp_path / "victim"
    if planted != "a file":
        (tmp_path / name).symlink_to(victim)
    if planted != "a link to nothing":
        (tmp_path / name).write_bytes(b"theirs")
    before = contents(tmp_path)
    with pytest.raises(OutputError, match=re.escape(f"cannot write {tmp_path}/a.json: File exists")):
        atomic_bytes(tmp_path / "a.json", b"ours")
    assert contents(tmp_path) == before


def test_files_are_made_with_exclusive_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Mock(wraps=os.open)
    monkeypatch.setattr(os, "open", opened)
    atomic_bytes(tmp_path / "a.json", b"ours")
    ShardWriter(tmp_path / "a.parquet", rows_table(1).schema).abandon()
    found = [flags for path, flags, *_ in (call.args for call in opened.call_args_list) if token_of(Path(path).name)]
    assert len(found) == 2
    assert all(flags & os.O_EXCL and flags & os.O_CREAT and flags & os.O_NOFOLLOW for flags in found)


def test_a_holder_that_lost_the_folder_gives_no_file_a_name(tmp_path: Path) -> None:
    """The lease is looked at right before each rename, however long the writing took."""
    with RunOutput.open(tmp_path) as folder:
        folder.write_plan(plan("a.parquet"))
        writer = ShardWriter(tmp_path / "a.parquet", rows_table(1).schema, holder=folder.holder)
        writer.write(rows_table(3))
        done(folder, "b.parquet")
        before = tree(tmp_path)
        (tmp_path / "_lock").write_text('{"pid": 1, "host": "x", "started": "y", "boot": "z", "token": "t"}')
        for attempt, *given in (
            (writer.commit,),
            (folder.receipts.write, receipt("b.parquet", fingerprint("another"))),
            (folder.receipts.write_failed, "b.parquet", "k", "m", None),
            (folder.write_run, b"{}"),
            (finish_output, folder),
        ):
            with pytest.raises(OutputError, match="took over this output"):
                attempt(*given)
    assert [name for name in tree(tmp_path) if name != "_failed"] == [n for n in before if token_of(n) is None]
    found = Receipts(tmp_path).read("b.parquet")
    assert found is not None and found.fingerprint == fingerprint()


def write_output(folder: RunOutput) -> None:
    ShardWriter(folder.path / "deep/a.parquet", rows_table(1).schema, holder=folder.holder).abandon()


LINKED: dict[str, Callable[[RunOutput], object]] = {
    "deep": write_output,
    "deep/a.parquet": write_output,
    "_receipts": lambda folder: folder.receipts.write(receipt("deep/a.parquet")),
    "_receipts/deep": lambda folder: folder.receipts.remove("deep/a.parquet"),
    "_receipts/deep/a.parquet.json": lambda folder: folder.receipts.write(receipt("deep/a.parquet")),
    "_failed": lambda folder: folder.receipts.write_failed("deep/a.parquet", "k", "m", None),
    "_failed/deep": lambda folder: folder.receipts.clear_failed("deep/a.parquet"),
    "_plan.json": lambda folder: folder.write_plan(b"{}"),
    "_run.json": lambda folder: folder.write_run(b"{}"),
    "_SUCCESS": lambda folder: finish_output(folder),
}


@pytest.mark.parametrize("link", LINKED)
@pytest.mark.parametrize("target", ["folder", "file", "nothing"])
def test_links_below_an_output_folder_are_not_written_through(tmp_path: Path, link: str, target: str) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    (elsewhere / "folder/deep").mkdir(parents=True)
    for name in ("file", "folder/a.parquet", "folder/deep/a.parquet.json", "folder/a.parquet.json"):
        (elsewhere / name).write_bytes(b"precious")
    before = contents(elsewhere)
    with RunOutput.open(out, create=True) as folder:
        (out / link).parent.mkdir(parents=True, exist_ok=True)
        (out / link).symlink_to(elsewhere / target)
        says = rf"out/{link} is a symbolic link, and a run writes nothing through links"
        with pytest.raises(OutputError, match=says):
            folder.refuse_links(["other.parquet", "deep/a.parquet"])
        with pytest.raises(OutputError, match=says):
            LINKED[link](folder)
        assert (out / link).is_symlink()
    assert contents(elsewhere) == before


def test_what_is_written_is_what_is_told(tmp_path: Path) -> None:
    path = tmp_path / "deep/er/a.parquet"
    kept = {"signature": "old", "mine": "kept"}
    one, two = (rows_table(rows).replace_schema_metadata(kept) for rows in (10, 25))
    written = write(path, one, two, signature="é|1")
    assert written.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (written.bytes, written.rows) == (path.stat().st_size, 35)
    found = pq.ParquetFile(path)
    assert found.read().equals(pa.concat_tables([one, two])) and found.schema_arrow.equals(one.schema)
    assert [found.metadata.row_group(i).num_rows for i in range(2)] == [10, 25]
    assert found.metadata.metadata[b"signature"] == "é|1".encode() and found.metadata.metadata[b"mine"] == b"kept"
    assert found.metadata.row_group(0).column(1).compression == "ZSTD"
    assert tree(tmp_path) == ["deep", "deep/er", "deep/er/a.parquet"]


def test_columns_that_change_end_a_writer_and_leave_nothing(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path / "a.parquet", rows_table(1).schema)
    writer.write(rows_table(100))
    assert [token_of(path.name) is not None for path in tmp_path.iterdir()] == [True]
    with pytest.raises(OutputError, match="columns of a later window differ"):
        writer.write(pa.table({"x": [1]}))
    for attempt in (lambda: writer.write(rows_table(1)), writer.commit):
        with pytest.raises(OutputError, match="committed or abandoned"):
            attempt()
    assert tree(tmp_path) == []


def test_a_failing_fsync_is_an_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail = Mock(side_effect=OSError(errno.EIO, "Input/output error"))
    write(tmp_path / "a.parquet", rows_table(3))
    before = contents(tmp_path)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OutputError, match=r"cannot write .*a.parquet: Input/output error"):
        write(tmp_path / "a.parquet", rows_table(9))
    assert fail.call_count == 1  # after a failed fsync a second one may lie
    assert contents(tmp_path) == before
