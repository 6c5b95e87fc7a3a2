"""Small files in the published forms, and the command as a user calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app


class Converted(NamedTuple):
    """The result of a conversion: exit code, stderr, and the rows when there are any."""

    code: int
    err: str
    rows: list[dict[str, Any]]


Convert = Callable[..., Converted]
Write = Callable[[str, "str | bytes"], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of this content; its path as a string."""

    def writer(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return writer


@pytest.fixture
def convert(tmp_path: Path) -> Convert:
    """Run ``scorer convert`` with these arguments and an output of its own."""

    def runner(*arguments: str) -> Converted:
        out = tmp_path / "converted.parquet"
        result = CliRunner().invoke(app, ["convert", *arguments, "--out", str(out)])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Converted(result.exit_code, result.stderr, pq.read_table(out).to_pylist() if out.exists() else [])

    return runner


def triples(row: dict[str, Any]) -> list[tuple[str, str, str]] | None:
    """The triples of a row as plain tuples."""
    if row["triples"] is None:
        return None
    return [(triple["subject"], triple["predicate"], triple["object"]) for triple in row["triples"]]
