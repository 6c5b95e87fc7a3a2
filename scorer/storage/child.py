"""The parent's hold on one reader process: start it, ask it, hear from it or not, end it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from .frames import HEADER, HEADER_LIMIT

_ROOT = Path(__file__).resolve().parents[2]


class EndedError(Exception):
    """The process ended, or was ended, before it had answered; the message says how."""


class StalledError(Exception):
    """Nothing was heard from the process for as long as was allowed."""


class Child:
    """One reader process. One thread asks and listens; :meth:`end` may be called by another."""

    def __init__(self, memory_bytes: int) -> None:
        self._limit = memory_bytes
        # What it prints before it crashes is worth a line in the error; kept in memory, so that no disk is needed.
        self._complaints = os.memfd_create("reader-stderr", os.MFD_CLOEXEC)
        self._listening = threading.Lock()
        self._ended = False
        # -P: a json.py in the current folder must not become the one that reads. The package is found all the same.
        command = [sys.executable, "-P", "-m", "scorer.storage.reader", str(os.getpid()), str(memory_bytes)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                bufsize=0,
                close_fds=True,
                env=_environment(),
                process_group=0,  # Ctrl-C in the terminal is for the parent
            )
        except OSError as error:
            os.close(self._complaints)
            raise EndedError(f"could not be started: {error.strerror}") from error
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._poll = select.poll()
        self._poll.register(self._replies, select.POLLIN)

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        """Whether it can be asked."""
        return not self._ended and self._process.poll() is None

    def ask(self, request: dict[str, Any]) -> None:
        """Send a request.

        Raises:
            EndedError: nobody is there to take it.
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
        """Kill the process and let go of it. Whoever is listening hears that it ended."""
        self._ended = True
        self._process.kill()
        with self._listening:  # not while another thread reads: the descriptor's number may be given out again
            self._process.wait()
            for file in (self._requests, self._replies):
                with suppress(OSError):
                    file.close()
            if self._complaints >= 0:
                os.close(self._complaints)
                self._complaints = -1

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
            view = view[count:]
        return found

    def _how(self) -> str:
        """How the process ended, and the last line it printed."""
        if self._ended:
            return "was ended"
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "closed its output"
        how = f"exit code {code}"
        if code < 0:
            with suppress(ValueError):
                how = signal.Signals(-code).name
        lines = os.pread(self._complaints, 1 << 16, 0).decode("utf-8", "replace").strip().splitlines()
        return how + (f": {lines[-1][:200]}" if lines else "")


def _environment() -> dict[str, str]:
    """The caller's environment, with one thread everywhere and memory taken from the system's own allocator.

    Other allocators reserve address space far beyond what they use, which a bounded address space does not allow.
    """
    found = dict(os.environ)
    paths = [path for path in found.get("PYTHONPATH", "").split(os.pathsep) if path]
    found.update(
        PYTHONPATH=os.pathsep.join([*paths, str(_ROOT)]),
        ARROW_DEFAULT_MEMORY_POOL="system",
        OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
        MALLOC_ARENA_MAX="2",
        # Buffers of a few MB come and go with each batch; given back to the kernel, they would be zeroed each time.
        MALLOC_MMAP_THRESHOLD_=str(32 << 20),
        MALLOC_TRIM_THRESHOLD_=str(256 << 20),
    )
    return found
