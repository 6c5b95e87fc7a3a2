"""The start of a command, before its modules are imported: the worker of a run starts, and a signal ends both."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes long
    from typing import Any

    from .worker_process import WorkerProcess

EARLY: list[WorkerProcess] = []
"""The worker of a run, from the start of the command until the run takes it; ``receives`` is set then."""


def start_worker(module: str) -> None:
    """Start the worker of a run; if that fails, the run tries again and reports the error."""
    if sys.platform == "win32" or None in (sys.stdin, sys.stdout, sys.stderr):  # its pipes would get their numbers
        return
    from .worker_process import WorkerProcess

    with suppress(OSError):
        EARLY.append(WorkerProcess(module, None))


def end_worker() -> None:
    """End a worker that no run has taken."""
    while EARLY:
        worker = EARLY.pop()
        worker.kill()
        worker.close()


def end_on_signals() -> None:
    """Let a signal end this process at once, with one line, while there is nothing to clean up. Later handlers of
    signals replace these. Signals that are ignored (``nohup``) stay ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if has_default_handler(number):
            signal.signal(number, _end)


def has_default_handler(number: int) -> bool:
    """Whether a signal has the handler of Python or of :func:`end_on_signals`."""
    of_python = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    return signal.getsignal(number) in (of_python, _end)


def _end(number: int, frame: Any) -> None:
    code, end_status = (130, "interrupted") if number == signal.SIGINT else (143, "terminated")
    for worker in EARLY:
        worker.kill()
    with suppress(OSError):  # closed, or full
        os.write(2, f"scorer: {end_status}; the same command resumes\n".encode())
    os._exit(code)
