"""Runs that stop themselves at a chosen step, so that a signal or a second run finds them there and nowhere else.

A test that sleeps and hopes that the other process is where it should be fails on a busy machine. These runs send
themselves SIGSTOP, and the test waits until the kernel says that they stand.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

_SITE = """
import os, signal

_name, _left = os.environ["TEST_PAUSE_AT"].split(":")
_left = [int(_left)]
_replace, _link, _signal = os.replace, os.link, signal.signal

def named(put, source, target, **more):
    put(source, target, **more)
    if _name in os.fspath(target):
        _left[0] -= 1
        if _left[0] == 0:
            os.kill(os.getpid(), signal.SIGSTOP)

def answered(number, action):
    previous = _signal(number, action)
    if number == signal.SIGTERM and action is signal.SIG_DFL and callable(previous):
        os.kill(os.getpid(), signal.SIGSTOP)
    return previous

os.replace = lambda source, target, **more: named(_replace, source, target, **more)
os.link = lambda source, target, **more: named(_link, source, target, **more)
if "TEST_PAUSE_ANSWERING" in os.environ:
    signal.signal = answered
"""


def pausing(base: Path, at: str = "/_receipts/", times: int = 1, *, answering: bool = False) -> dict[str, str]:
    """The environment of a run that stops itself.

    Args:
        base: a folder for what makes it stop.
        at: it stops after so many renames or links onto a path that holds this.
        answering: it stops once more, while it answers its first SIGTERM.
    """
    site = base / "pausing"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(_SITE)
    asked = {"PYTHONPATH": str(site), "TEST_PAUSE_AT": f"{at}:{times}"}
    return asked | ({"TEST_PAUSE_ANSWERING": "1"} if answering else {})


def wait_stopped(process: subprocess.Popen[str]) -> None:
    """Wait until a process has stopped itself, and not ended."""
    found = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert found is not None and found.si_code == os.CLD_STOPPED, process.communicate()
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)  # so that the next stop is news again


def go_on(process: subprocess.Popen[str], number: int) -> None:
    """Wait until a process stands, and let it go on with a signal."""
    wait_stopped(process)
    process.send_signal(number)
    process.send_signal(signal.SIGCONT)
