"""Workers as processes of this machine (``--devices``); see :class:`.pool.Crew`."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

from .devices import Slot
from .pool import Ended, Wrote
from .worker_process import end_of, start_process

_GRACE_S = 5.0


class LocalCrew:
    """A process for each slot.

    Args:
        module: run as ``python -m`` with messages on its standard input.
    """

    def __init__(self, slots: Sequence[Slot], module: str) -> None:
        self._slots, self._module = slots, module
        self._running: dict[Slot, subprocess.Popen[bytes]] = {}
        self._selector = selectors.DefaultSelector()

    def places(self) -> Sequence[Slot]:
        return self._slots

    def processors(self, place: Slot) -> tuple[int, ...]:
        return place.cpus

    def start(self, place: Slot) -> None:
        process = start_process(self._module)
        assert process.stdout is not None
        self._running[place] = process
        self._selector.register(process.stdout, selectors.EVENT_READ, place)

    def send(self, place: Slot, content: bytes) -> None:
        process = self._running.get(place)
        if process is not None and process.stdin is not None:
            with suppress(OSError, ValueError):  # it ended, which the end of its output tells
                process.stdin.write(content)
                process.stdin.flush()

    def listen(self, wait_s: float) -> Sequence[Wrote | Ended]:
        found: list[Wrote | Ended] = []
        if not self._running:
            time.sleep(min(wait_s, 0.05))
            return found
        for chosen, _ in self._selector.select(timeout=wait_s):
            place: Slot = chosen.data
            content = os.read(chosen.fd, 1 << 20)
            if content:
                found.append(Wrote(place, content))
                continue
            self._selector.unregister(chosen.fileobj)
            process = self._running.pop(place)
            code = process.wait()
            _release(process)
            found.append(Ended(place, f"ended with {end_of(code)}"))
        return found

    def kill(self, place: Slot) -> None:
        process = self._running.get(place)
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End all processes: ask them, then kill them."""
        for process in self._running.values():
            process.terminate()
        deadline = time.monotonic() + _GRACE_S
        for process in self._running.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            _release(process)
        self._running.clear()
        self._selector.close()


def _release(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
