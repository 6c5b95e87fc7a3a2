"""Runs into an object store in the memory of this process: the protocol without a server."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow.parquet as pq
import pytest

from scorer.errors import OutputError, UsageError
from scorer.storage import RunOutput
from scorer.storage.location import StoreUri, check_stores_apart, parse_location
from scorer.storage.objects.client import StoreError
from scorer.storage.objects.copy import local_copy
from scorer.storage.objects.store import BucketStore
from scorer.storage.store_old import ABSENT
from tests.run.test_row_scorer import Told, lengths, texts
from tests.run.test_row_scorer import data as data
from tests.storage.backends import data_files, files, put, remove

obstore = pytest.importorskip("obstore", reason="the extra `objects` is not installed")
OUT = StoreUri("s3", "bucket", "runs/a b")
Happens = Callable[[str], object]


def test_a_copy_is_of_one_run(data: Path, memory: Any) -> None:
    lengths(data, OUT)
    assert lengths(data, OUT, revision=2, rescore=True).exit_code == 0
    with local_copy(OUT) as folder:
        signatures = {pq.read_schema(path).metadata[b"d2t_scorer.signature"] for path in folder.rglob("*.parquet")}
        assert signatures == {b"metric:text-length|revision:2"} and (folder / "_SUCCESS").is_file()
    with local_copy(OUT, lambda name: name == "a.parquet") as folder:
        assert [path.name for path in folder.rglob("*.parquet*")] == ["a.parquet", "a.parquet.json"]
    put(OUT, "a.parquet", files(OUT)["a.parquet"][::-1])
    with pytest.raises(OutputError, match=r"a\.parquet is not what its receipt says"), local_copy(OUT):
        pass
    with pytest.raises(OutputError, match=r"has no _plan\.json"), local_copy(StoreUri("s3", "bucket", "nothing")):
        pass


def test_an_output_that_another_program_replaced_is_not_overwritten(data: Path, memory: Any) -> None:
    """A worker names the version that the driver saw; what was written meanwhile stays, and the shard has a note."""
    lengths(data, OUT)
    pq.write_table(texts(30), data / "a.parquet")

    class Meanwhile(Told):
        def started(self, *given: Any) -> None:
            put(OUT, "a.parquet", b"theirs")

    assert lengths(data, OUT, told=Meanwhile()).exit_code == 3
    assert data_files(OUT)["a.parquet"] == b"theirs"
    assert b"another program replaced it meanwhile" in files(OUT)["_failed/a.parquet.json"]


def flaky(monkeypatch: pytest.MonkeyPatch, before: Happens = str, after: Happens = str) -> BucketStore:
    """A store where something happens before or after each put."""
    real = obstore.put

    def put(bucket: Any, key: str, value: bytes, **more: Any) -> Any:
        before(key)
        found = real(bucket, key, value, **more)
        after(key)
        return found

    monkeypatch.setattr(obstore, "put", put)
    return BucketStore(OUT)


def test_a_lost_acknowledgement_is_no_refusal(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    left = ["new", "over"]

    def lose(key: str) -> None:
        name = key.rpartition("/")[2]
        if name in left:
            left.remove(name)
            raise obstore.exceptions.GenericError("connection closed")

    store = flaky(monkeypatch, after=lose)
    written = store.put("new", b"1", ABSENT)
    assert written is not None and store.read("new") == (b"1", written)
    first = store.put("other", b"1", ABSENT)
    left.append("other")
    assert first is not None and (second := store.put("other", b"2", first)) is not None
    assert store.read("other") == (b"2", second) and left == ["over"]
    assert store.put("new", b"2", ABSENT) is None, "another call's object is a refusal"


def test_a_conflict_is_tried_again(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """409 looks like 412: the object is as it was expected, so the write is repeated."""
    left = [2]

    def refuse(key: str) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise obstore.exceptions.AlreadyExistsError("409 Conflict")

    store = flaky(monkeypatch, before=refuse)
    assert store.put("new", b"1", ABSENT) is not None and left == [-1]


def test_two_workers_with_the_same_bytes_have_both_written_them(memory: Any, tmp_path: Path) -> None:
    plain, version = BucketStore(OUT), None
    for _ in range(2):
        (tmp_path / "file").write_bytes(b"same")
        before, version = version, plain.upload("shared", tmp_path / "file", sha256(b"same").hexdigest(), ABSENT)
        assert version is not None and before in (None, version)


def test_a_store_without_conditions_is_refused(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    BucketStore(OUT).require_conditions()
    real = obstore.put
    monkeypatch.setattr(obstore, "put", lambda *given, **more: real(*given, **(more | {"mode": "overwrite"})))
    with pytest.raises(StoreError, match="does not support conditional writes"):
        RunOutput.open(OUT)
    assert BucketStore(OUT).list() == {}, "the probe is deleted again"


def test_a_shard_costs_few_requests(data: Path, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One writes an output and one its receipt; more shards cost no more listings, and no question about the lease."""
    asked = Mock()
    for name in ("put", "get", "head", "list", "list_with_delimiter", "delete"):
        asked.attach_mock(Mock(wraps=getattr(obstore, name)), name)
        monkeypatch.setattr(obstore, name, getattr(asked, name))
    lengths(data, OUT)
    few = len(asked.mock_calls)
    for i in range(20):
        pq.write_table(texts(4), data / f"more{i}.parquet")
    remove(OUT, *files(OUT))
    before = len(asked.mock_calls)
    lengths(data, OUT)
    assert 20 < len(asked.mock_calls) - before - few <= 20 * 6


def test_errors_have_no_credentials(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "AWS_SECRET_ACCESS_KEY", "canary-secret-1")
    monkeypatch.setitem(os.environ, "AWS_SESSION_TOKEN", "canary-token-22")

    def fail(key: str) -> None:
        raise obstore.exceptions.PermissionDeniedError("refused for canary-secret-1 and canary-token-22\n\nDebug: x")

    with pytest.raises(StoreError, match=r"refused for \*\*\* and \*\*\*") as caught:
        flaky(monkeypatch, before=fail).put("key", b"", ABSENT)
    assert "canary" not in str(caught.value) and "docs/stores.md" in str(caught.value)


def test_uris() -> None:
    assert parse_location("s3://bucket/a%20b//c/") == StoreUri("s3", "bucket", "a b/c")
    assert str(StoreUri("s3", "bucket", "a b/c")) == "s3://bucket/a%20b/c"
    assert parse_location("plain/path") == Path("plain/path")
    for given, why in (
        ("s3://key:secret@bucket/x", "contains credentials"),
        ("s3:///x", "names no bucket"),
        ("s3://bucket/x?region=y", "has a query"),
        ("s3://bucket/../x", "cannot contain"),
    ):
        with pytest.raises(UsageError, match=why) as caught:
            parse_location(given)
        assert "secret" not in str(caught.value)
    for inside in ("s3://bucket/runs", "s3://bucket/runs/a%20b/x.parquet", "s3://bucket/*", "s3://bucket"):
        with pytest.raises(OutputError, match="contain one another"):
            check_stores_apart([inside], OUT)
    check_stores_apart(["s3://bucket/runs/a", "s3://other/runs", "local", "s3://bucket/runs/a%20bc"], OUT)
