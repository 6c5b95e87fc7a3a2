"""Ends of commands: whatever is raised, one line and a code of the contract, and 1 for a failed gate alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from scorer.commands import app, check, doctor
from scorer.commands.ending import GONE
from scorer.errors import ScorerError
from scorer.system.waiting import Terminated
from tests.bundles import make_bundle
from tests.commands.conftest import CommandLine
from tests.run.calls import scorer
from tests.sweeps import sampled

pytestmark = pytest.mark.usefixtures("inline_runs")

ASKED = ["check", "--triples", "a | b | c", "--text", "t"]
ENDINGS: list[tuple[BaseException, int, str | None]] = [
    (KeyError("k"), 2, "internal error: KeyError: 'k'; run again with --verbose to see the traceback"),
    (TypeError("one\ntwo \x1b[2J"), 2, "internal error: TypeError: one two <U+001B>[2J; run again"),
    (MemoryError(), 2, "out of memory"),
    (RuntimeError("can't start new thread"), 2, "ulimit -v"),
    (OSError(28, "No space left on device", "f"), 2, "scorer: No space left on device: f"),
    (BrokenPipeError(32, "Broken pipe"), 2, "Broken pipe"),
    (EOFError(), 2, "internal error: EOFError"),
    (KeyboardInterrupt(), 130, "interrupted; the same command resumes"),
    (Terminated(), 143, "terminated; the same command resumes"),
    (typer.Abort(), 130, "interrupted"),
    (typer.Exit(3), 3, None),
    (SystemExit(1), 2, None),
    (SystemExit("words"), 2, "words"),
    (ScorerError("what\nand where"), 2, "scorer: what and where"),
]


def failing(monkeypatch: pytest.MonkeyPatch, module: object, name: str, error: BaseException) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    monkeypatch.setattr(module, name, fail)


@pytest.mark.parametrize(("error", "code", "line"), ENDINGS, ids=lambda value: str(type(value).__name__))
def test_whatever_a_command_raises(
    error: BaseException, code: int, line: str | None, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, check, "open_scorer", error)
    ended, out, errors = command_line(*ASKED)
    assert (ended, out) == (code, "")
    assert len(errors.splitlines()) == (0 if line is None else 1)
    assert (line or "") in errors


def test_what_is_raised_outside_of_any_command(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, doctor, "runtime_lines", ZeroDivisionError())
    code, _, errors = command_line("--version")
    (line,) = errors.splitlines()
    assert (
        code == 2 and line.startswith("scorer: ") and line.endswith("; run again with --verbose to see the traceback")
    )


def test_verbose_shows_the_trace(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, check, "open_scorer", KeyError("k\x1b[2J"))
    for arguments in (["--verbose", *ASKED], [*ASKED, "--verbose"]):
        code, _, errors = command_line(*arguments)
        assert code == 2 and "Traceback (most recent call last)" in errors and "in fail" in errors
        assert "\x1b" not in errors and "run again" not in errors
    assert "Traceback" not in command_line(*ASKED)[2]


def test_a_package_that_is_too_old_is_named(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, check, "open_scorer", ImportError("cannot import name 'x' from 'numpy'"))
    assert "internal error: ImportError" in command_line(*ASKED)[2]
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.9" if name == "numpy" else version(name))
    errors = command_line(*ASKED)[2]
    assert "scorer: needs numpy " in errors and " or newer; found 0.9 (cannot import name 'x'" in errors


@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        ("rank in", "rank"),
        ("gates check o --gates g.toml", "gates check"),
        ("run in --out o --bundle b --prune", "--prune"),
        ("convert quintd in", "quintd"),
    ],
)
def test_what_is_gone_is_one_line_that_says_what_to_use(arguments: str, row: str, command_line: CommandLine) -> None:
    code, _, errors = command_line(*arguments.split())
    (line,) = errors.splitlines()
    assert code == 2 and line.endswith(GONE[row])


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ("show out --row a.parquet:1", "--row is an option of scorer explain"),
        ("explain out --where x", "--where is an option of scorer show"),
        ("show out --json", None),  # nearly every command has it
        ("show out --nothing", None),
    ],
)
def test_an_option_of_another_command_is_named_with_it(
    arguments: str, where: str | None, command_line: CommandLine
) -> None:
    code, _, errors = command_line(*arguments.split())
    assert code == 2 and "No such option" in errors
    assert [line for line in errors.splitlines() if "is an option of" in line] == ([] if where is None else [where])


def test_what_is_gone_hides_nothing_that_exists(command_line: CommandLine, tmp_path: Path) -> None:
    code, _, errors = command_line("audit", str(tmp_path), "--report", "rank")
    assert code == 2 and "is gone" not in errors
    code, _, errors = command_line()
    assert code == 2 and "Usage: scorer [OPTIONS] COMMAND" in errors and "is gone" not in errors


def test_bash_completes_commands_and_options(command_line: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SCORER_COMPLETE", "complete_bash")
    for words, expected in (
        ("scorer gates i", "init"),
        ("scorer audit --base", "--baseline"),
        ("scorer run data --bundle em", "embedded"),
        ("scorer run data --bundle bundles/", ""),
    ):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        code, found, errors = command_line()
        assert (code, found.split(), errors) == (0, expected.split(), "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """Rows of attributes and of slots, a workbook, templates with other slots, and an output."""
    made = tmp_path_factory.mktemp("messages")
    (made / "rows.csv").write_text('Brand,Colour,Product,"weight, kg",text\nAcme,red,Lamp,3,The Lamp is red.\n')
    (made / "slots.jsonl").write_text('{"text": "A is a pub.", "mr": "name[A], eatType[pub]"}\n')
    (made / "latin.csv").write_bytes("Colour,Product,text\nred,Lämp,The Lämp is red.\n".encode("cp1252"))
    blocks = {"content": [{"type": "text", "text": "A is a pub."}]}
    (made / "blocks.jsonl").write_text(json.dumps({"reply": blocks, "facts": ["A is a pub."]}) + "\n")
    (made / "braces.json").write_text(json.dumps({"Colour": "{subject} is {object}."}))
    (made / "good.json").write_text(json.dumps({"eatType": "<subject> is a kind of <object>."}))
    with zipfile.ZipFile(made / "data.xlsx", "w") as book:
        book.writestr("xl/workbook.xml", "<workbook/>")
    scorer("run", made / "slots.jsonl", "--out", made / "out", "--bundle", tiny)
    return made


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("run rows.csv --attributes-column Brand,Color --subject-column Product", "no column 'Color'; the columns are"),
        ("run rows.csv --attributes-column Brand,nothing", '"weight, kg", text'),
        ("run rows.csv --attributes-column Colour", "for one attribute of each row, name its subject with --subject"),
        ("run rows.csv --attributes-column Brand,weight,kg", """quote a name that has a comma: '"weight, kg"'"""),
        ("run latin.csv --attributes-column Colour --subject-column Product", r"'The L\xe4mp is red.'"),
        ("run blocks.jsonl --text-column reply.content", "(reply.content.0.type, reply.content.0.text) or another"),
        ("run blocks.jsonl --text-column reply", "name a part of it (reply.content) or another with --text-column"),
        ("run out/slots.parquet --text-column omitted", "name a part of it (omitted.0) or another with --text-column"),
        (
            "run rows.csv --attributes-column Colour --subject-column Produkt",
            "no column 'Produkt'; the columns are",
        ),
        ("run data.xlsx", "is an Excel workbook or another ZIP archive; save it as CSV UTF-8"),
        (
            "run slots.jsonl --templates braces.json",
            "found {subject} in '{subject} is {object}.'; did you mean <subject>?",
        ),
        ("run slots.jsonl --into out --templates good.json", "pass --rescore"),
        ("run slots.jsonl --checks omissions", "'omissions' is not one of 'both', 'hallucination', 'omission'"),
        (
            "run slots.jsonl --bundle FacebookAI/roberta-large-mnli",
            "`scorer export FacebookAI/roberta-large-mnli bundles/",
        ),
        ("run slots.jsonl --mr-column text", "no row in the first window can be scored; nothing was written"),
        ("explain out --row slots.jsonl:0", "did you mean slots.parquet:0?"),
    ],
)
def test_it_says_what_to_write(
    command: str, message: str, folder: Path, tiny: Path, command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    words = command.replace("--into", "--out").split()
    if words[0] == "run":
        words += [] if "--bundle" in words else ["--bundle", str(tiny)]
        words += [] if "--out" in words else ["--out", "new"]
    code, _, shown = command_line(*words)
    assert code == 2 and message in shown and "Value error" not in shown
    assert not Path("new").exists()


def test_one_attribute_of_a_plain_column_and_a_name_with_a_comma(folder: Path, tiny: Path, tmp_path: Path) -> None:
    for column, facts in (("Colour", 1), ('Brand,"weight, kg"', 2)):
        out = tmp_path / column[:3]
        columns = ("--attributes-column", column, "--subject-column", "Product")
        scorer("run", folder / "rows.csv", "--out", out, "--bundle", tiny, *columns)
        (row,) = (json.loads(line) for line in scorer("show", out, "--jsonl").stdout.splitlines())
        assert row["error"] is None and len(row["fact_entailment"]) == facts, row


def test_one_file_needs_no_name(folder: Path) -> None:
    assert "stored: " in scorer("explain", folder / "out", "--row", "0").stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("surroundings")
    make_bundle(made / "tiny")
    (made / "in").mkdir()
    facts = [[f"X{i} | eatType | pub"] for i in range(20)]
    table = pa.table({"text": [f"X{i} is a pub." for i in range(20)], "triples": facts})
    pq.write_table(table, made / "in" / "a.parquet")
    return made


def called(command: list[str], before: tuple[str, ...]) -> tuple[int, str]:
    """Exit code and stderr of ``scorer``, without HOME and without a cache folder that is named."""
    kept = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    ended = subprocess.run(
        [*before, sys.executable, "-m", "scorer", *command],
        capture_output=True, text=True, env=kept, check=False,
    )  # fmt: skip
    return ended.returncode, ended.stderr


@pytest.mark.slow
def test_a_user_without_home_folder_and_passwd_entry(place: Path, tmp_path: Path) -> None:
    nobody = ("unshare", "--user", "--map-user=12345")
    if shutil.which("unshare") is None or subprocess.run([*nobody, "true"], capture_output=True).returncode:
        pytest.skip("a user namespace, where this process is a user without a name, cannot be made here")
    out = tmp_path / "out"
    command = ["run", str(place / "in"), "--out", str(out), "--bundle", str(place / "tiny")]
    for expected in ("1 shard; 20 rows", "1 already done"):  # measured at each start, since nothing can be kept
        code, said = called(command, before=nobody)
        assert code == 0, said
        assert expected in said
    assert (out / "_SUCCESS").exists()
    code, said = called(["run", "~/in", "--out", str(out), "--bundle", str(place / "tiny")], before=nobody)
    assert code == 2
    assert said.splitlines()[-1].startswith("scorer: the input: '~/in': there is no home folder known")


DELETED = {
    "run {}/in --bundle {}/tiny --out {}/out": 0,
    "run {}/in --bundle {}/tiny --out out": 2,
    "doctor --bundle tiny": 2,
}


@pytest.mark.parametrize("command", sampled(DELETED, 2))
def test_a_working_directory_that_was_deleted(command: str, place: Path, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    words = [word.replace("{}", str(place)) for word in command.split()]
    shell = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    code, said = called(words, before=("sh", "-c", shell, "sh", str(tmp_path / "gone")))
    assert code == DELETED[command], said
    assert "Traceback" not in said and "internal error" not in said
    if code:
        assert said.splitlines()[-1].startswith(("scorer: ", "problem: "))


@pytest.mark.parametrize(
    "command", ["run in --bundle tiny --out ~nosuchuser/x", "check --triples a|b|c --text t --bundle ~nosuchuser/x"]
)
def test_a_home_folder_of_nobody(command: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(app, command.split())
    assert ended.exit_code == 2, ended.output
    line = ended.stderr.splitlines()[-1]
    assert line.startswith(("scorer: ", "Error: Invalid value for ")) and "no user 'nosuchuser'" in line
    assert not any(tmp_path.iterdir())  # no folder of that name was made


def test_templates_that_are_no_regular_file(place: Path, tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "fifo")
    ended = CliRunner().invoke(app, ["templates", "check", "--data", str(place / "in"), str(path)])
    assert ended.exit_code == 2
    assert ended.stderr.splitlines()[-1].startswith(f"scorer: template file {path}: not a regular file")
