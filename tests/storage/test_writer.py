"""An output is there whole and checked, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import OutputError
from scorer.storage import ShardWriter, WrittenFile
from scorer.storage.durable import token_of
from tests.processes import finish
from tests.storage.tables import rows_table


def write(path: Path, *tables: pa.Table, **metadata: str) -> WrittenFile:
    writer = ShardWriter(path, tables[0].schema, metadata=metadata)
    for table in tables:
        writer.write(table)
    return writer.commit()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_what_is_written_is_what_is_told(tmp_path: Path) -> None:
    path = tmp_path / "deep/er/a.parquet"
    kept = {"signature": "old", "mine": "kept"}
    one, two = (rows_table(rows).replace_schema_metadata(kept) for rows in (10, 25))
    written = write(path, one, two, signature="é|1")
    assert written.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (written.bytes, written.rows) == (path.stat().st_size, 35)
    found = pq.ParquetFile(path)
    assert found.read().equals(pa.concat_tables([one, two]))
    assert found.schema_arrow.equals(one.schema)
    assert [found.metadata.row_group(i).num_rows for i in range(2)] == [10, 25]
    assert found.metadata.metadata[b"signature"] == "é|1".encode() and found.metadata.metadata[b"mine"] == b"kept"
    assert found.metadata.row_group(0).column(1).compression == "ZSTD"
    assert names(tmp_path) == ["a.parquet", "deep", "er"]


def test_nothing_is_there_before_the_commit_and_after_an_abandonment(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path / "a.parquet", rows_table(1).schema)
    writer.write(rows_table(100))
    (temporary,) = tmp_path.iterdir()
    assert token_of(temporary.name)
    writer.abandon()
    writer.abandon()
    assert names(tmp_path) == []
    with pytest.raises(OutputError, match="committed or abandoned"):
        writer.write(rows_table(1))
    with pytest.raises(OutputError, match="committed or abandoned"):
        writer.commit()


def test_the_same_tables_give_the_same_bytes_whatever_stood_there(tmp_path: Path) -> None:
    tables = rows_table(40), rows_table(7)
    first = write(tmp_path / "a.parquet", *tables, x="1")
    assert write(tmp_path / "b/a.parquet", *tables, x="1") == first
    (tmp_path / "b/a.parquet").write_bytes(b"old")
    assert write(tmp_path / "b/a.parquet", *tables, x="1") == first
    assert write(tmp_path / "c.parquet", *tables, x="2").sha256 != first.sha256


def test_columns_that_change_are_refused(tmp_path: Path) -> None:
    writer = ShardWriter(tmp_path / "a.parquet", rows_table(1).schema)
    with pytest.raises(OutputError, match="columns of a later window differ"):
        writer.write(pa.table({"x": [1]}))
    assert names(tmp_path) == []


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failing_call_is_an_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    calls = []

    def fail(*arguments: object) -> None:
        calls.append(arguments)
        raise OSError(errno.EIO, "Input/output error")

    write(tmp_path / "a.parquet", rows_table(3))
    before = (tmp_path / "a.parquet").read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail) if call == "fsync" else patched.setattr(Path, "replace", fail)
        with pytest.raises(OutputError, match=r"cannot write .*a.parquet: Input/output error"):
            write(tmp_path / "a.parquet", rows_table(9))
    assert len(calls) == 1  # after a failed fsync a second one may lie
    assert names(tmp_path) == ["a.parquet"]
    assert (tmp_path / "a.parquet").read_bytes() == before


CRASH = """
import sys
from pathlib import Path
import pyarrow as pa
from scorer.storage import ShardWriter
table = pa.table({"x": [1, 2, 3]})
writer = ShardWriter(Path(sys.argv[1]), table.schema)
writer.write(table)
writer.commit()
"""


@pytest.mark.parametrize(
    ("point", "is_there"),
    [("output.written", 0), ("output.synced", 0), ("output.renamed", 1), ("output.published", 1), ("none", 1)],
)
def test_killed_between_the_steps(tmp_path: Path, point: str, is_there: int) -> None:
    path = tmp_path / "a.parquet"
    status, _, errors = finish(CRASH, str(path), D2T_SCORER_CRASH_AT=point)
    assert (status, errors) == (0 if point == "none" else 97, "")
    assert path.exists() == bool(is_there)
    left = [name for name in names(tmp_path) if name != "a.parquet"]
    assert len(left) == (not is_there) and all(map(token_of, left))
    if is_there:
        assert pq.read_table(path)["x"].to_pylist() == [1, 2, 3]
    assert write(path, pa.table({"x": [4]})).rows == 1  # what was left is no hindrance
    assert names(tmp_path) == sorted([*left, "a.parquet"])  # and is swept by who holds the folder
