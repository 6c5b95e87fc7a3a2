"""The actor of ``--ray``: one on each GPU or share of a node's processors.

It runs the worker as a process of its own, as ``--devices`` does. So a model that crashes does not take the actor with
it, the driver learns how the process ended, and when Ray kills the actor, the process ends too. Messages pass through
Ray, never rows.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from ... import __version__
from ...errors import ScorerError
from ..processes import WORKER, kill_group, release, start_process, write_to
from .shipment import Parts, SentFile, place

MISSING = "missing"
"""The answer of a node that has to be sent the bundle."""

_GRACE_S = 8.0
"""After SIGTERM, how long the worker may take to end."""
_GATHER_S = 0.02
"""Events of such a time are told at once, so that the driver is not busy with them."""


class RayWorker:
    """Starts a worker process on its node and hands on what it writes. Methods take and return plain values, so that a
    node with another version of this program can say so."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._written = b""
        self._told = 0
        self._early: list[bytes] = []

    def begin(
        self, version: str, files: Sequence[SentFile] = (), parts: Parts | None = None, module: str = WORKER
    ) -> str:
        """Start the worker; empty, :data:`MISSING`, or why it is not started.

        Args:
            version: of the driver.
            files, parts: what the worker needs, and where it is in Ray's object store; see :func:`.shipment.place`.
            module: of the worker.
        """
        if version != __version__:
            return f"it has d2t-scorer {__version__}, the driver has {version}; install one version on all nodes"
        try:
            folder = place(files, parts, _taken_out)
        except ScorerError as error:
            return str(error)
        if folder is None:
            return MISSING
        self._process = start_process(*([folder] if folder else []), module=module)
        for content in self._early:
            self.send(content)
        return ""

    def send(self, content: bytes) -> None:
        """Tell the worker, as soon as it is started."""
        if self._process is None:
            self._early.append(content)
        else:
            write_to(self._process, content)

    def listen(self, wait_s: float, received: int) -> tuple[bytes, int | None]:
        """What the worker has written since the start, from a position on.

        A reply may be lost on its way; the driver then asks for the same position again.

        Args:
            wait_s: how long to wait if there is nothing.
            received: how many bytes the driver has.

        Returns:
            The bytes, and the exit code once the process has ended and all is told.
        """
        process = self._process
        assert process is not None and process.stdout is not None
        self._written, self._told = self._written[received - self._told :], received
        if not self._written and self._is_readable(wait_s):
            time.sleep(_GATHER_S)
            if content := os.read(process.stdout.fileno(), 1 << 20):
                self._written += content
            else:
                release(process)
        return self._written, process.returncode if process.stdout.closed and not self._written else None

    def stop(self) -> None:
        """End the worker: ask it, then kill it."""
        process = self._process
        if process is None or process.stdout is None or process.stdout.closed:
            return
        process.terminate()
        deadline = time.monotonic() + _GRACE_S
        while self._is_readable(deadline - time.monotonic()) and os.read(process.stdout.fileno(), 1 << 20):
            pass
        kill_group(process)
        release(process)

    def _is_readable(self, wait_s: float) -> bool:
        assert self._process is not None and self._process.stdout is not None
        if self._process.stdout.closed:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            return bool(selector.select(max(0.0, wait_s)))


def _taken_out(reference: Any) -> bytes:
    """A part of a file, out of Ray's object store."""
    import ray

    content: bytes = ray.get(reference)
    return content
