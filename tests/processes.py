"""Python code in another process, and waiting for what must happen."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.conftest import ROOT

LIMIT_S = 60.0
"""How long a test waits for what must happen; it only ends a test that fails."""


def start(code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Run Python code in another process; its output is a pipe."""
    found = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=found)


def finish(code: str, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """Run Python code in another process to its end: exit status, output, errors."""
    with start(code, *arguments, **environment) as process:
        out, err = process.communicate(timeout=LIMIT_S)
        return process.returncode, out, err


def is_running(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(happened: Callable[[], bool], otherwise: str, limit_s: float = LIMIT_S) -> None:
    """Look again and again until it has happened."""
    deadline = time.monotonic() + limit_s
    while not happened():
        assert time.monotonic() < deadline, f"{otherwise} after {limit_s:.0f} s"
        time.sleep(0.01)
