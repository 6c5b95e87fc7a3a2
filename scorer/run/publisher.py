"""Publishing shards in other threads, so that syncs and requests of several overlap, and the device does not wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait

from ..system.closing import Closing
from ..system.waiting import any_of

AT_ONCE = 8
"""Shards that are published at the same time, at most."""
_CLOSE_S = 5.0


class Publisher(Closing):
    """Makes calls, each in a thread of its own. What one raises is raised by the next :meth:`put` or :meth:`finish`.

    Nobody waits long for a thread after an error or a signal: a store may not answer.
    """

    def __init__(self) -> None:
        self._running: list[Future[None]] = []

    def put(self, call: Callable[[], None]) -> None:
        """Make a call, as soon as fewer than :data:`AT_ONCE` are made."""
        self._collect()
        while len(self._running) >= AT_ONCE:
            any_of(self._running)
            self._collect()
        future: Future[None] = Future()

        def work() -> None:
            try:
                call()
                future.set_result(None)
            except BaseException as error:
                future.set_exception(error)

        self._running.append(future)
        threading.Thread(target=work, name="publishing", daemon=True).start()

    def finish(self) -> None:
        """Wait until all calls have ended."""
        while self._running:
            any_of(self._running)
            self._collect()

    def close(self) -> None:
        """Wait a little for calls that are made."""
        wait(self._running, _CLOSE_S)
        self._running = []

    def _collect(self) -> None:
        ended = [future for future in self._running if future.done()]
        self._running = [future for future in self._running if future not in ended]
        for future in ended:
            future.result()
