"""An object store in the memory of this process: lost acknowledgements, conflicts, credentials, a silent server."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scorer.storage.local_files import ABSENT
from scorer.storage.location import StoreUri
from scorer.storage.object_store import ObjectStore, StoreError
from scorer.system import waiting

obstore = pytest.importorskip("obstore", reason="the extra `objects` is not installed")
OUT = StoreUri("s3", "bucket", "runs/a b")
PASSWORD = "hunter22"
Happens = Callable[[str], object]


def flaky(monkeypatch: pytest.MonkeyPatch, before: Happens = str, after: Happens = str) -> ObjectStore:
    """A store where something happens before or after each put."""
    real = obstore.put

    def put(bucket: Any, key: str, value: bytes, **more: Any) -> Any:
        before(key)
        found = real(bucket, key, value, **more)
        after(key)
        return found

    monkeypatch.setattr(obstore, "put", put)
    return ObjectStore(OUT)


def test_a_lost_acknowledgement_is_no_refusal(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    left = ["new"]

    def lose(key: str) -> None:
        name = key.rpartition("/")[2]
        if name in left:
            left.remove(name)
            raise obstore.exceptions.GenericError("connection closed")

    store = flaky(monkeypatch, after=lose)
    first = store.write("new", b"1", expect=ABSENT)
    assert first == store.list("new")["new"].version and store.read("new") == b"1"
    left.append("new")
    second = store.write("new", b"2", expect=first)
    assert second == store.list("new")["new"].version and store.read("new") == b"2" and left == []
    assert store.write("new", b"3", expect=ABSENT) is None, "another call's object is a refusal"


def test_a_conflict_is_tried_again(memory: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """409 looks like 412: the object is as it was expected, so the write is repeated."""
    left = [0]

    def refuse(key: str) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise obstore.exceptions.AlreadyExistsError("409 Conflict")

    store = flaky(monkeypatch, before=refuse)
    for expect in (ABSENT, None):
        left[0] = 2
        assert store.write("new", b"1", expect=expect) is not None and left == [-1]
    (tmp_path / "file").write_bytes(b"content")
    left[0] = 2
    assert store.publish(tmp_path / "file", "file").size == 7 and store.read("file") == b"content"


def test_a_large_file_is_sent_in_parts(memory: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("scorer.storage.object_store.LARGEST_PUT", 1 << 20)
    content = os.urandom((40 << 20) + 7)
    (tmp_path / "file").write_bytes(content)
    store = ObjectStore(OUT)
    info = store.publish(tmp_path / "file", "deep/file")
    found = store.list("deep/file")["deep/file"]
    assert (info.size, info.version) == (found.size, found.version) and not (tmp_path / "file").exists()
    with store.open("deep/file", info.version) as file:
        assert file.read(len(content) + 1) == content


def test_errors_have_no_credentials(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "AWS_SECRET_ACCESS_KEY", "canary-secret-1")
    monkeypatch.setitem(os.environ, "AWS_SESSION_TOKEN", "canary-token-22")

    def fail(key: str) -> None:
        raise obstore.exceptions.PermissionDeniedError("refused for canary-secret-1 and canary-token-22\n\nDebug: x")

    for expect in (ABSENT, None):
        with pytest.raises(StoreError, match=r"refused for \*\*\* and \*\*\*") as caught:
            flaky(monkeypatch, before=fail).write("key", b"", expect=expect)
        assert "canary" not in str(caught.value) and "docs/stores.md" in str(caught.value)


@pytest.mark.parametrize(("call", "given"), [("read", ["key"]), ("list", []), ("write", ["key", b"x"])])
def test_a_call_that_is_not_answered_says_so_within_ten_seconds_and_a_signal_ends_it(
    call: str, given: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def ring(*_: Any) -> None:
        raise KeyboardInterrupt

    assert waiting.LATE_S + 1 < 10
    monkeypatch.setattr(waiting, "LATE_S", 0.0)
    before = signal.signal(signal.SIGALRM, ring)
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes connections and never answers
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
            monkeypatch.setenv(name, "us-east-1")
        silent = ObjectStore(StoreUri("s3", "bucket", "out"))
        signal.setitimer(signal.ITIMER_REAL, 1.5)
        try:
            with caplog.at_level(logging.WARNING), pytest.raises(KeyboardInterrupt):
                getattr(silent, call)(*given)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    assert caplog.messages == ["s3://bucket does not answer; waiting"]
