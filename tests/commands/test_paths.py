"""Paths on the command line: ``file://`` works, the URIs of stores are refused, and nothing is made of them."""

from __future__ import annotations

import inspect
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.commands.files import local, location, written, written_parquet
from tests.bundles import RESTAURANTS
from tests.commands.test_user_files import COMMANDS
from tests.faults import harness


def parser_of(parameter: inspect.Parameter) -> Any:
    return next((getattr(one, "parser", None) for one in getattr(parameter.annotation, "__metadata__", ())), None)


PATHS = {
    f"{' '.join(words)} {name}": found
    for words, parameters in COMMANDS.items()
    for name, found in parameters.items()
    if "Path" in str(found.annotation) or parser_of(found)
}
STORES = {
    *(f"{command} out" for command in ("run", "rank", "baseline", "plan", "status", "audit", "evaluate", "explain")),
    *("sample out", "rate out", "audit baseline", "run reuse", "plan reuse"),
}
"""What may be in an object store."""
READ = {
    *(
        "audit gates",
        "audit rates",
        "evaluate annotations",
        "evaluate rivals",
        "evaluate spans",
        "export out",
        "export templates",
    ),
    *("challenge natural", "gates init out", "gates check out", "gates check gates", "gates check baseline"),
    *("gates check rates", "rate labels", "rate calibration", "templates check file", "sample pilot"),
    *("audit reference", "gates check reference"),
}
"""What is only read, or is a new folder; a path that is in neither list is a file to write."""


@pytest.mark.parametrize("name", PATHS)
def test_every_path_goes_through_one_parser(name: str) -> None:
    if name in STORES:
        assert parser_of(PATHS[name]) is location
    elif name in READ:
        assert parser_of(PATHS[name]) is local
    else:  # a file to write; tests/commands/test_user_files.py tries each
        assert parser_of(PATHS[name]) in (written, written_parquet)


def invoke(*arguments: Any) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An input; the current folder is an empty one."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    pq.write_table(harness.rows(5), tmp_path / "in.parquet")
    return tmp_path / "in.parquet"


S3, HDFS = "s3://bucket/x", "hdfs://bucket/x"
REFUSED = {
    "run --out": ["run", "{data}", "--out", HDFS, "--bundle", str(RESTAURANTS)],
    "run --reuse": ["run", "{data}", "--out", "out", "--bundle", str(RESTAURANTS), "--reuse", HDFS],
    "run --bundle": ["run", "{data}", "--out", "out", "--bundle", HDFS],
    "run --templates": ["run", "{data}", "--out", "out", "--bundle", str(RESTAURANTS), "--templates", S3],
    "audit OUT": ["audit", HDFS],
    "audit --report": ["audit", "out", "--report", S3],
    "evaluate": ["evaluate", HDFS],
    "convert IN": ["convert", "e2e", S3, "--out", "x.parquet"],
    "export OUT_DIR": ["export", "checkpoint", S3],
    "sample --file": ["sample", "out", "--file", "gs://bucket/x.csv"],
}


@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED)
def test_uris_of_stores_are_exit_2_and_leave_nothing(data: Path, arguments: list[str]) -> None:
    result = invoke(*[argument.format(data=data) for argument in arguments])
    assert result.exit_code == 2, result.output
    assert "is a URI" in result.output
    said = " ".join(result.output.split())
    assert "plain or as file:///path" in said or "copy it first" in said
    assert list(Path().iterdir()) == []


def test_a_store_without_its_extra_is_exit_2(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    for arguments in (
        ["run", data, "--out", S3, "--bundle", str(RESTAURANTS)],
        ["audit", S3],
        ["status", S3],
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2 and "d2t-scorer[objects]" in result.output, result.output
    assert list(Path().iterdir()) == []


def test_file_uris_are_paths(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out put"
    for _ in range(2):
        result = invoke(
            "run", data, "--out", out.as_uri(), "--bundle", str(RESTAURANTS), "--max-error-rate", 1, "--json"
        )
        assert result.exit_code == 0, result.output
    assert (out / "_SUCCESS").exists() and '"skipped": 1' in result.stdout
    result = invoke("audit", out.as_uri(), "--report", (tmp_path / "report.html").as_uri())
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report.html").is_file()
    result = invoke("baseline", "keywords", data, "--out", f"file://localhost{tmp_path}/keywords.parquet")
    assert result.exit_code == 0, result.output
    assert pq.read_table(tmp_path / "keywords.parquet").num_rows == 5
    assert list(Path().iterdir()) == []


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("finished")
    pq.write_table(harness.rows(5), base / "in.parquet")
    result = invoke(
        "run", base / "in.parquet", "--out", base / "out", "--bundle", str(RESTAURANTS), "--max-error-rate", 1
    )
    assert result.exit_code == 0, result.output
    return base / "out"


@pytest.mark.parametrize("name", ["in.parquet", "_run.json", "_receipts/in.parquet.json", "new.parquet"])
def test_what_a_run_owns_is_exit_2(finished: Path, tmp_path: Path, name: str) -> None:
    out = Path(shutil.copytree(finished, tmp_path / "out"))
    before = harness.content(out) | {"_run.json": (out / "_run.json").read_bytes()}
    source = finished.parent / "in.parquet"
    (tmp_path / "e2e.csv").write_text('mr,ref\n"name[A], food[French]",A serves French food.\n')
    for arguments in (
        ["audit", out, "--report", out / name],
        ["audit", out, "--junit", out / name],
        ["audit", out, "--history", out / name],
        ["baseline", "keywords", source, "--out", out / name],
        ["convert", "e2e", tmp_path / "e2e.csv", "--force", "--out", out / "in.parquet"],
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2, result.output
        assert "of `scorer run`, and its name is reserved for the run" in result.output, arguments
    assert before == harness.content(out) | {"_run.json": (out / "_run.json").read_bytes()}


def test_a_report_inside_the_output_folder_has_a_hidden_name(finished: Path, tmp_path: Path) -> None:
    """As docs/nightly.md has it; nothing takes it for an output."""
    out = Path(shutil.copytree(finished, tmp_path / "out"))
    for _ in range(2):
        arguments = ["--report", out / "_report.html", "--junit", out / "_junit.xml"]
        assert invoke("audit", out, *arguments).exit_code == 0
    assert invoke("evaluate", out, "--gold-rough", "nosuch").exit_code == 2
    result = invoke("audit", out, "--baseline", finished, "--json")
    assert result.exit_code == 0, result.output


def test_standard_output_and_devices_take_a_report(finished: Path) -> None:
    before = Path("/dev/null").stat().st_mode
    assert invoke("audit", finished, "--report", "/dev/null", "--junit", "/dev/null").exit_code == 0
    assert Path("/dev/null").stat().st_mode == before
