"""SIGTERM as an exception, so that a run releases its resources in order; and the end of an interrupted process."""

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
_PR_SET_PDEATHSIG = 1


class Terminated(BaseException):
    """SIGTERM was received; the current window is dropped, and the run can be resumed."""


class _Received:
    """Whether SIGTERM was received since :func:`sigterm_raises` was entered. The exception alone may be lost: Python
    drops what is raised while an object is deleted, and an extension module that is being loaded turns it into an
    ImportError."""

    flag = False


def check_terminated() -> None:
    """Raise :class:`Terminated` if SIGTERM was received, even if that was raised already and lost."""
    if _Received.flag and threading.current_thread() is threading.main_thread():
        raise Terminated


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """In this context, SIGTERM raises :class:`Terminated` in the main thread; a second one ends the process at once.

    Whatever else ends the context after a SIGTERM, it ends with :class:`Terminated`.
    """

    def handler(number: int, frame: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _Received.flag = True
        raise Terminated

    try:
        previous = signal.signal(signal.SIGTERM, handler)
    except ValueError:  # not in the main thread: the caller handles the signals
        yield
        return
    _Received.flag = False
    try:
        yield
        check_terminated()
    except Terminated:
        raise
    except BaseException as error:
        if _Received.flag:
            raise Terminated from error
        raise
    finally:
        signal.signal(signal.SIGTERM, previous)
        _Received.flag = False


def ends_with_parent(parent: int) -> bool:
    """Have the kernel send this process SIGTERM when its parent ends; false if that has happened already.

    Args:
        parent: id of the process that started this one.
    """
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    return os.getppid() == parent


def leave(code: Any) -> NoReturn:
    """End this process. After an interrupt it does not wait for threads: one may be in a call that never returns."""
    if code in INTERRUPTED:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # closed, full, or not there
                stream.flush()
        os._exit(code)
    sys.exit(code)
