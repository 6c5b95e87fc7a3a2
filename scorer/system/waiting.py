"""Signals, threads and progress: waits that a signal ends, owners that are closed however their block ends, and a
counter that a monitor reads to tell a busy process from a hung one."""

from __future__ import annotations

import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NoReturn, Self, TypeVar

from .starting import has_default_handler

Item = TypeVar("Item")
Result = TypeVar("Result")
LATE_S = 8.0
"""Seconds after which a caller gets a message that it still waits."""
_LOOK_S = 1.0
_PROMPT_S = 0.0005
_LOCK = threading.Lock()
_intervals: list[float] = []
"""The interval before, for each that has asked for a shorter one; the first is restored when the last has ended."""


class Closing(ABC):
    """An owner of threads, processes, files or locks, closed when its ``with`` block ends or by :meth:`close`."""

    @abstractmethod
    def close(self) -> None:
        """Release the threads, processes, files or locks; a second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class Terminated(BaseException):
    """SIGTERM or SIGHUP was received; the current window is dropped, and the run can be resumed."""


_received: list[type[BaseException]] = []
"""Exceptions of signals since :func:`signals_raise` was entered. A raised exception alone may be lost: Python drops an
exception while an object is deleted, and an extension module that is being loaded turns it into an ImportError."""


def check_signals() -> None:
    """Raise what a signal raised in this context, even if that was raised already and lost."""
    if _received and threading.current_thread() is threading.main_thread():
        raise _received[-1]


@contextmanager
def signals_raise() -> Iterator[None]:
    """In this context, SIGTERM raises :class:`Terminated` in the main thread, and a second one ends the process at
    once; so does SIGHUP, unless it is ignored (nohup). SIGINT raises ``KeyboardInterrupt``, unless it is ignored or has
    another handler than Python's. Whatever else ends the context after a signal, it ends with what the signal
    raised."""

    def terminated(number: int, frame: Any) -> None:
        signal.signal(number, signal.SIG_DFL)
        _received.append(Terminated)
        raise Terminated

    def interrupted(number: int, frame: Any) -> None:
        _received.insert(0, KeyboardInterrupt)
        raise KeyboardInterrupt

    try:
        before = {signal.SIGTERM: signal.signal(signal.SIGTERM, terminated)}
    except ValueError:  # not in the main thread: the caller handles the signals
        yield
        return
    if has_default_handler(signal.SIGHUP):
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, terminated)
    if has_default_handler(signal.SIGINT):
        before[signal.SIGINT] = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
        check_signals()
    except (Terminated, KeyboardInterrupt):
        raise
    except BaseException as error:
        if _received:
            raise _received[-1] from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _received.clear()


def result_of(future: Future[Result], tick: Callable[[], None] = lambda: None) -> Result:
    """The result of a future, or its exception; Ctrl-C ends the wait at once. ``tick``: called about once a second. The
    wait is limited and repeated: a library may install a handler of SIGINT with SA_RESTART, and then Python does not
    see it."""
    while True:
        try:
            return future.result(timeout=_LOOK_S)
        except TimeoutError:
            if future.done():  # it ended just now, or the work itself raised this
                return future.result()
            check_signals()
            tick()


def in_thread(call: Callable[[], Result]) -> Future[Result]:
    """Make a call in a daemon thread: the interpreter does not wait for it at exit."""
    future: Future[Result] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future


def map_in_threads(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Results of ``work`` for each item, in order, several at a time; a signal or an error ends the wait at once."""
    pool = ThreadPoolExecutor(threads)
    try:
        return [result_of(future) for future in [pool.submit(work, item) for item in items]]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def call_interruptibly(call: Callable[[], Result], late: Callable[[], None], limit_s: float | None = None) -> Result:
    """Result of a call into a library; a signal ends the wait, though the library looks for none. In other threads than
    the main one, which get no signals, the call is made as it is.

    Args:
        late: called once, when the call has not returned after :data:`LATE_S` seconds.
        limit_s: longest wait in the main thread, in seconds.

    Raises:
        TimeoutError: the call took longer than ``limit_s``.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    started, remarks = time.monotonic(), iter([late])

    def tick() -> None:
        waited = time.monotonic() - started
        if limit_s is not None and waited > limit_s:
            raise TimeoutError
        if waited > LATE_S:
            next(remarks, lambda: None)()

    return result_of(in_thread(call), tick)


@contextmanager
def prompt_switching() -> Iterator[None]:
    """Let threads switch after half a millisecond instead of Python's five: a thread that feeds a device must not wait
    for other threads between two calls, while the device does nothing."""
    with _LOCK:
        _intervals.append(sys.getswitchinterval())
        sys.setswitchinterval(min(_intervals[0], _PROMPT_S))
    try:
        yield
    finally:
        with _LOCK:
            before = _intervals.pop()
            if not _intervals:
                sys.setswitchinterval(before)


steps = 0
"""Progress of this process: how often something that may take long was done, such as bytes hashed, calls of a model,
windows read. An upload does not count: it is one request, and the client of the store limits its time."""
_limited: list[None] = []
"""One for each :func:`without_hang_limit` that lasts."""


def note_progress() -> None:
    """Note that something was done."""
    global steps  # an increment that two threads share may be lost; only whether the number changes is looked at
    steps += 1


@contextmanager
def without_hang_limit() -> Iterator[None]:
    """Do not count the process as hanging in this context: the work in it has a time limit of its own."""
    _limited.append(None)
    try:
        yield
    finally:
        _limited.pop()


def report_progress(say: Callable[[], object], every_s: float) -> None:
    """Call ``say`` in another thread, after each interval in which something was done or limited, until this process
    ends."""

    def watch() -> NoReturn:
        reported = -1
        while True:
            time.sleep(every_s)
            if (done := steps) != reported or _limited:
                reported = done
                say()

    threading.Thread(target=watch, name="progress", daemon=True).start()
