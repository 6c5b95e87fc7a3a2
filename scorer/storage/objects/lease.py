"""The lease of an output in an object store: an object with a line about the holder, written again as a heartbeat.

There is no flock here. Each heartbeat replaces the version that this holder wrote last, so that a holder that was taken
over notices. Whether another holder is alive is seen from its object: it is replaced every
:data:`scorer.storage.lease.BEAT_S` seconds. One that was killed on this machine is noticed at once.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from ...errors import OutputError
from ...system.process_marks import has_ended
from ...system.waiting import interruptible
from ..lease import BEAT_S, EXPIRY_S, Part, goes_with, is_lock, lock_name, part_named
from ..lock_files import Activity, block, described, held_by, new_holder, parsed
from ..store import ABSENT
from .bucket import BucketStore
from .store import StoreError

_POLL_S = 0.5
_RELEASE_S = 5.0
"""How long the end of a run waits for a store that does not answer; its lease expires by itself."""


class StoreLease:
    """A lease that this process holds until :meth:`release`; made by :func:`take`."""

    def __init__(self, store: BucketStore, name: str, version: str, holder: Mapping[str, object]) -> None:
        self.token = str(holder["token"])
        self._store, self._name, self._version = store, name, version
        self._holder = holder
        self.activity = Activity()
        self._lost = False
        self._beaten = _now()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lease", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Check that no other run has taken over the lease. A request is made only if the last heartbeat is old, as
        after this process was suspended.

        Raises:
            OutputError: another run has the lease now; nothing more may be written.
        """
        if not self._lost and _now() - self._beaten > EXPIRY_S / 2:
            found = self._store.read(self._name)
            self._lost = found is None or parsed(found[0]).get("token") != self.token
        if self._lost or self._ended.is_set():  # a thread may still publish when the run was interrupted
            raise OutputError(
                f"{self._store.uri(self._name)}: another run took over this output, because this run's heartbeat "
                "stopped; run again when the other run has ended"
            )

    def release(self) -> None:
        """Give the lease back."""
        if self._ended.is_set():
            return
        self._ended.set()
        with suppress(StoreError, TimeoutError):
            interruptible(self._give_back, lambda: None, limit_s=_RELEASE_S)

    def _give_back(self) -> None:
        self._thread.join()  # a heartbeat on its way would write the object again
        found = self._store.read(self._name)
        if found is not None and parsed(found[0]).get("token") == self.token:
            self._store.delete([self._name])

    def others(self) -> dict[str, str]:
        """The other parts that run now: names of their locks, and their tokens."""
        return {
            name: str(line.get("token"))
            for name, line in _lines(self._store).items()
            if name != self._name and not has_ended(line.get("process"))
        }

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            began = _now()
            with suppress(StoreError):  # the store is away; the lease is checked again before anything is written
                version = self._store.put(self._name, _line(self._holder, self.activity), self._version)
                if version is None:
                    self._lost = True
                    return
                self._version, self._beaten = version, began


def take(store: BucketStore, part: Part | None, say: Callable[[str], None]) -> StoreLease:
    """Take the lease of a whole run, or of a part.

    Raises:
        OutputError: another run holds it (says which), or the store cannot be used.
    """
    name, holder = lock_name(part), new_holder()
    found = store.read(name)
    version = store.put(name, _line(holder), ABSENT) if found is None else None
    if found is not None:
        _await_end(store, name, say)
        there = store.look(name)
        version = store.put(name, _line(holder), there.version if there is not None else ABSENT)
    if version is None:
        raise _held(store, name)
    try:
        for other, line in _lines(store).items():
            if other != name and not goes_with(name, other) and not has_ended(line.get("process")):
                _await_end(store, other, say)
    except OutputError:
        store.delete([name])
        raise
    return StoreLease(store, name, version, holder)


def _await_end(store: BucketStore, name: str, say: Callable[[str], None]) -> None:
    """Return once nobody holds a lease.

    Raises:
        OutputError: its heartbeat changes.
    """
    found = store.read(name)
    if found is None or has_ended(parsed(found[0]).get("process")):
        return
    say(f"{store.place}: waiting up to {EXPIRY_S:.0f} s for a heartbeat of {described(parsed(found[0]))}")
    deadline = time.monotonic() + EXPIRY_S
    while time.monotonic() < deadline:
        time.sleep(min(_POLL_S, EXPIRY_S / 4))
        there = store.look(name)
        if there is None:
            return
        if there.version != found[1]:
            raise _held(store, name)


def _held(store: BucketStore, name: str) -> OutputError:
    found = store.read(name)
    return held_by(store.place, parsed(found[0]) if found is not None else {}, part_named(name))


def _lines(store: BucketStore) -> dict[str, dict[str, object]]:
    names = [name for name in store.list_top() if is_lock(name)]
    return {name: parsed(found[0]) for name in names if (found := store.read(name)) is not None}


def _line(holder: Mapping[str, object], activity: Activity | None = None) -> bytes:
    return block({**holder, "beat": secrets.token_hex(4)}, activity or Activity())


def _now() -> float:
    """Seconds on a clock that goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()
