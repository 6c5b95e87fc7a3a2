"""The parent's side of one reader process: start it, send requests, receive replies with a timeout, end it."""

from __future__ import annotations

import json
import os
import select
import threading
import time
from typing import Any

import numpy as np
import pyarrow as pa

from ...system.children import Spawned
from ...system.progress import advance
from .frames import HEADER, HEADER_LIMIT


class EndedError(Exception):
    """The process ended, or was ended, before it had answered; the message says how."""


class StalledError(Exception):
    """The process sent nothing within the timeout."""


class Child:
    """One reader process. One thread sends and receives; :meth:`end` may be called by another thread."""

    def __init__(self, memory_bytes: int) -> None:
        self._limit = memory_bytes
        self._listening = threading.Lock()
        self._ended = False
        try:
            self._spawned = Spawned("scorer.storage.reading.reader", [str(memory_bytes)])
        except OSError as error:
            raise EndedError(f"could not be started: {error.strerror}") from error
        self._process, self._requests, self._replies = (
            self._spawned.process,
            self._spawned.stdin,
            self._spawned.stdout,
        )
        self._poll = select.poll()
        self._poll.register(self._replies, select.POLLIN)

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        """Whether it accepts requests."""
        return not self._ended and self._process.poll() is None

    def ask(self, request: dict[str, Any]) -> None:
        """Send a request.

        Raises:
            EndedError: the process has ended.
        """
        try:
            self._requests.write(json.dumps(request).encode("ascii") + b"\n")
        except (OSError, ValueError) as error:
            raise EndedError(self._how()) from error

    def hear(self, timeout_s: float) -> tuple[dict[str, Any], pa.Buffer]:
        """Wait for the next frame: its header and payload.

        Raises:
            EndedError: the process ended.
            StalledError: not one byte came for ``timeout_s`` seconds.
        """
        with self._listening:
            if self._ended:
                raise EndedError(self._how())
            length = HEADER.unpack(self._read(HEADER.size, timeout_s).tobytes())[0]
            if length > HEADER_LIMIT:
                raise EndedError(f"sent a header of {length} bytes")
            header = json.loads(self._read(length, timeout_s).tobytes())
            payload = int(header["payload"])
            if payload > self._limit:
                raise EndedError(f"sent {payload} bytes at once")
            return header, pa.py_buffer(self._read(payload, timeout_s))

    def end(self) -> None:
        """Kill the process and release it. A thread that is receiving gets :class:`EndedError`."""
        self._ended = True
        self._process.kill()
        with self._listening:  # not while another thread reads: the number of the descriptor may be reused
            self._spawned.close()

    def _read(self, length: int, timeout_s: float) -> np.ndarray[Any, np.dtype[np.uint8]]:
        found = np.empty(length, np.uint8)
        view = found.data
        while view:
            deadline = time.monotonic() + timeout_s
            while not self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                if time.monotonic() >= deadline:
                    raise StalledError(f"no progress for {timeout_s:g} s")
            count = os.readv(self._replies.fileno(), [view])
            if not count:
                raise EndedError(self._how())
            advance()
            view = view[count:]
        return found

    def _how(self) -> str:
        return "was ended" if self._ended else self._spawned.how()
