"""Stores: six methods that mean the same in a folder and in a bucket; and files that appear whole, durably, or not at
all."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import OutputError
from scorer.storage.local_files import ABSENT, atomic_write, sync_folder, temporary_name
from scorer.storage.location import Location
from scorer.storage.store import LocalStore, Store, open_store
from scorer.storage.user_files import write_parquet
from scorer.storage.windows import ShardWriter
from tests.storage.tables import rows_table


@pytest.fixture
def store(target: Location) -> Store:
    return open_store(target)


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def contents(folder: Path) -> dict[Path, bytes | bool]:
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def publish(store: Store, name: str, content: bytes, folder: Path) -> None:
    """Publish a file that was written beside its name, or in a folder of its own."""
    temporary = folder / "temporary"
    if isinstance(store, LocalStore):
        temporary = (store.location / name).with_name(temporary_name())
        temporary.parent.mkdir(parents=True, exist_ok=True)
    temporary.write_bytes(content)
    info = store.publish(temporary, name)
    assert info.size == len(content) and info.version == store.list(name)[name].version
    assert not temporary.exists()


def test_a_write_says_what_it_expects_to_replace(store: Store) -> None:
    name = "deep/a.json"
    first = store.write(name, b"1", expect=ABSENT)
    assert first and store.write(name, b"2", expect=ABSENT) is None
    second = store.write(name, b"22", expect=first)
    assert second and store.write(name, b"3", expect=first) is None
    assert store.read(name) == b"22" and store.list(name)[name].version == second
    assert store.write(name, b"333")
    assert store.write("none", b"4", expect=second) is None and store.read("none") is None


def test_a_list_has_what_is_at_or_below_a_name(store: Store, tmp_path: Path) -> None:
    for name in ("_x/a.json", "_x/deep/b.json", "_xy", "c.parquet/part-0"):
        store.write(name, b"12345")
    publish(store, "b.parquet", b"123", tmp_path)
    assert list(store.list()) == ["_x/a.json", "_x/deep/b.json", "_xy", "b.parquet", "c.parquet/part-0"]
    assert list(store.list("_x")) == ["_x/a.json", "_x/deep/b.json"]
    assert list(store.list("_xy")) == ["_xy"] and store.list("_xy")["_xy"].size == 5
    assert list(store.list("c.parquet")) == ["c.parquet/part-0"]
    assert store.list("none") == {} == store.list("_xy/deep")


def test_a_folder_that_another_thread_removes_as_it_is_empty_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def emptied(folder: Path) -> None:
        if folder.exists() and not any(folder.iterdir()):
            folder.rmdir()
        sync_folder(folder)

    monkeypatch.setattr("scorer.storage.local_files.sync_folder", emptied)
    (tmp_path / "deep").mkdir()
    for name in ("a", "b"):
        (tmp_path / "deep" / name).touch()
    LocalStore(tmp_path).delete(["deep/a", "deep/b"])
    assert tree(tmp_path) == []


def test_what_is_deleted_or_was_never_there(store: Store) -> None:
    store.write("deep/er/a", b"1")
    store.write("deep/b", b"2")
    store.delete(["deep/er/a", "none", "deep/b/none"])
    assert store.read("deep/er/a") is None and list(store.list()) == ["deep/b"]
    if isinstance(store, LocalStore):
        assert tree(store.location) == ["deep", "deep/b"], "a bucket has no empty folders either"
        os.mkfifo(store.location / "pipe")
        assert [store.read(name) for name in ("pipe", "deep", "none/deep")] == [None] * 3, "no regular files"
    with pytest.raises(FileNotFoundError, match="none"):
        store.open("none")


def test_a_file_is_read_in_one_version(store: Store, tmp_path: Path) -> None:
    content = bytes(range(256)) * 100
    publish(store, "a", content, tmp_path)
    version = store.list("a")["a"].version
    with store.open("a", version) as file:
        assert file.read(3) == content[:3] and file.seek(-5, os.SEEK_END) == len(content) - 5
        assert file.read() == content[-5:] and file.read(1) == b"" and file.seek(10) == 10
        assert file.tell() == 10 and file.read(1000) == content[10:1010]
    with store.open("a") as opened:
        publish(store, "a", content[::-1], tmp_path)
        if isinstance(store, LocalStore):
            assert opened.read() == content, "the file that was opened"
        else:
            with pytest.raises(OSError, match="was replaced while it was read"):
                opened.read()
    with pytest.raises(OutputError, match="was replaced while it was read"):
        store.open("a", version)


@pytest.mark.parametrize("is_link", [False, True])
def test_what_was_planted_under_a_temporary_name_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_link: bool
) -> None:
    """Even where the name is known: it is made by this program or the write fails."""
    name = temporary_name()
    for module in ("local_files", "user_files"):
        monkeypatch.setattr(f"scorer.storage.{module}.temporary_name", lambda: name)
    (tmp_path / "victim").write_bytes(b"theirs")
    (tmp_path / name).symlink_to(tmp_path / "victim") if is_link else (tmp_path / name).write_bytes(b"theirs")
    before = contents(tmp_path)
    with pytest.raises(OutputError, match=re.escape(f"cannot write {tmp_path}/a.json: File exists")):
        atomic_write(tmp_path / "a.json", b"ours")
    with pytest.raises(OutputError, match=re.escape(f"cannot write {tmp_path}/a.parquet: File exists")):
        write_parquet(tmp_path / "a.parquet", [rows_table(1)])
    assert contents(tmp_path) == before


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_failing_fsync_is_an_error_and_leaves_the_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """After a failed fsync a second one may lie: it is never tried."""
    store, path = open_store(tmp_path), tmp_path / "a.parquet"
    store.write("a.json", b"1")
    write_parquet(path, [rows_table(3)])
    before = contents(tmp_path)
    fail = Mock(side_effect=OSError(code, os.strerror(code)))
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OutputError, match=rf"cannot write .*a\.json: {os.strerror(code)}") as caught:
        store.write("a.json", b"22")
    assert fail.call_count == 1
    with pytest.raises(OutputError, match=rf"cannot write .*a\.parquet: {os.strerror(code)}"):
        write_parquet(path, [rows_table(9)])
    assert fail.call_count == 2 and contents(tmp_path) == before
    assert ("run again: it resumes" in str(caught.value)) == (code == errno.ENOSPC)


def test_a_parquet_file_is_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / temporary_name()
    kept = {"signature": "old", "mine": "kept"}
    one, two = (rows_table(rows).replace_schema_metadata(kept) for rows in (10, 25))
    writer = ShardWriter(path, one.schema, metadata={"signature": "é|1"}, path=tmp_path / "a.parquet")
    for table in (one, one.slice(0, 0), two):
        writer.write(table)
    written = writer.finish()
    assert written.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (written.bytes, written.rows) == (path.stat().st_size, 35)
    found = pq.ParquetFile(path)
    assert found.read().equals(pa.concat_tables([one, two])) and found.schema_arrow.equals(one.schema)
    assert [found.metadata.row_group(i).num_rows for i in range(found.num_row_groups)] == [10, 25]
    assert found.metadata.metadata[b"signature"] == "é|1".encode() and found.metadata.metadata[b"mine"] == b"kept"
    assert found.metadata.row_group(0).column(1).compression == "ZSTD"
    writer.abandon()
    assert tree(tmp_path) == [path.name], "a finished file is the caller's"
    again = tmp_path / "again"
    write_parquet(again / "a.parquet", [one, two], {"signature": "é|1"})
    assert (again / "a.parquet").read_bytes() == path.read_bytes() and tree(again) == ["a.parquet"]
