"""Paths on the command line: URIs, and the rules of every option that writes a file."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from scorer.commands import app
from scorer.commands.options import location, written, written_parquet
from tests.faults import harness
from tests.run.calls import scorer

Words = tuple[str, ...]


def commands(group: Any, before: Words = ()) -> Iterator[tuple[Words, Any]]:
    """The words that call each command, and its function."""
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from commands(found, (*before, name))
        else:
            yield (*before, name), found.callback


COMMANDS = dict(commands(typer.main.get_command(app)))
DECLARED = {words: command.declared for words, command in COMMANDS.items()}
FILES = {
    f"{' '.join(words)} {name}": (words, name)
    for words, parameters in DECLARED.items()
    for name, one in parameters.items()
    if one.parser in (written, written_parquet)
}
READS = {
    f"{found} and {other}": (words, name, other)
    for found, (words, name) in FILES.items()
    for other, one in DECLARED[words].items()
    if one.is_read
}


def arguments(words: Words, given: dict[str, str]) -> list[str]:
    """A call of a command: what is given by parameter, and something for everything else that it needs."""
    found, behind = list(words), list[str]()
    parameters = inspect.signature(COMMANDS[words]).parameters
    for name, info in DECLARED[words].items():
        if name not in given and parameters[name].default is not inspect.Parameter.empty:
            continue
        value = given.get(name, "nothing.x")
        if info.option:
            found += [info.option, value]
        else:
            behind.append(value)
    return [*found, "--", *behind]


def refusal(words: Words, given: dict[str, str]) -> str:
    """Message of a call that is refused without any effect on the files here."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    ended = CliRunner().invoke(app, arguments(words, given))
    assert ended.exit_code == 2, ended.output
    assert before == {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    return ended.stderr


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_bytes(b"text,triples\na,b | c | d\n")
    pq.write_table(pa.table({"text": ["t"]}), "rows.parquet")
    Path("out/_receipts").mkdir(parents=True)
    Path("out/_receipts/a.parquet.json").write_bytes(b"{}")


@pytest.mark.parametrize("name", FILES)
def test_what_a_run_owns_and_rows_and_foreign_links_are_kept(name: str) -> None:
    words, option = FILES[name]
    is_parquet = DECLARED[words][option].parser is written_parquet
    assert "reserved for the run" in refusal(words, {option: "out/_receipts/a.parquet.json"})
    if not is_parquet:
        assert "is a Parquet file" in refusal(words, {option: "rows.parquet"})
    if os.geteuid() == 0:  # only root can make a link that is another user's
        Path("link").symlink_to("rows.csv")
        os.lchown("link", 12345, 12345)
        assert "another user made" in refusal(words, {option: "link"})


def test_what_the_command_reads_is_kept_and_two_options_do_not_write_one_file() -> None:
    assert {"audit report and baseline", "sample file and out", "convert e2e out and texts"} <= READS.keys()
    for words, option, other in READS.values():
        assert "is an input" in refusal(words, {option: "rows.csv", other: "rows.csv"})
    said = refusal(("audit",), {"report": "new.html", "junit": "./new.html"})
    assert "--report and --junit are both" in said and not Path("new.html").exists()


STORES = {
    *(f"{command} out" for command in ("run", "plan", "status", "audit", "evaluate", "explain", "show")),
    *("sample out", "rate out", "gates init out", "audit baseline", "run reuse", "plan reuse"),
}
"""Paths that may be in an object store."""


def test_paths_that_may_be_in_an_object_store() -> None:
    """Those of files to write are tried above."""
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
