"""A worker process: started as ``python -P -m MODULE FD``, spoken to in structs over one connection, ended for sure.

Data and models are handled by native code that may crash, hang or take all memory, so that happens in a worker. The
parent decides when it ends; a worker ends by itself when its connection closes or its parent is gone. Not
:mod:`multiprocessing`, which runs the user's script again, fails without a ``__main__`` guard and from standard input.
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from .codec import decode, encode

_ROOT = str(Path(__file__).resolve().parents[2])
_GRACE_SECONDS = 1.0
_PR_SET_PDEATHSIG = 1


class WorkerEnd(NamedTuple):
    """The way in which a worker ended.

    Attributes:
        reason: continues "the worker …".
        may_lack_memory: the system ended it, as it does where memory is short.
    """

    reason: str
    may_lack_memory: bool = False


@dataclass(eq=False)
class Channel:
    """One end of a connection. Any thread may send; one thread receives."""

    connection: Connection
    receives: Any
    """The type of the messages that it receives: a tagged struct, or a union of them."""
    _sending: threading.Lock = field(default_factory=threading.Lock, init=False)

    def send(self, message: Any) -> None:
        """Send a message. If the other end is closed, only :meth:`receive` raises."""
        content = encode(message)
        with self._sending, suppress(OSError):
            self.connection.send_bytes(content)

    def receive(self) -> Any:
        """The next message. Raises :class:`EOFError` or :class:`OSError` if the other end is closed."""
        return decode(self.connection.recv_bytes(), self.receives, "a message between driver and worker")


class WorkerHandle(Channel, ABC):
    """The parent's end of the connection to a worker, wherever that runs."""

    @abstractmethod
    def kill(self) -> None:
        """Kill it and its child processes, without waiting for their end."""

    @abstractmethod
    def close(self) -> None:
        """End it. A second call does nothing."""

    @abstractmethod
    def end(self) -> WorkerEnd:
        """End it, and say how it ended."""


class WorkerProcess(WorkerHandle):
    """A process that runs a ``module``, which calls :func:`serve` with its only argument.

    Its standard output and error are one pipe; the last lines of it are kept, and nothing that a library prints reaches
    the parent's standard output. A process group of its own keeps Ctrl-C from it; ``-P`` keeps it from importing
    modules of the working directory. On Linux the kernel kills it when the *thread* that started it ends.
    """

    def __init__(self, module: str, replies: Any) -> None:
        parent_end, worker_end = Pipe()
        paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        try:
            with worker_end:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", module, str(worker_end.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=[worker_end.fileno()],
                    process_group=0,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join([*paths, _ROOT])},
                )
        except BaseException:
            parent_end.close()
            raise
        super().__init__(parent_end, replies)
        assert self._process.stdout is not None
        self._output, self._printed = self._process.stdout, deque[bytes](maxlen=16)
        lines = iter(partial(self._output.readline, 4096), b"")
        self._reader = threading.Thread(target=self._printed.extend, args=(lines,), name="worker output", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """It ends by itself when the connection closes, or it is killed."""
        self.connection.close()
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._reader.join(_GRACE_SECONDS)
        if not self._reader.is_alive():
            self._output.close()

    def end(self) -> WorkerEnd:
        """With the last line that it printed: "ended with SIGKILL (often for want of memory): …"."""
        self.close()
        code, lines = self._process.returncode, [line.decode(errors="replace").strip() for line in self._printed]
        names = {number.value: number.name for number in signal.Signals}
        end_status = f"exit code {code}" if code >= 0 else names.get(-code, f"signal {-code}")
        was_killed = code == -signal.SIGKILL
        hint = " (often for want of memory)" if was_killed else ""
        last = next(filter(None, reversed(lines)), "")
        return WorkerEnd(f"ended with {end_status}{hint}" + (f": {last[:300]}" if last else ""), was_killed)


def serve(descriptor: int, requests: Any) -> tuple[Channel, queue.SimpleQueue[Any]]:
    """In the worker: leave signals to the parent, end with it, and receive requests in a thread.

    Returns the channel to reply on, and the queue of requests. The process ends when the connection closes, whatever
    its other threads do.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        with suppress(OSError):  # where memory is short, the system ends a worker, and not its parent
            Path("/proc/self/oom_score_adj").write_text("1000")
    channel = Channel(Connection(descriptor), requests)
    received: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                received.put(channel.receive())
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=listen, name="requests", daemon=True).start()
    return channel, received
