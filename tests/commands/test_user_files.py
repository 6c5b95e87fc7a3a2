"""Every option that writes a file keeps the same rules; the options are those of the command tree."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from scorer.commands import app
from scorer.commands.options import declared, written, written_parquet

Words = tuple[str, ...]


def commands(group: Any, before: Words = ()) -> Iterator[tuple[Words, Any]]:
    """The words that call each command, and its function."""
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from commands(found, (*before, name))
        else:
            yield (*before, name), found.callback


COMMANDS = dict(commands(typer.main.get_command(app)))
DECLARED = {words: declared(command) for words, command in COMMANDS.items()}
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
