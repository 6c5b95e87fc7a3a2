"""Calls of `scorer run` and of other commands in this process, for tests of whole runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.faults import harness
from tests.faults.harness import STRUCT as STRUCT
from tests.faults.harness import bytes_of as bytes_of
from tests.faults.harness import rows as rows
from tests.faults.harness import scorer as scorer


def run(data: Path | str, out: Path, bundle: Path, *more: Any, code: int = 0) -> dict[str, Any]:
    harness.run(data, out, bundle, *more, code=code)
    return harness.summary(out)


def command(data: Path, out: Path, bundle: Path) -> list[Any]:
    return harness.command(data, out, bundle)[3:]
