"""The session of one ONNX file: calls that can be given up, checked outputs, a retry after out of memory.

A call that does not fit the memory of the device is made in smaller ones, and what did not fit once is not tried
again: later batches are cut from the start. The call after a failure gives the unused memory of the runtime's arena
back to the device, since what the arena holds in pieces cannot serve a larger request. Where the smallest call does not
fit, the session is opened again, once, and after that the pair has no answer.

All calls are made in threads of their own, for two reasons. While a call is under way Python answers no signal in the
thread that made it, so that whoever asks waits elsewhere, and the runtime is told to give up what nobody waits for. And
a provider plans, and opens handles of its libraries, for each thread that calls it, so that a device has one. The next
calls wait in it already when one ends: the device does not wait for other threads to hand them over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import BundleError, CallError
from ..status import OUT_OF_MEMORY
from ..system.progress import advance
from ..system.waiting import outcome
from .batches import Batch, Feed, Layout, Work
from .devices import Device, is_out_of_memory
from .sessions import create_session, first_line, runtime

_NOTICE_S = 5.0
"""How long :meth:`Calls.end` waits for calls that were told to end; the runtime looks between two nodes of a graph."""

Result = TypeVar("Result")


class OutOfMemoryError(Exception):
    """A call failed for want of memory; a smaller one may not."""


class Calls:
    """The calls of an engine's sessions that are under way, and the thread that makes them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: list[Any] = []
        self._ended = False
        self._own: set[int] = set()
        self._threads = ThreadPoolExecutor(1, "call", lambda: self._own.add(threading.get_ident()))
        self.done = 0
        """Calls that came to an end, for progress."""

    def submit(self, action: Callable[[], Result]) -> Future[Result]:
        """Have something done in the thread, after what was submitted before."""
        return self._threads.submit(action)

    def owned(self, action: Callable[[], Result]) -> Result:
        """Do something in the thread, and wait for it; at once where this is that thread."""
        if threading.get_ident() in self._own:
            return action()
        waiting = self.submit(action)
        try:
            return outcome(waiting)
        except BaseException:  # a signal: nobody waits for this call any more
            if not waiting.done():
                self.give_up()
            raise

    def run(self, session: Any, feed: Feed, settings: Mapping[str, str]) -> Any:
        """One call of the runtime, in this thread: the logits as they come.

        Raises:
            CancelledError: it was given up. Otherwise what the runtime raises.
        """
        options = runtime().RunOptions()
        for name, value in settings.items():
            options.add_run_config_entry(name, value)
        with self._changed:
            if self._ended:
                raise CancelledError
            self._running.append(options)
        try:
            return session.run(["logits"], feed, options)[0]
        except Exception as e:
            if options.terminate:
                raise CancelledError from e
            raise
        finally:
            with self._changed:
                self.done += 1
                advance()
                self._running.remove(options)
                self._changed.notify_all()

    def give_up(self) -> None:
        """Have the calls that are under way end, as soon as the runtime looks."""
        with self._changed:
            for options in self._running:
                options.terminate = True

    def end(self) -> bool:
        """Give up what is under way and allow no more; tells whether all calls have ended."""
        self._ended = True
        self.give_up()
        with self._changed:
            idle = self._changed.wait_for(lambda: not self._running, _NOTICE_S)
        self._threads.shutdown(wait=idle, cancel_futures=True)
        return idle


class ModelSession:
    """A session of one ONNX file on one device, with what it takes to open it again.

    Args:
        where: variant and device, for messages.
        model: the checked ONNX file.
        labels: logits a pair.
        calls: whose threads open it and call it.
        layout: how the inputs of a batch are put together, and how a batch becomes smaller ones.
        warn: told when a batch did not fit.
        options: of the provider, in addition to those of the device's row.

    Raises:
        DeviceError: it does not start.
    """

    def __init__(
        self,
        where: str,
        model: Path,
        device: Device,
        threads: int,
        labels: int,
        calls: Calls,
        layout: Layout,
        warn: Callable[[str], None],
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.device = device
        self.layout = layout
        self._where = where
        self._labels = labels
        self._calls = calls
        self._warn = warn
        self._open: Callable[[], Any] = lambda: create_session(model, device, threads, options)
        self.session = calls.owned(self._open)
        """The runtime's own session, for measurements."""
        self.inputs: tuple[str, ...] = tuple(node.name for node in self.session.get_inputs())
        """Names of the graph's inputs."""
        self._opened_again = False
        self._limit: int | None = None
        self._failed = False

    def feed(self, batch: Batch, work: Work) -> Feed:
        """The inputs of a batch's call, as the graph names them."""
        made = self.layout.assemble(batch, work)
        return {name: made[name] for name in self.inputs}

    def compute(self, batch: Batch, work: Work, logits: npt.NDArray[np.float32], feed: Feed | None = None) -> None:
        """Write the logits of a batch's pairs, float32, *Shape:* (pairs, labels); what does not fit gets a status.

        Args:
            feed: of :meth:`feed`, where it was put together beforehand.
        """
        if self._limit is not None and batch.tokens > self._limit:
            smaller = self.layout.smaller(batch, work.lengths)
            if smaller:
                self._each(smaller, work, logits)
                return
        if feed is None:
            feed = self.feed(batch, work)
        after_failure, self._failed = self._failed, False
        try:
            logits[batch.pairs] = self.run(feed, batch.rows, shrink=after_failure)[: len(batch.pairs)]
        except OutOfMemoryError:
            self._retry(batch, work, logits)

    def run(self, feed: Feed, rows: int, *, shrink: bool = False) -> npt.NDArray[np.float32]:
        """One call: logits, float32, *Shape:* (rows, labels).

        Args:
            rows: pairs of the call.
            shrink: give the memory that the arena does not use back to the device when the call has ended.

        Raises:
            OutOfMemoryError: it does not fit the memory. CancelledError: it was given up.
            CallError: it failed. BundleError: its outputs are not logits.
        """
        arena = self.device.row.arena
        settings = {"memory.enable_memory_arena_shrinkage": f"{arena}:{self.device.index}"} if shrink and arena else {}
        try:
            found = self._calls.owned(lambda: self._calls.run(self.session, feed, settings))
        except CancelledError:
            raise
        except Exception as e:  # the runtime raises its own classes, which share only Exception
            if is_out_of_memory(e):
                raise OutOfMemoryError(first_line(e)) from e
            raise CallError(
                f"{self._where}: a call of the model failed: {first_line(e)}; see `scorer doctor`, or choose another "
                "--precision or --device"
            ) from e
        shape, kind = getattr(found, "shape", None), getattr(found, "dtype", type(found).__name__)
        if shape != (rows, self._labels) or kind not in (np.float32, np.float16):
            raise BundleError(
                f"{self._where}: the model gives logits of the shape {shape} and type {kind} for {rows} pairs, "
                f"expected ({rows}, {self._labels}) and float32; export it again"
            )
        logits: npt.NDArray[np.float32] = found.astype(np.float32, copy=False)
        return logits

    def _retry(self, batch: Batch, work: Work, logits: npt.NDArray[np.float32]) -> None:
        self._failed = True
        smaller = self.layout.smaller(batch, work.lengths)
        if smaller:
            self._limit = batch.tokens // 2
            self._warn(
                f"a batch of {len(batch.pairs)} pairs of up to {batch.sequence_length} tokens does not fit "
                f"{self.device}; from here on batches have at most {self._limit} tokens"
            )
            self._each(smaller, work, logits)
        elif self.device.row.arena and not self._opened_again:
            self._opened_again = True
            self.session = None  # its memory first
            self.session = self._calls.owned(self._open)
            self._warn(f"a batch of {batch.tokens} tokens does not fit {self.device}; the session was opened again")
            self.compute(batch, work, logits)
        else:
            work.status[batch.pairs] = OUT_OF_MEMORY
            self._warn(f"a pair of {batch.sequence_length} tokens does not fit the memory of {self.device}")

    def _each(self, batches: list[Batch], work: Work, logits: npt.NDArray[np.float32]) -> None:
        for batch in batches:
            self.compute(batch, work, logits)
