"""A store that accepts connections and never answers: a message within ten seconds, and a signal ends the wait."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from scorer.storage.location import StoreUri
from scorer.storage.objects.client import StoreError
from scorer.storage.objects.store import BucketStore
from scorer.system import waiting

pytest.importorskip("obstore")
PASSWORD = "hunter22"


class _AlarmError(BaseException):
    """As Terminated is, no Exception."""


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketStore]:
    """A bucket whose server takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        _environment(monkeypatch, f"http://127.0.0.1:{server.getsockname()[1]}")
        yield BucketStore(StoreUri("s3", "bucket", "out"))


def _environment(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    for name, value in (("ENDPOINT_URL", endpoint), ("ACCESS_KEY_ID", "a"), ("SECRET_ACCESS_KEY", "b")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_REGION", "us-east-1")


@pytest.mark.parametrize("call", ["read", "list_top", "put"])
def test_a_call_that_is_not_answered_says_so_and_a_signal_ends_it(
    silent: BucketStore, call: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def ring(*_: Any) -> None:
        raise _AlarmError

    assert waiting.LATE_S + 1 < 10
    monkeypatch.setattr(waiting, "LATE_S", 0.0)
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    given = {"put": ("key", b"x"), "read": ("key",)}.get(call, ())
    try:
        with caplog.at_level(logging.WARNING), pytest.raises(_AlarmError):
            list(getattr(silent, call)(*given) or ())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert caplog.messages == ["s3://bucket does not answer; waiting"]


def test_a_password_in_the_endpoint_is_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    _environment(monkeypatch, f"http://user:{PASSWORD}@127.0.0.1:{port}")  # where nobody listens any more
    store = BucketStore(StoreUri("s3", "bucket", "out"), patient=False)
    with pytest.raises(StoreError) as caught:
        store.read("key")
    assert PASSWORD not in str(caught.value) and "cannot read s3://bucket/out/key" in str(caught.value)
