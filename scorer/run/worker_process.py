"""Start a worker process, which takes messages from standard input and writes messages to standard output."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]


def start_process(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start ``python -m module``; its standard input and output are pipes.

    It gets the id of this process, so that it ends with it, and a process group of its own, so that Ctrl-C goes to this
    process alone, which ends the others.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, str(os.getpid()), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=_environment(),
        process_group=0,
    )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and those that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_of(code: int) -> str:
    """How a process ended, in words."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _environment() -> dict[str, str]:
    """The caller's, in which this package is found also if it is not installed."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*paths, str(_ROOT)])}
