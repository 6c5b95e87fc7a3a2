"""Calls of the model that can be given up, and whose output is checked.

A graph may loop forever, and while a call is under way Python answers no signal in the thread that made it. So the
main thread leaves its calls to another thread and waits, and the runtime is told to give up what nobody waits for.
Where a device belongs to one thread, all calls are left to that thread: a provider plans, and opens handles of its
libraries, for each thread that calls it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import BundleError, CallError
from ..system.waiting import outcome
from .devices import is_out_of_memory
from .sessions import first_line, run_options

_NOTICE_S = 5.0
"""How long :meth:`Calls.end` waits for calls that were told to end; the runtime looks between two nodes of a graph."""


class OutOfMemoryError(Exception):
    """A call failed for want of memory; a smaller one may not."""


Result = TypeVar("Result")


class Calls:
    """The calls that an engine makes of its sessions.

    Args:
        where: variant and device, for messages.
        labels: logits a pair.
        one_thread: whether one thread makes all of them.
        way_out: what else to choose where a call fails, for messages.
    """

    def __init__(
        self, where: str, labels: int, *, one_thread: bool = False, way_out: str = "--precision or --device"
    ) -> None:
        self._where = where
        self._labels = labels
        self._one_thread = one_thread
        self._way_out = way_out
        self._changed = threading.Condition()
        self._running: dict[int, Any] = {}
        self._given_up: set[int] = set()
        self._ended = False
        self.done = 0
        """Calls that came to an end."""
        self._others: ThreadPoolExecutor | None = None

    def run(
        self, session: Any, feed: Mapping[str, npt.NDArray[Any]], rows: int, *, shrink: str = ""
    ) -> npt.NDArray[np.float32]:
        """One call: logits, float32, *Shape:* (rows, labels).

        Args:
            feed: the inputs by name.
            rows: pairs of the call.
            shrink: the arena whose unused memory goes back to the device when the call has ended, as ``gpu:0``.

        Raises:
            OutOfMemoryError: it does not fit the memory. CancelledError: it was given up.
            CallError: it failed. BundleError: what it gave are no logits.
        """
        if not self._one_thread and threading.current_thread() is not threading.main_thread():
            return self._run(session, feed, rows, shrink)
        waiting = self._thread().submit(self._run, session, feed, rows, shrink)
        try:
            return outcome(waiting)
        except BaseException:  # a signal: nobody waits for this call any more
            if not waiting.done():
                self.give_up()
            raise

    def owned(self, action: Callable[[], Result]) -> Result:
        """Do something in the thread that the device belongs to; in the caller's where it belongs to none."""
        return outcome(self._thread().submit(action)) if self._one_thread else action()

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

    def _thread(self) -> ThreadPoolExecutor:
        if self._others is None:
            self._others = ThreadPoolExecutor(1, "call")
        return self._others

    def _run(
        self, session: Any, feed: Mapping[str, npt.NDArray[Any]], rows: int, shrink: str
    ) -> npt.NDArray[np.float32]:
        options = run_options(session)
        if shrink:
            options.add_run_config_entry("memory.enable_memory_arena_shrinkage", shrink)
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
            raise CallError(
                f"{self._where}: a call of the model failed: {first_line(e)}; see `scorer doctor`, or choose another "
                f"{self._way_out}"
            ) from e
        finally:
            with self._changed:
                self.done += 1
                self._running.pop(number)
                self._given_up.discard(number)
                self._changed.notify_all()
        return self._checked(found, rows)

    def _checked(self, found: Any, pairs: int) -> npt.NDArray[np.float32]:
        shape, kind = getattr(found, "shape", None), getattr(found, "dtype", type(found).__name__)
        if shape != (pairs, self._labels) or kind not in (np.float32, np.float16):
            raise BundleError(
                f"{self._where}: the model gives logits of the shape {shape} and type {kind} for {pairs} pairs, "
                f"expected ({pairs}, {self._labels}) and float32; export it again"
            )
        logits: npt.NDArray[np.float32] = found.astype(np.float32, copy=False)
        return logits
