"""Options: one declaration for all commands, settings from ``scorer.toml`` and the environment."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from scorer import ColumnNames
from scorer.commands import app
from scorer.commands.ending import App
from scorer.commands.options import ColumnOptions, ModelOptions, configured, location, written, written_parquet
from scorer.commands.sections import GROUPS
from scorer.scoring.settings import Settings
from scorer.system.arguments import option
from tests.commands.conftest import CommandLine
from tests.conftest import ROOT
from tests.faults import harness
from tests.run.calls import scorer

NOT_OF_THE_OUTPUT = {
    *("out", "allow_stale", "part", "devices", "ray", "ray_cpus", "rescore", "max_error_rate", "as_json"),
}
"""Parameters of ``scorer run`` that no output depends on; all others are of ``scorer plan`` too."""


def test_every_setting_has_an_option_with_its_default() -> None:
    assert {"columns", *(one.name for one in fields(ModelOptions))} == {one.name for one in fields(Settings)}
    columns = {one.name.removesuffix("_column") for one in fields(ColumnOptions)}
    assert {"sentences", *columns} == {one.name for one in fields(ColumnNames)}
    assert ModelOptions(bundle="embedded").settings(ColumnOptions()) == Settings("embedded")


def test_a_plan_takes_every_option_that_an_output_of_a_run_depends_on() -> None:
    run, plan, check = (DECLARED[(name,)] for name in ("run", "plan", "check"))
    assert run.keys() - NOT_OF_THE_OUTPUT == plan.keys() - {"out", "as_json"}
    for name in run.keys() & plan.keys() - {"out", "as_json"}:
        assert run[name] == plan[name]
    for one in fields(ModelOptions):
        assert one.name == "bundle" or run[one.name] == check[one.name]


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A field of each kind, and one that is no option."""

    needed: str = option("Needed.", "X")
    many: tuple[int, ...] = option("Several.", "N", (), name="--one", min=2)
    pair: tuple[str, str] | None = option("Two.", "A B", None)
    choice: Literal["a", "b"] = option("A choice.", default="a", variable=True)
    parsed: float | str = option("Parsed.", default=0.0, parser=float)
    flag: bool = option("A flag.", default=False)
    internal: int = 7


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--needed x", Sample(needed="x")),
        ("--needed x --one 2 --one 3 --flag", Sample(needed="x", many=(2, 3), flag=True)),
        ("--needed x --pair a b --choice b --parsed 1.5", Sample(needed="x", pair=("a", "b"), choice="b", parsed=1.5)),
        ("--choice b", None),
        ("--needed x --one 1", None),
        ("--needed x --choice c", None),
    ],
)
def test_a_command_gets_its_options_as_an_object(words: str, expected: Sample | None) -> None:
    given: list[Any] = []
    app = App()

    @app.command("sample")
    def command(sample: Sample, quick: bool = option("Quick.", default=False)) -> None:
        given.extend((sample, quick))

    assert CliRunner().invoke(app, words.split()).exit_code == (0 if expected else 2)
    assert given == ([expected, False] if expected else [])
    help = " ".join(CliRunner().invoke(app, ["--help"]).stdout.split())
    assert "--needed X Needed. [required]" in help and "D2T_CHOICE" in help and "internal" not in help


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty working directory and no variable of this program."""
    for name in list(os.environ):
        if name.startswith("D2T_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def test_an_option_is_stronger_than_a_variable_and_that_than_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command_line: CommandLine, tiny: Path
) -> None:
    """``--protocol``: by the signature of the verdict. The folder of the bundle is relative to the file."""
    (tmp_path / "tiny").symlink_to(tiny)
    (tmp_path / "scorer.toml").write_text('bundle = "tiny"\nprotocol = "nlgi_eval"\nchecks = "hallucination"\n')

    def signature(*more: str) -> str:
        code, out, errors = command_line("check", "--triples", "a | b | c", "--text", "t", "--json", *more)
        assert code == 0 and "note: from scorer.toml: --bundle, " in errors
        return str(json.loads(out)["signature"])

    assert signature().startswith("model:tiny@")
    assert "protocol:nlgi_eval|" in signature() and "checks:hallucination|" in signature()
    monkeypatch.setenv("D2T_PROTOCOL", "paper")
    assert "protocol:paper|" in signature()
    assert "protocol:nlgi_eval|" in signature("--protocol", "nlgi_eval")


BAD = {
    'bundel = "x"': "scorer.toml: unknown key 'bundel'; the keys are attributes_column, ",
    'protocol = "papr"': "--protocol",
    'text_column = ["a"]': "text_column is ['a']",
    'bundle = "~nosuchuser/b"': "scorer.toml: bundle: '~nosuchuser/b': there is no user 'nosuchuser'",
    "bundle =": "scorer.toml is not TOML",
}


@pytest.mark.parametrize(("content", "message"), BAD.items())
def test_an_invalid_file_is_refused(tmp_path: Path, content: str, message: str, command_line: CommandLine) -> None:
    (tmp_path / "scorer.toml").write_text(content)
    bundle = () if "bundle" in content else ("--bundle", "b")
    code, out, errors = command_line("run", "a.parquet", "--out", "out", *bundle)
    assert (code, out) == (2, "") and message in errors


def test_the_example_of_the_docs_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "using.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "scorer.toml").write_text(example)
    found = configured(typer.main.get_command(app))
    assert found["run"]["bundle"] == str(tmp_path / "bundles" / "roberta-large-mnli")
    assert found["audit"]["gates"] == [str(tmp_path / "gates.toml")]
    assert found["run"]["text_column"] == found["plan"]["text_column"] == "output.text"


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
    for words, name, other in READS.values():
        assert "is an input" in refusal(words, {name: "rows.csv", other: "rows.csv"})
    said = refusal(("audit",), {"report": "new.html", "junit": "./new.html"})
    assert "--report and --junit are both" in said and not Path("new.html").exists()


def test_paths_that_may_be_in_an_object_store() -> None:
    commands = ("run", "plan", "status", "audit", "evaluate", "explain", "show", "sample", "rate")
    commands += ("compare", "cite", "gates init")
    found = {" ".join((*words, name)) for words in DECLARED for name, one in DECLARED[words].items()
             if one.parser is location}  # fmt: skip
    assert found == {
        *(f"{one} out" for one in commands),
        "audit baseline",
        "evaluate against",
        "run reuse",
        "plan reuse",
    }


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


@pytest.mark.parametrize(("command", "first"), [("run", ["--out", "--bundle"]), ("plan", ["--bundle", "--device"])])
def test_the_help_of_a_run_is_in_sections(command: str, first: list[str]) -> None:
    """Every option is there once; those that the README needs come first."""
    shown = CliRunner().invoke(app, [command, "--help"]).stdout
    sections = re.findall(r"^(\w[\w ]*):\n((?:  .*\n?|\n(?=  ))+)", shown, re.MULTILINE)
    options = {title: re.findall(r"^  (?:-h, )?(--[\w-]+)", text, re.MULTILINE) for title, text in sections}
    groups = GROUPS if command == "run" else GROUPS[:4]
    assert [title for title, _ in sections] == ["Arguments", "Options", *groups]
    assert options["Options"][:2] == first and {"--templates", "--reuse", "--limit"} < {*options["Options"]}
    assert "--text-column" in options["Input columns and format"] and "--exact" in options["Model"]
    group: Any = typer.main.get_command(app)
    parameters = group.commands[command].get_params(typer.Context(group, info_name="scorer"))
    declared = [word for one in parameters if one.param_type_name == "option" for word in one.opts[-1:]]
    assert sorted(word for words in options.values() for word in words) == sorted(declared)


def test_every_group_of_options_is_a_section() -> None:
    """A group with another name would be shown among those without one."""
    group: Any = typer.main.get_command(app)
    parameters = [parameter for command in group.commands.values() for parameter in command.params]
    assert {getattr(parameter, "rich_help_panel", None) for parameter in parameters} - {None} == {*GROUPS}


def test_a_command_of_few_groups_has_one_list() -> None:
    shown = CliRunner().invoke(app, ["check", "--help"]).stdout
    assert re.findall(r"^(\w[\w ]*):$", shown, re.MULTILINE) == ["Options"]


def test_that_the_embedded_model_is_not_for_documents_is_one_line_of_a_run(tmp_path: Path) -> None:
    """Whatever the number of workers."""
    rows = [{"answer": f"It opens at {hour}.", "passages": ["The museum is open from 10 am."]} for hour in range(6)]
    (tmp_path / "data").mkdir()
    for name in ("a", "b"):
        (tmp_path / "data" / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    columns = ("--text-column", "answer", "--document-column", "passages")
    done = scorer("run", "data", "--out", "out", "--bundle", "embedded", *columns, "--devices", "cpu:2")
    assert [line for line in done.stderr.splitlines() if "the embedded model" in line] == [
        "note: the embedded model is not for documents: its labels are close to chance; export a checkpoint that is "
        "(docs/checkpoints.md) and pass its bundle with --bundle"
    ]


def test_the_embedded_model_says_that_it_passes_texts_that_are_decided_by_sentences(tmp_path: Path) -> None:
    """On stderr when a run begins, and in the audit with the number of such rows."""
    facts = [f"Game {number} | points | {number}" for number in range(90)]
    (tmp_path / "data.jsonl").write_text(
        json.dumps({"triples": facts, "text": "Game 3 had 3 points. It rained."}) + "\n"
    )
    settings = ("--checks", "hallucination", "--sentences", "--bundle", "embedded")
    done = scorer("run", tmp_path / "data.jsonl", "--out", tmp_path / "scored", *settings)
    assert "passes nearly every text whose facts do not fit it, right or wrong" in done.stderr
    (finding,) = (
        finding
        for finding in json.loads(scorer("audit", tmp_path / "scored", "--json").stdout)["findings"]
        if finding["kind"] == "bundle"
    )
    assert finding["message"].endswith(
        "passes nearly every text decided sentence by sentence, right or wrong (rows here: 1)"
    )
