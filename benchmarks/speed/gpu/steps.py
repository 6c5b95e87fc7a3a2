"""Steps of a measurement: processes with limits, whose results are lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = "D2T_BENCH_RESULTS"
"""The variable that names the file of results."""


def report(step: str, **facts: Any) -> None:
    """Append a line to the file of results, at once, and print its beginning."""
    line = json.dumps({"step": step, **facts})
    with Path(os.environ[RESULTS]).open("a") as file:
        file.write(line + "\n")
    print(line[:300], flush=True)


def report_failure(step: str, error: Exception, **facts: Any) -> None:
    """Report why a part of a step has no result."""
    report(step, **facts, error=f"{type(error).__name__}: {error}"[:300])


def read_results(path: Path | None = None) -> list[dict[str, Any]]:
    """The lines so far."""
    path = path or Path(os.environ[RESULTS])
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Steps:
    """Runs steps one after the other until the time is over.

    Args:
        folder: gets ``results.jsonl`` and ``log.txt``.
        seconds: limit for all steps together; a step that would begin with less than five left is skipped.
    """

    def __init__(self, folder: Path, seconds: float, environment: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._end = folder, time.monotonic() + seconds
        os.environ[RESULTS] = str(folder / "results.jsonl")
        self.environment = {**os.environ, **environment, "PYTHONUNBUFFERED": "1"}

    def run(self, name: str, seconds: float, command: Sequence[object], **environment: str) -> str | None:
        """Run a command; what it printed, ``None`` if it failed. What it writes to stderr goes into the log."""
        began = time.monotonic()
        limit = min(seconds, self._end - began)
        code, printed = "skipped: no time left", None
        if limit >= 5:
            with (self.folder / "log.txt").open("a") as log:
                print(f"== {name}", file=log, flush=True)
                environment = {**self.environment, **environment}
                words = list(map(str, command))
                try:
                    done = subprocess.run(
                        words, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, timeout=limit
                    )
                    code, printed = done.returncode, done.stdout
                except subprocess.TimeoutExpired:
                    code = f"stopped after {limit:.0f} s"
        report("end", of=name, code=code, seconds=round(time.monotonic() - began, 2))
        return printed if code == 0 else None
