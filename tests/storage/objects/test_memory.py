"""Runs into an object store in the memory of this process: the protocol without a server."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scorer.errors import OutputError, UsageError
from scorer.run.options import JoinOptions, Outcome, RunOptions
from scorer.run.status import status_of
from scorer.run.worker import run_joined
from scorer.storage.objects import store as stores
from scorer.storage.objects.claims import StoreClaims
from scorer.storage.objects.copy import local_copy
from scorer.storage.objects.joined import JoinedStore, require_conditions
from scorer.storage.objects.presence import StoreClock
from scorer.storage.objects.store import ObjectStore, StoreError
from scorer.storage.objects.uri import StoreUri, check_stores_apart, parse_location
from scorer.system.process_marks import own_mark
from tests.run.test_row_scorer import TextLengthScoring, Told, lengths, texts

obstore = pytest.importorskip("obstore", reason="the extra `objects` is not installed")
OUT = StoreUri("s3", "bucket", "runs/a b")
SHARDS = 5


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A store that stands behind every URI."""
    from obstore.store import MemoryStore

    bucket = MemoryStore()
    monkeypatch.setattr(stores, "connect", lambda uri, *, patient=True: bucket)
    return bucket


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for i in range(SHARDS):
        pq.write_table(texts(5 + i), tmp_path / "in" / ("deep" if i % 2 else ".") / f"{i:02d}.parquet")
    return tmp_path / "in"


def work(data: Path, told: Told | None = None, revision: int = 1) -> Outcome:
    options = RunOptions((str(data),), OUT, max_error_rate=0.5, window_rows=4, join=JoinOptions(60.0))
    return run_joined(options, JoinOptions(60.0), TextLengthScoring(revision=revision), told or Told())


def content(bucket: Any) -> dict[str, bytes]:
    skip = len(OUT.path) + 1
    keys = [one["path"] for some in obstore.list(bucket) for one in some]
    return {key[skip:]: bytes(obstore.get(bucket, key).bytes()) for key in keys}


def outputs(found: dict[str, bytes]) -> dict[str, bytes]:
    return {name: value for name, value in found.items() if not name.startswith("_")}


def test_a_run_has_the_bytes_of_a_local_one_and_resumes(data: Path, tmp_path: Path, memory: Any) -> None:
    lengths(data, tmp_path / "whole")
    outcome = work(data)
    assert (outcome.exit_code, outcome.summary.shards.done) == (0, SHARDS)
    found = content(memory)
    local = {path.relative_to(tmp_path / "whole").as_posix(): path.read_bytes()
             for path in (tmp_path / "whole").rglob("*.parquet")}  # fmt: skip
    assert outputs(found) == local and len(local) == SHARDS
    names = {name.partition("/")[0] for name in found} - {name.partition("/")[0] for name in local}
    assert names == {"_plan.json", "_receipts", "_run.json", "_SUCCESS", "_lock.brief"}, "claims and cards are gone"
    for name, value in local.items():
        receipt = json.loads(found[f"_receipts/{name}.json"])
        assert receipt["output"]["sha256"] == hashlib.sha256(value).hexdigest()
    status = status_of(OUT)
    assert (status.finished, status.done, status.planned, status.workers) == (True, SHARDS, SHARDS, ())

    obstore.delete(memory, OUT.key("_receipts/00.parquet.json"))
    obstore.put(memory, OUT.key("deep/01.parquet"), b"other bytes")  # the version that its receipt names is gone
    again = work(data)
    assert (again.exit_code, again.summary.shards.done) == (0, SHARDS)
    assert outputs(content(memory)) == local
    plain = {name: value for name, value in content(memory).items() if name.startswith("_receipts")}
    work(data)
    assert {name: value for name, value in content(memory).items() if name in plain} == plain, "nothing was left to do"


def test_a_touched_local_input_is_not_scored_again(data: Path, memory: Any) -> None:
    work(data)
    before = content(memory)
    os.utime(data / "00.parquet", ns=(1, 2))
    told = Told()
    assert work(data, told).exit_code == 0
    found = content(memory)
    assert not [message for message in told.messages if "again" in message]
    assert {name for name, value in found.items() if value != before[name] and name.startswith("_receipts")} == {
        "_receipts/00.parquet.json"
    }
    receipt = json.loads(found["_receipts/00.parquet.json"])
    assert receipt["input"]["identity"]["mtime_ns"] == 2
    assert receipt["output"] == json.loads(before["_receipts/00.parquet.json"])["output"]
    assert outputs(found) == outputs(before)
    assert {"_SUCCESS", "_run.json"} <= found.keys()


def test_another_plan_replaces_outputs_and_a_copy_is_of_one_run(data: Path, memory: Any) -> None:
    work(data)
    told = Told()
    assert work(data, told, revision=2).exit_code == 0
    assert any("signature differs: revision 1 → 2" in message for message in told.messages)
    with local_copy(OUT) as folder:
        signatures = {pq.read_schema(path).metadata[b"d2t_scorer.signature"] for path in folder.rglob("*.parquet")}
        assert signatures == {b"metric:text-length|revision:2"} and (folder / "_SUCCESS").is_file()
    with local_copy(OUT, lambda name: name == "00.parquet") as folder:
        assert [path.name for path in folder.rglob("*.parquet*")] == ["00.parquet", "00.parquet.json"]
    key = OUT.key("00.parquet")
    obstore.put(memory, key, bytes(reversed(bytes(obstore.get(memory, key).bytes()))))
    with pytest.raises(OutputError, match=r"00\.parquet is not what its receipt says"), local_copy(OUT):
        pass
    with pytest.raises(OutputError, match=r"has no _plan\.json"), local_copy(StoreUri("s3", "bucket", "nothing")):
        pass


def test_what_would_be_lost_is_refused(data: Path, memory: Any) -> None:
    work(data)
    (data / "00.parquet").unlink()
    before = content(memory)
    with pytest.raises(OutputError, match="1 output whose input is not among IN"):
        work(data)
    assert outputs(content(memory)) == outputs(before)
    obstore.put(memory, "mine/notes.txt", b"x")
    with pytest.raises(OutputError, match=r"holds 'notes\.txt'"):
        JoinedStore.open(StoreUri("s3", "bucket", "mine"))


class Flaky:
    """Stands for ``obstore``: calls a function before or after chosen puts."""

    def __init__(self, before: Callable[[str], None] | None = None, after: Callable[[str], None] | None = None) -> None:
        self.before, self.after = before, after
        self.exceptions = obstore.exceptions

    def __getattr__(self, name: str) -> Any:
        return getattr(obstore, name)

    def put(self, bucket: Any, key: str, value: bytes, **more: Any) -> Any:
        if self.before is not None:
            self.before(key)
        found = obstore.put(bucket, key, value, **more)
        if self.after is not None:
            self.after(key)
        return found


def flaky(monkeypatch: pytest.MonkeyPatch, bucket: Any, **more: Any) -> ObjectStore:
    monkeypatch.setattr(stores, "client", lambda: Flaky(**more))
    return ObjectStore(OUT, bucket)


def test_a_lost_acknowledgement_is_no_refusal(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    left = ["new", "over"]

    def lose(key: str) -> None:
        if key in left:
            left.remove(key)
            raise obstore.exceptions.GenericError("connection closed")

    store = flaky(monkeypatch, memory, after=lose)
    written = store.put_new("new", b"1")
    assert written is not None and store.read("new") == (b"1", written)
    first = store.put_new("other", b"1")
    left.append("other")
    assert first is not None and (second := store.put_over("other", b"2", first)) is not None
    assert store.read("other") == (b"2", second) and left == ["over"]
    assert store.put_new("new", b"2") is None, "another call's object is a refusal"


def test_a_conflict_is_tried_again(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """409 looks like 412: the object is as it was expected, so the write is repeated."""
    left = [2]

    def refuse(key: str) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise obstore.exceptions.AlreadyExistsError("409 Conflict")

    store = flaky(monkeypatch, memory, before=refuse)
    assert store.put_new("new", b"1") is not None and left == [-1]


def test_what_another_process_writes_meanwhile_is_not_overwritten(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object is replaced between the look at it and the write: the condition refuses, and the check asks again."""
    asked = []
    plain = ObjectStore(OUT, memory)
    plain.put_new("key", b"theirs")

    def still_mine() -> None:
        asked.append(1)
        if len(asked) == 1:
            obstore.put(memory, "key", b"theirs again")
        else:
            raise OutputError("lost")

    with pytest.raises(OutputError, match="lost"):
        plain.publish("key", b"mine", still_mine)
    assert plain.read("key") is not None and plain.read("key")[0] == b"theirs again"  # type: ignore[index]
    sha256 = hashlib.sha256(b"same").hexdigest()
    version = plain.publish("shared", b"same", still_mine, sha256=sha256, same=True)
    assert plain.publish("shared", b"same", still_mine, sha256=sha256, same=True) == version


def test_a_store_without_conditions_is_refused(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Careless(Flaky):
        def put(self, bucket: Any, key: str, value: bytes, **more: Any) -> Any:
            return obstore.put(bucket, key, value, **(more | {"mode": "overwrite"}))

    require_conditions(ObjectStore(OUT, memory), OUT)
    monkeypatch.setattr(stores, "client", Careless)
    with pytest.raises(StoreError, match="does not support conditional writes"):
        require_conditions(ObjectStore(OUT, memory), OUT)
    assert content(memory) == {}, "the probe is deleted again"


def test_claims_are_taken_over_renewed_and_given_back(memory: Any) -> None:
    store, clock = ObjectStore(OUT, memory), StoreClock()
    store.put_new("clock", b"?")
    clock.saw(store.head("clock"), 0.0)  # type: ignore[arg-type]  # far ahead of the store: every claim looks old
    first = StoreClaims(store, OUT, "a" * 16, 60.0, clock)
    second = StoreClaims(store, OUT, "b" * 16, 60.0, clock)
    claim = first.take("x.parquet", None)
    assert claim is not None and second.take("x.parquet", None) is None
    (standing,) = second.standing().values()
    assert (standing.relative, standing.worker, standing.number, standing.expiries) == ("x.parquet", "a" * 16, 1, 0)
    assert standing.is_free(60.0), "its worker has no card"
    taken = second.take("x.parquet", standing)
    assert taken is not None and (taken.number, taken.expiries, taken.crashes) == (2, 1, 0)
    claim.check()
    first.renew()  # the condition refuses: the claim is another worker's
    with pytest.raises(OutputError, match="another worker took it over"):
        claim.check()
    first.give_back(claim)
    second.confirm(taken)
    second.close()
    assert second.standing() == {} and second.take("y.parquet", None) is None


def test_two_crashes_on_this_machine_set_a_shard_aside(memory: Any) -> None:
    """The cards of the workers name processes that have ended. Nobody waits for heartbeats."""
    store, clock = ObjectStore(OUT, memory), StoreClock()
    store.put_new("clock", b"?")
    clock.saw(store.head("clock"), time.monotonic())  # type: ignore[arg-type]
    whys = []
    for number, token in enumerate(("a" * 16, "b" * 16, "c" * 16)):
        card = json.dumps({"process": own_mark() + "0"}).encode()
        store.put_new(OUT.key(f"_claims/worker-{token}.json"), card)
        worker = StoreClaims(store, OUT, token, 60.0, clock)
        over = next(iter(worker.standing().values()), None)
        assert over is None or (over.crashed and over.is_free(60.0))
        claim = worker.take("x.parquet", over)
        assert claim is not None and (claim.crashes, claim.expiries) == (number, 0)
        whys.append(claim.why_hopeless)
    assert whys == [None, None, "2 workers crashed while they scored it"]


def test_errors_have_no_credentials(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "AWS_SECRET_ACCESS_KEY", "canary-secret-1")
    monkeypatch.setitem(os.environ, "AWS_SESSION_TOKEN", "canary-token-22")

    def fail(key: str) -> None:
        raise obstore.exceptions.PermissionDeniedError("refused for canary-secret-1 and canary-token-22\n\nDebug: x")

    with pytest.raises(StoreError, match=r"refused for \*\*\* and \*\*\*") as caught:
        flaky(monkeypatch, memory, before=fail).put_new("key", b"")
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
        ("hdfs://host/x", "is a URI"),
    ):
        with pytest.raises(UsageError, match=why) as caught:
            parse_location(given)
        assert "secret" not in str(caught.value)
    for inside in ("s3://bucket/runs", "s3://bucket/runs/a%20b/x.parquet", "s3://bucket/*", "s3://bucket"):
        with pytest.raises(OutputError, match="contain one another"):
            check_stores_apart([inside], OUT)
    check_stores_apart(["s3://bucket/runs/a", "s3://other/runs", "local", "s3://bucket/runs/a%20bc"], OUT)
