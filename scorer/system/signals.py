"""Signals as exceptions that are not lost, so that a run releases its resources in order; the end of an interrupted
process."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

INTERRUPTED = (130, 143)
"""Exit codes after Ctrl-C and SIGTERM."""


class Terminated(BaseException):
    """SIGTERM or SIGHUP was received; the current window is dropped, and the run can be resumed."""


class _Received:
    """The exception of the last signal since :func:`signals_raise` was entered. The exception alone may be lost: Python
    drops what is raised while an object is deleted, and an extension module that is being loaded turns it into an
    ImportError."""

    error: type[BaseException] | None = None


def check_signals() -> None:
    """Raise what a signal raised in this context, even if that was raised already and lost."""
    if _Received.error is not None and threading.current_thread() is threading.main_thread():
        raise _Received.error


@contextmanager
def signals_raise() -> Iterator[None]:
    """In this context, SIGTERM raises :class:`Terminated` in the main thread, and a second one ends the process at
    once; so does SIGHUP, unless it is ignored (nohup). SIGINT raises ``KeyboardInterrupt``, unless it is ignored or
    has another handler than Python's.

    Whatever else ends the context after a signal, it ends with what the signal raised.
    """

    def terminated(number: int, frame: Any) -> None:
        signal.signal(number, signal.SIG_DFL)
        _Received.error = Terminated
        raise Terminated

    def interrupted(number: int, frame: Any) -> None:
        _Received.error = _Received.error or KeyboardInterrupt
        raise KeyboardInterrupt

    try:
        before = {signal.SIGTERM: signal.signal(signal.SIGTERM, terminated)}
    except ValueError:  # not in the main thread: the caller handles the signals
        yield
        return
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, terminated)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, interrupted)
    _Received.error = None
    try:
        yield
        check_signals()
    except (Terminated, KeyboardInterrupt):
        raise
    except BaseException as error:
        if _Received.error is not None:
            raise _Received.error from error
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _Received.error = None


def leave(code: Any) -> NoReturn:
    """End this process. After an interrupt it does not wait for threads: one may be in a call that never returns."""
    if code in INTERRUPTED:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, full, or not there
                stream.flush()
        os._exit(code)
    sys.exit(code)
