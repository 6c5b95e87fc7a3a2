"""Steps of a measurement: processes with limits, whose results are lines of JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = "D2T_BENCH_RESULTS"
"""The variable that names the file of results."""


def write(step: str, **facts: Any) -> str:
    """Append a line to the file of results, at once."""
    line = json.dumps({"step": step, **facts})
    with Path(os.environ[RESULTS]).open("a") as file:
        file.write(line + "\n")
    return line


def report(step: str, **facts: Any) -> None:
    """Append a line to the file of results, and print its beginning."""
    print(write(step, **facts)[:300], flush=True)


def report_failure(step: str, error: Exception, **facts: Any) -> None:
    report(step, **facts, error=f"{type(error).__name__}: {error}"[:300])


def read_results(path: Path | None = None) -> list[dict[str, Any]]:
    path = path or Path(os.environ[RESULTS])
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Steps:
    """Runs steps one after the other until the time is over; one that would begin with less than five seconds left is
    skipped. ``folder``: gets ``results.jsonl`` and ``log.txt``."""

    def __init__(self, folder: Path, seconds: float, environment: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._end = folder, time.monotonic() + seconds
        os.environ[RESULTS] = str(folder / "results.jsonl")
        self.environment = {**os.environ, **environment, "PYTHONUNBUFFERED": "1"}

    def run(
        self,
        name: str,
        seconds: float,
        command: Sequence[object],
        then: Callable[[str], object] = lambda printed: None,
        **environment: str,
    ) -> None:
        """Run a command, then call ``then`` with what it printed if it succeeded; whatever goes wrong becomes a line,
        and stderr goes into the log."""
        began = time.monotonic()
        limit = min(seconds, self._end - began)
        code: int | str = "skipped: no time left"
        if limit >= 5:
            with (self.folder / "log.txt").open("a") as log:
                print(f"== {name}", file=log, flush=True)
                environment, words = {**self.environment, **environment}, list(map(str, command))
                try:
                    with subprocess.Popen(
                        words, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
                    ) as process:
                        try:
                            printed, _ = process.communicate(timeout=limit)
                            code = process.returncode
                        except subprocess.TimeoutExpired:
                            code = f"stopped after {limit:.0f} s"
                        finally:
                            if process.poll() is None:  # with what it has started, which would compute on
                                os.killpg(process.pid, signal.SIGKILL)
                except OSError as error:
                    code = f"not started: {error}"
        report("end", of=name, code=code, seconds=round(time.monotonic() - began, 2))
        if code == 0:
            try:
                then(printed)
            except Exception as error:
                report_failure(name, error)
