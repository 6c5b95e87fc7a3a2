"""Paths on the command line: ``file://`` works, the URIs of stores are refused, and nothing is made of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scorer.commands.options import location
from tests.commands.test_user_files import DECLARED
from tests.faults import harness
from tests.run.calls import scorer

STORES = {
    *(f"{command} out" for command in ("run", "plan", "status", "audit", "evaluate", "explain", "show")),
    *("sample out", "rate out", "gates init out", "audit baseline", "run reuse", "plan reuse"),
}
"""Paths that may be in an object store."""


def test_paths_that_may_be_in_an_object_store() -> None:
    """tests/commands/test_user_files.py tries those of files to write."""
    found = {
        f"{' '.join(words)} {name}"
        for words, parameters in DECLARED.items()
        for name, one in parameters.items()
        if one.parser is location
    }
    assert found == STORES


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An input; the current folder is an empty one."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    pq.write_table(harness.rows(5), tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


S3, HDFS = "s3://bucket/x", "hdfs://bucket/x"


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "{data}", "--out", HDFS, "--bundle", "embedded"],
        ["run", "{data}", "--out", "out", "--bundle", "embedded", "--templates", S3],
        ["audit", "out", "--report", S3],
        ["convert", "e2e", S3, "--out", "x.parquet"],
    ],
)
def test_uris_of_stores_are_exit_2_and_leave_nothing(data: Path, arguments: list[str]) -> None:
    said = " ".join(scorer(*[argument.format(data=data) for argument in arguments], code=2).output.split())
    assert "is a URI" in said
    assert "plain or as file:///path" in said or "copy it first" in said
    assert list(Path().iterdir()) == []


def test_a_store_without_its_extra_is_exit_2(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    assert "d2t-scorer[objects]" in scorer("run", data, "--out", S3, "--bundle", "embedded", code=2).output
    assert list(Path().iterdir()) == []


def test_file_uris_are_paths(data: Path, tmp_path: Path, tiny: Path) -> None:
    out = tmp_path / "out put"
    for _ in range(2):
        result = scorer("run", data, "--out", out.as_uri(), "--bundle", tiny, "--max-error-rate", 1, "--json")
    assert (out / "_SUCCESS").exists() and '"skipped": 1' in result.stdout
    scorer("audit", out.as_uri(), "--report", (tmp_path / "report.html").as_uri())
    assert (tmp_path / "report.html").is_file()
    assert list(Path().iterdir()) == []
