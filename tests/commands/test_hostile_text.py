"""Control characters in every place where data can hold it, and through every command that prints data."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.system.terminal import HIDDEN
from tests.bundles import make_bundle
from tests.commands.conftest import CommandLine
from tests.run.calls import scorer

pytestmark = pytest.mark.usefixtures("inline_runs")

HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b2J\x7f\x00\u202e\u2066\u200b\ufeff\u2028\r\n\t[bold red]:smile:"
"""Sets the terminal's title, clears the screen, turns the direction; and what rich would take for its own."""
NAME = "e\x1b[2J\u202e\nvil"
"""The same, as far as a file's name goes."""
_OBEYED = re.compile(f"(?!\n)[{HIDDEN}]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, an output and files that hold hostile text wherever it can be held."""
    made = tmp_path_factory.mktemp("hostile")
    make_bundle(made / "tiny", max_length=1024)
    table = pa.table(
        {
            "triples": [
                [{"subject": f"s{HOSTILE}", "predicate": f"p{HOSTILE}", "object": f"o{i}{HOSTILE}"}] for i in range(12)
            ],
            "text": [f"s{HOSTILE} and o{i}{HOSTILE}. {HOSTILE}" for i in range(12)],
            "system": [HOSTILE, f"{HOSTILE}2"] * 6,
            f"column {HOSTILE}": [HOSTILE] * 12,
            "gold_fine": ["OK", "omission"] * 6,
        }
    )
    for name in ("in", "broken"):
        (made / name).mkdir()
    pq.write_table(table, made / "in" / f"{NAME}.parquet")
    pq.write_table(table, made / "broken" / "good.parquet")
    (made / "broken" / f"{NAME}.parquet").write_bytes(b"PAR1 nothing")
    (made / f"{NAME}.json").write_text(json.dumps({f"other{HOSTILE}": HOSTILE, f"q{HOSTILE}": {HOSTILE: HOSTILE}}))
    e2e = f"MR\toutput\nname[{HOSTILE[:9]}], food[x]\ttext {HOSTILE[:9]}\n{HOSTILE[:9]}\tbroken\n"
    (made / f"{NAME}.tsv").write_text(e2e)
    scorer("run", made / "in", "--out", made / "out", "--bundle", made / "tiny", "--templates", made / f"{NAME}.json")
    return made


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert pq.read_table(Path("out") / f"{NAME}.parquet")["system"][0].as_py() == HOSTILE, "Parquet keeps it"


def arguments(template: str) -> list[str]:
    """A command line; in braces a new path, and the hostile text and name."""
    known = {"new": f"new{len(list(Path().iterdir()))}", "HOSTILE": HOSTILE.replace("\x00", ""), "NAME": NAME}
    return [word.format(**known) for word in template.split()]


PRINTS = {
    "run": "run in --out {new} --bundle tiny --templates {NAME}.json",
    "run: a quarantined shard": "run broken --out {new} --bundle tiny --max-error-rate 1",
    "run: no such column": "run in --out {new} --bundle tiny --text-column {HOSTILE}",
    "plan": "plan broken --bundle tiny --out out",
    "check": "check --bundle tiny --triples a{HOSTILE}|b{HOSTILE}|c --text t{HOSTILE}",
    "explain": "explain out --row {NAME}.parquet:0",
    "evaluate": "evaluate out --by system --resamples 20",
    "audit": "audit out --by system",
    "templates check": "templates check {NAME}.json --data in",
    "templates extract": "templates extract in --out {new}{NAME}.json",
    "convert": "convert e2e {NAME}.tsv --out {new}{NAME}.parquet",
    "doctor": "doctor --bundle tiny",
}


@pytest.mark.parametrize("which", PRINTS)
def test_nothing_that_a_terminal_obeys_is_printed(which: str) -> None:
    result = CliRunner().invoke(app, arguments(PRINTS[which]))
    assert result.exit_code in (0, 2, 3), result.output
    assert not isinstance(result.exception, Exception), result.exception
    assert "internal error" not in result.stderr
    for shown in (result.stdout, result.stderr):
        assert not _OBEYED.search(shown), repr(shown)
        assert "😄" not in shown
    if not which.startswith(("doctor", "run: no such column")):
        assert "<U+" in result.output or "\\x1b" in result.output


@pytest.mark.parametrize("which", ["check", "explain", "audit", "templates check"])
def test_json_is_as_safe_and_keeps_every_character(which: str) -> None:
    result = CliRunner().invoke(app, [*arguments(PRINTS[which]), "--json"])
    assert result.exit_code == 0, result.output
    assert not _OBEYED.search(result.stdout), repr(result.stdout)
    found = json.dumps(json.loads(result.stdout))
    assert json.dumps(HOSTILE.replace("\x00", ""))[1:30] in found and "<U+" not in found


def test_usage_errors_show_no_control_characters(command_line: CommandLine) -> None:
    for arguments in ([f"--{NAME}"], [NAME], ["check", f"--device{NAME}"], ["run", NAME]):
        code, out, errors = command_line(*arguments)
        assert (code, out) == (2, "") and not _OBEYED.search(errors)


def test_a_terminal_gets_no_control_characters() -> None:
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "scorer", *arguments(PRINTS["run: a quarantined shard"])]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "200"}
    got = b""
    with subprocess.Popen(command, stdout=follower, stderr=follower, stdin=follower, env=environment) as process:
        os.close(follower)
        with suppress(OSError):  # how a terminal ends when nobody has it open any more
            while part := os.read(leader, 65536):
                got += part
    os.close(leader)
    shown = got.decode("utf-8", "surrogateescape")
    assert process.returncode in (0, 3), shown
    assert "<U+" in shown
    for forbidden in ("\x1b]0;", "\x1b[2J", "\x9b", "\u202e", "\u2066", "\x07", "\x7f", "\x00"):
        assert forbidden not in shown
