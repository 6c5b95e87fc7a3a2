"""Waiting for another thread so that a signal ends the wait, and waiting less long for the interpreter."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

Result = TypeVar("Result")
_LOOK_S = 1.0
_PROMPT_S = 0.0005
_LOCK = threading.Lock()
_PROMPT: list[float] = []
"""The interval to restore, once for each that has asked for a shorter one."""


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
            tick()


def any_of(futures: Sequence[Future[Any]], tick: Callable[[], None] = lambda: None) -> None:
    """Return when one of the futures has ended, in whatever way; Ctrl-C and ``tick`` as in :func:`outcome`."""
    while not wait(futures, _LOOK_S, FIRST_COMPLETED).done:
        tick()


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
