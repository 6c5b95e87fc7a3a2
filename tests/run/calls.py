"""Rows, and calls of `scorer run` and of other commands in this process, for tests of whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from typer.testing import CliRunner

from scorer.commands import app

STRUCT = pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())])


def rows(n: int, start: int = 0) -> pa.Table:
    numbers = range(start, start + n)
    triples = [
        [{"subject": f"N{i % 5}", "predicate": "eatType", "object": f"pub {i % 3}"}] * (1 + i % 2) for i in numbers
    ]
    return pa.table(
        {
            "text": [None if i % 20 == 7 else "" if i % 20 == 8 else f"N{i % 5} is pub {i % 4}." for i in numbers],
            "weight": pa.array(numbers, pa.int64()),
            "triples": pa.array(triples, pa.list_(STRUCT)),
        }
    )


def scorer(*arguments: Any, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run(data: Path | str, out: Path, bundle: Path, *more: Any, code: int = 0) -> dict[str, Any]:
    scorer("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", *more, code=code)
    return json.loads((out / "_run.json").read_text())


def bytes_of(out: Path) -> dict[str, bytes]:
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*.parquet"))
        if not path.relative_to(out).parts[0].startswith("_")
    }


def everything(out: Path) -> dict[str, bytes]:
    """All files of an output but its locks."""
    files = (path for path in out.rglob("*") if path.is_file() and not path.name.startswith("_lock"))
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}


def command(data: Path, out: Path, bundle: Path) -> list[Any]:
    return ["run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1"]
