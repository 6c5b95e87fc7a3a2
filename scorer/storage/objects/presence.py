"""The workers of a joined run in an object store: their cards with heartbeats, the store's clock, and the brief lock.

There is no flock here. A worker is alive while its card ``_claims/worker-<token>.json`` is written again every
:data:`.lease.BEAT_S` seconds; what all workers share is changed by the holder of ``_lock.brief``, an object that is
replaced under the condition that it is still the version that was seen. Ages are differences of times of the store.
Both name the process that wrote them, so that one that was killed is noticed at once on its own machine.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from ...errors import OutputError
from ...system.closing import Closing
from ...system.process_marks import has_ended, own_mark
from ..lease import BEAT_S, BRIEF, EXPIRY_S
from ..lock_files import boot, described
from ..lock_files import parsed as _parsed
from ..workers import CLAIMS, WorkerLine
from .store import ObjectStore, Stored, StoreError
from .uri import StoreUri

_CARD = "worker-"
_POLL_S = 0.25


def card_name(token: str) -> str:
    """The path of a worker's card below the output."""
    return f"{CLAIMS}/{_CARD}{token}.json"


class StoreClock:
    """The store's clock: the time of an object that was written a moment ago, and what passed here since."""

    def __init__(self) -> None:
        self._at = 0.0, 0.0

    def saw(self, written: Stored, when: float) -> None:
        """Take over the time of an object. ``when``: monotonic, before it was written, so that no age is too large."""
        self._at = written.modified, when

    def now(self) -> float:
        """Seconds since 1970 on the store's clock."""
        modified, when = self._at
        return modified + time.monotonic() - when


def store_time(store: ObjectStore, out: StoreUri) -> float:
    """The present time on the store's clock, from an object that is written now and deleted again.

    Raises:
        StoreError: it cannot be written.
    """
    key = out.key(f"{CLAIMS}/clock-{secrets.token_hex(8)}")
    store.put_new(key, b"?")
    try:
        found = store.head(key)
    finally:
        store.delete([key])
    return found.modified if found is not None else time.time()


class Presence(Closing):
    """The card of this worker, written again while the context lasts.

    Args:
        token: of the worker.
    """

    def __init__(self, store: ObjectStore, out: StoreUri, token: str) -> None:
        self.clock = StoreClock()
        self._store, self._out, self._token = store, out, token
        self._key = out.key(card_name(token))
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._device = ""
        self._version: str | None = None
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Write the card, and keep writing it.

        Raises:
            StoreError: it cannot be written.
        """
        if self._thread is None:
            self._write()
            self._thread = threading.Thread(target=self._beat, name="presence", daemon=True)
            self._thread.start()

    def announce(self, device: str) -> None:
        """Say on which device this worker computes."""
        with self._guard:
            self._device = device
        self._write()

    def close(self) -> None:
        """Remove the card."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            with suppress(StoreError):
                self._store.delete([self._key])

    def _write(self) -> None:
        with self._guard:
            line = {"boot": boot(), "device": self._device, "host": socket.gethostname(), "pid": os.getpid(),
                    "process": own_mark(), "started": self._started, "token": self._token,
                    "beat": secrets.token_hex(4)}  # fmt: skip
            when = time.monotonic()
            content, version = json.dumps(line).encode("ascii"), None
            if self._version is not None:
                version = self._store.put_over(self._key, content, self._version)
            self._version = version or self._store.put_new(self._key, content)
            if (found := self._store.head(self._key)) is not None:
                self.clock.saw(found, when)

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            with suppress(OutputError):  # the next beat may succeed; without one, other workers take over
                self._write()


def silences(listed: Iterable[Stored], now: float) -> dict[str, float]:
    """By token, the seconds since the last heartbeat of each worker that has a card in a listing of ``_claims/``."""
    found = {}
    for one in listed:
        name = one.key.rpartition("/")[2]
        if name.startswith(_CARD) and name.endswith(".json"):
            found[name.removeprefix(_CARD).removesuffix(".json")] = max(0.0, now - one.modified)
    return found


def live_workers(store: ObjectStore, out: StoreUri, listed: Iterable[Stored], now: float) -> Iterator[WorkerLine]:
    """The workers with a card in a listing of ``_claims/`` that give signs of life, by their tokens.

    Raises:
        StoreError: a card cannot be read.
    """
    for token, silent_s in sorted(silences(listed, now).items()):
        if silent_s > EXPIRY_S:
            continue
        content = store.read(out.key(card_name(token)))
        line = _parsed(content[0]) if content is not None else {}
        if has_ended(line.get("process")):
            continue
        pid = line.get("pid")
        yield WorkerLine(
            token,
            str(line.get("host", "")),
            pid if isinstance(pid, int) else 0,
            str(line.get("device", "")),
            str(line.get("started", "")),
            silent_s,
        )


class BriefLock:
    """``_lock.brief`` of an output in a store, for one worker.

    Args:
        say: called when this waits for another worker.
    """

    def __init__(self, store: ObjectStore, out: StoreUri, token: str, say: Callable[[str], None]) -> None:
        self._store, self._out, self._token, self._say = store, out, token, say
        self._key = out.key(BRIEF)
        self._version: str | None = None
        self._guard = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; waits for another holder as long as it gives signs of life.

        Raises:
            StoreError: the store refuses.
        """
        self._take()
        ended = threading.Event()
        thread = threading.Thread(target=self._beat, args=(ended,), name="brief", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            with self._guard, suppress(StoreError):
                if self._version is not None:  # released by an object without a holder: no deletion has a condition
                    self._store.put_over(self._key, self._line(""), self._version)
                self._version = None

    def check(self) -> None:
        """Make sure that no other worker has taken the lock over, while it is held.

        Raises:
            OutputError: one has.
        """
        if self._version is None:
            raise OutputError(
                f"{self._out}: another worker took over {BRIEF}, since this one gave no sign of life; run again"
            )

    def _take(self) -> None:
        seen, since, said = "", 0.0, False
        while True:
            found = self._store.read(self._key)
            if found is None:
                self._version = self._store.put_new(self._key, self._line(self._token))
            else:
                line, version = _parsed(found[0]), found[1]
                if version != seen:
                    seen, since = version, time.monotonic()
                # Measured here and not on the store's clock: the version changes with each heartbeat.
                is_free = not line.get("token") or has_ended(line.get("process"))
                if is_free or time.monotonic() - since > EXPIRY_S:
                    self._version = self._store.put_over(self._key, self._line(self._token), version)
                elif not said and time.monotonic() - since > 2 * _POLL_S:
                    self._say(f"{self._out}: waiting for {described(line, 'a worker')}, which prepares the run")
                    said = True
            if self._version is not None:
                return
            time.sleep(_POLL_S)

    def _beat(self, ended: threading.Event) -> None:
        while not ended.wait(BEAT_S):
            with self._guard, suppress(StoreError):
                if self._version is not None:
                    self._version = self._store.put_over(self._key, self._line(self._token), self._version)

    def _line(self, token: str) -> bytes:
        """A line of the lock; no two are equal, so that no version of the object comes back."""
        line = {"host": socket.gethostname(), "pid": os.getpid(), "process": own_mark(), "token": token,
                "beat": secrets.token_hex(8), "started": datetime.now(UTC).isoformat(timespec="seconds")}  # fmt: skip
        return json.dumps(line).encode("ascii")
