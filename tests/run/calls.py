"""Calls of `scorer run` and of other commands in this process, for tests of whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from scorer.commands import app
from tests.faults.harness import STRUCT as STRUCT
from tests.faults.harness import bytes_of as bytes_of
from tests.faults.harness import rows as rows


def scorer(*arguments: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run(data: Path | str, out: Path, bundle: Path, *more: Any, code: int = 0) -> dict[str, Any]:
    scorer("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", *more, code=code)
    return json.loads((out / "_run.json").read_text())


def command(data: Path, out: Path, bundle: Path) -> list[Any]:
    return ["run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1"]
