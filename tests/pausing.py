"""Runs that stop themselves at a chosen step, so that a signal or a second run finds them there and nowhere else.

A test that sleeps and hopes that the other process is where it should be fails on a busy machine. These runs send
themselves SIGSTOP, and the test waits until the kernel says that they stand.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LIMIT_S = 120.0
"""How long a test waits for what must happen; it only ends a test that fails."""

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


def launch_pausing(
    arguments: list[Any], base: Path, at: str = "/_receipts/", times: int = 1, *, answering: bool = False
) -> subprocess.Popen[str]:
    """Start ``scorer`` and wait until it stands.

    Args:
        base: a folder for what makes it stop.
        at: it stops after so many renames or links onto a path that holds this.
        answering: it stops once more, while it answers its first SIGTERM.
    """
    site = base / "pausing"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(_SITE)
    environment = {**os.environ, "PYTHONPATH": str(site), "TEST_PAUSE_AT": f"{at}:{times}"}
    if answering:
        environment["TEST_PAUSE_ANSWERING"] = "1"
    command = [sys.executable, "-m", "scorer", *map(str, arguments)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment)
    wait_stopped(process)
    return process


def wait_stopped(process: subprocess.Popen[str]) -> None:
    """Wait until a process has stopped itself.

    Raises:
        AssertionError: it ended instead, or still runs; it is killed then.
    """
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        found = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if found is not None and found.si_code == os.CLD_STOPPED:
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)  # so that the next stop is news again
            return
        if found is not None:
            break
        time.sleep(0.01)
    process.kill()
    raise AssertionError(f"the run did not come to where it stops: {process.communicate()}")


def go_on(process: subprocess.Popen[str], *numbers: int) -> None:
    """Send signals to a process that stands, and let it go on with them."""
    for number in numbers:
        process.send_signal(number)
    process.send_signal(signal.SIGCONT)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end of a process: exit code, standard error."""
    try:
        _, said = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, said
