"""Calls of the model: given up when asked, never waited for in the main thread alone, checked when they return.

A graph may loop for ever, and while a call is under way Python answers no signal in the thread that made it. So the
main thread leaves its calls to another thread and waits, and the runtime is told to give up what nobody waits for.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BundleError, DeviceError
from .sessions import first_line, is_out_of_memory, runtime

_NOTICE_S = 5.0
"""How long :meth:`Calls.end` waits for calls that were told to end; the runtime looks between two nodes of a graph."""


class OutOfMemoryError(Exception):
    """A call failed for want of memory; a smaller one may not."""


class Calls:
    """The calls that an engine makes of its sessions. ``where``: variant and device, for messages. ``labels``: logits a
    pair."""

    def __init__(self, where: str, labels: int) -> None:
        self._where = where
        self._labels = labels
        self._changed = threading.Condition()
        self._running: dict[int, Any] = {}
        self._given_up: set[int] = set()
        self._ended = False
        self.done = 0
        """Calls that came to an end."""
        self._others: ThreadPoolExecutor | None = None

    def run(self, session: Any, feed: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.float32]:
        """One call. int64, *Shape:* (pairs, tokens) each → logits, float32, *Shape:* (pairs, labels).

        Raises:
            OutOfMemoryError: it does not fit the memory. CancelledError: it was given up.
            DeviceError: it failed. BundleError: what it gave are no logits.
        """
        if threading.current_thread() is not threading.main_thread():
            return self._run(session, feed)
        if self._others is None:
            self._others = ThreadPoolExecutor(1, "call")
        waiting = self._others.submit(self._run, session, feed)
        try:
            return waiting.result()
        except BaseException:  # a signal: nobody waits for this call any more
            if not waiting.done():
                self.give_up()
            raise

    def give_up(self) -> None:
        """Have the calls that are under way end, as soon as the runtime looks."""
        with self._changed:
            for number, options in self._running.items():
                self._given_up.add(number)
                options.terminate = True

    def end(self) -> bool:
        """Give up what is under way and allow no more; tells whether all calls have ended."""
        self._ended = True
        self.give_up()
        with self._changed:
            idle = self._changed.wait_for(lambda: not self._running, _NOTICE_S)
        if self._others is not None:
            self._others.shutdown(wait=idle, cancel_futures=True)
        return idle

    def _run(self, session: Any, feed: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.float32]:
        options = runtime().RunOptions()
        number = id(options)
        with self._changed:
            if self._ended:
                raise CancelledError
            self._running[number] = options
        try:
            found = session.run(["logits"], feed, options)[0]
        except Exception as e:  # the runtime raises its own classes, which share only Exception
            if number in self._given_up:
                raise CancelledError from e
            if is_out_of_memory(e):
                raise OutOfMemoryError(first_line(e)) from e
            raise DeviceError(
                f"{self._where}: a call of the model failed: {first_line(e)}; see `scorer doctor`, or choose another "
                "--precision or --device"
            ) from e
        finally:
            with self._changed:
                self.done += 1
                self._running.pop(number)
                self._given_up.discard(number)
                self._changed.notify_all()
        return self._checked(found, len(next(iter(feed.values()))))

    def _checked(self, found: Any, pairs: int) -> npt.NDArray[np.float32]:
        shape, kind = getattr(found, "shape", None), getattr(found, "dtype", type(found).__name__)
        if shape != (pairs, self._labels) or kind not in (np.float32, np.float16):
            raise BundleError(
                f"{self._where}: the model gives logits of the shape {shape} and type {kind} for {pairs} pairs, "
                f"expected ({pairs}, {self._labels}) and float32; export it again"
            )
        logits: npt.NDArray[np.float32] = found.astype(np.float32, copy=False)
        return logits
