"""SIGTERM as an exception, so that what a run holds is let go in order."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Terminated(BaseException):
    """SIGTERM came; the window in flight is given up and the run can be resumed."""


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """While it lasts, SIGTERM raises :class:`Terminated` in the main thread; a second one ends the process at once."""

    def handler(number: int, frame: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    try:
        previous = signal.signal(signal.SIGTERM, handler)
    except ValueError:  # not in the main thread: whoever called this owns the signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
