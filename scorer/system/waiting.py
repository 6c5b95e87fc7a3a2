"""Waiting for another thread so that a signal ends the wait, and waiting less long for the interpreter."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from .signals import check_signals

Item = TypeVar("Item")
Result = TypeVar("Result")
_LOOK_S = 1.0
_PROMPT_S = 0.0005
_LOCK = threading.Lock()
_PROMPT: list[float] = []
"""The interval to restore, once for each that has asked for a shorter one."""
LATE_S = 8.0
"""After so many seconds a caller is told that it still waits."""


def outcome(future: Future[Result], tick: Callable[[], None] = lambda: None) -> Result:
    """The future's result, or what it raised; Ctrl-C ends the wait at once.

    The wait is limited, and repeated: a library in the same process (polars is one) may install a handler of SIGINT
    with SA_RESTART, and then the system starts an unlimited wait again, and Python does not see the signal.

    Args:
        tick: called about once a second, for progress.
    """
    while True:
        try:
            return future.result(timeout=_LOOK_S)
        except TimeoutError:
            if future.done():  # it ended just now, or the work itself raised this
                return future.result()
            check_signals()
            tick()


def any_of(futures: Sequence[Future[Any]]) -> None:
    """Return when one of the futures has ended, in whatever way; Ctrl-C as in :func:`outcome`."""
    check_signals()
    while not wait(futures, _LOOK_S, FIRST_COMPLETED).done:
        check_signals()


@contextmanager
def prompt_switching() -> Iterator[None]:
    """Meanwhile a thread that wants the interpreter gets it within half a millisecond, instead of Python's five.

    A thread that feeds a device wants it between two calls, while the device does nothing; other threads compute.
    """
    with _LOCK:
        before = _PROMPT[0] if _PROMPT else sys.getswitchinterval()
        _PROMPT.append(before)
        sys.setswitchinterval(min(before, _PROMPT_S))
    try:
        yield
    finally:
        with _LOCK:
            _PROMPT.pop()
            if not _PROMPT:
                sys.setswitchinterval(before)


def interruptible(call: Callable[[], Result], late: Callable[[], None], limit_s: float | None = None) -> Result:
    """Result of a call into a library; a signal ends the wait, though the library looks for none.

    The call is made in a thread that nobody waits for at the end. In other threads than the main one, which get no
    signals, it is made as it is.

    Args:
        late: called once, when there is no answer after :data:`LATE_S` seconds.
        limit_s: longest wait, in the main thread.

    Raises:
        TimeoutError: the limit is over. What the call raises.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    began, told = time.monotonic(), False

    def tick() -> None:
        nonlocal told
        waited = time.monotonic() - began
        if limit_s is not None and waited > limit_s:
            raise TimeoutError
        if waited > LATE_S and not told:
            told = True
            late()

    return outcome(in_thread(call), tick)


def in_thread(call: Callable[[], Result]) -> Future[Result]:
    """Make a call in a thread of its own, for which no process waits at its end."""
    future: Future[Result] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future


def several(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> list[Result]:
    """Results of ``work`` for each item, in order, several at a time; a signal or an error ends the wait at once."""
    pool = ThreadPoolExecutor(threads)
    try:
        return [outcome(future) for future in [pool.submit(work, item) for item in items]]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
