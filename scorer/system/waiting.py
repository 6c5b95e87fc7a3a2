"""Waiting for another thread so that a signal ends the wait."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")
_LOOK_S = 1.0


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
