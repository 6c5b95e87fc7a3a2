"""The console: figures in one form, tables that fit, and with --quiet results and errors alone."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from scorer.commands import console
from scorer.commands.check import OMITTED, print_verdict
from scorer.commands.console import Lines, RunReporter
from scorer.scoring.results import CheckResult, Verdict
from tests.evaluation.scored import save, scored
from tests.run.calls import scorer

pytestmark = pytest.mark.usefixtures("inline_runs")


def test_a_figure_is_shown() -> None:
    assert console.signed(-0.0706) == "-0.071"
    assert (console.share(0.1234), console.share(1.0)) == ("12.3%", "100%")
    assert console.interval((0.061, 0.193), console.share) == "6.1% to 19.3%"
    assert console.kinds({"null_text": 1200, "too_long:omission": 1}) == "null_text 1,200, too_long:omission 1"
    assert [console.duration(seconds) for seconds in (119.4, 7000, 3 * 3600, 3 * 86400, 1_802_880)] == [
        "119 seconds", "117 minutes", "3.0 hours", "3.0 days", "21 days",
    ]  # fmt: skip


def test_no_text_is_repeated_and_the_table_fits_a_narrow_terminal() -> None:
    text, facts = "Blue Spice is a pub by the river.", ["Blue Spice is a pub.", "The area of Blue Spice is riverside."]
    asked = [
        ("omission", 0, text, facts[0]),
        ("omission", 1, text, facts[1]),
        ("hallucination", None, *facts[:1], text),
    ]
    checks = [CheckResult(kind, fact, premise, says, 38, 0.1, 0.2, 0.7, True) for kind, fact, premise, says in asked]
    file = io.StringIO()
    found = Verdict("omission", "not_OK", 0.01, [1], [0.7, 0.01], 0.7, None, None, None, facts, checks)
    print_verdict(Console(file=file, width=60, soft_wrap=True), found)
    said = file.getvalue()
    assert [said.count(one) for one in (text, *facts)] == [1, 1, 1] and "asked" not in said
    assert f"fact 1 (omitted): {facts[1]}\n" in said and f"fact 0: {facts[0]}\n" in said
    assert said.count(f"\n{OMITTED}\n") == 1
    table = said.partition("check ")[2].splitlines()
    assert len(table) == 1 + len(checks) and max(map(len, table)) <= 60  # no line is broken


def test_the_summary_of_a_run_and_with_quiet_results_and_errors_alone(tiny: Path, tmp_path: Path) -> None:
    data = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["A is a pub.", "B.", None], "mr": ["name[A], eatType[pub]"] * 3}), data)
    given = ["run", data, "--bundle", tiny, "--max-error-rate", 1, "--out"]
    loud = scorer(*given, tmp_path / "loud")
    assert "3 rows to score" in loud.stderr
    for said in ("hallucination", "rows: 3 in, 2 scored", "errors: null_text 1", "time: ", f"output: {tmp_path}/loud"):
        assert said in loud.stdout
    for asked in (["--quiet", *given, tmp_path / "0"], [*given, tmp_path / "1", "--quiet"]):
        quiet = scorer(*asked)
        assert quiet.stderr == "" and "shards: 1 done" in quiet.stdout
    as_json = scorer(*given, tmp_path / "json", "--quiet", "--json")
    assert as_json.stderr == "" and as_json.stdout.startswith("{")
    said = scorer(*given, tmp_path / "none", "--quiet", "--text-column", "none", code=2).stderr
    assert said.startswith("scorer: ") and "'none'" in said


def test_without_a_terminal_a_line_a_minute_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now, lines = [0.0], []
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    reporter = RunReporter(lines.append)
    reporter.started(1, 1000, 0)
    for second in range(1, 201):
        now[0] = float(second)
        reporter.progress(second, 10 * second)
    assert lines[1:] == [
        "10 of 1,000 rows, 100 pairs computed, 10 pairs/s, about 16 minutes left",
        "70 of 1,000 rows, 700 pairs computed, 10 pairs/s, about 16 minutes left",
        "130 of 1,000 rows, 1,300 pairs computed, 10 pairs/s, about 14 minutes left",
        "190 of 1,000 rows, 1,900 pairs computed, 10 pairs/s, about 14 minutes left",
    ]


@pytest.mark.parametrize(
    ("variable", "value", "has_bar"),
    [
        ("JPY_PARENT_PID", "1", False),
        ("MPLBACKEND", "module://matplotlib_inline.backend_inline", False),
        ("MPLBACKEND", "agg", True),
    ],
)
def test_a_notebook_gets_lines_and_no_bar_on_its_terminal(
    variable: str, value: str, has_bar: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(Lines, "quiet", False)
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    monkeypatch.setenv(variable, value)
    with console.make_reporter() as found:
        assert (found.bar is not None) == has_bar


LONG = "a name of many words that no terminal of forty columns has place for"


class Terminal(io.StringIO):
    """A file that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("file", "least_width", "is_whole"),
    [(io.StringIO, 0, True), (Terminal, 0, False), (Terminal, console.WHOLE, True)],
)
def test_a_pipe_gets_whole_lines_and_figures_are_whole_on_a_terminal_too(
    file: type[io.StringIO], least_width: int, is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    printed = file()
    monkeypatch.setattr("sys.stdout", printed)
    grid = console.table("system", *(f"share of kind {n}" for n in range(9)))
    grid.add_row(LONG, *("12.5% [6.9, 21.5]*" for _ in range(9)))
    console.make_console(least_width=least_width).print(grid)
    lines = printed.getvalue().splitlines()
    assert (len(lines) == 2 and LONG in lines[1] and lines[1].count("12.5% [6.9, 21.5]*") == 9) == is_whole


def test_show_in_a_pipe_breaks_no_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = 3
    save(scored(["omission+hallucination"] * rows, text=[LONG] * rows, system=[LONG] * rows), tmp_path / "x.parquet")
    shown = scorer("show", tmp_path / "x.parquet", "--columns", "fine,text,system").stdout.splitlines()
    assert len(shown) == 1 + rows
    assert all("omission+hallucination" in line and line.count(LONG) == 2 for line in shown[1:])


@pytest.mark.parametrize(("contradicted", "is_explained"), [(None, True), ([0], True), ([0, 1], False)])
def test_the_mark_omitted_is_explained_where_a_fact_has_it(contradicted: list[int] | None, is_explained: bool) -> None:
    checks = [CheckResult("omission", fact, "It.", f"Fact {fact}.", 9, 0.8, 0.1, 0.1, False) for fact in (0, 1)]
    verdict = Verdict("omission", "not_OK", 0.1, [0, 1], [0.1, 0.1], 0.9, None, None, None, ["Fact 0.", "Fact 1."],
                      checks, contradicted=contradicted)  # fmt: skip
    file = io.StringIO()
    print_verdict(Console(file=file, width=90), verdict)
    assert (OMITTED in file.getvalue()) == is_explained


def test_a_text_under_plain_reading_is_marked_as_such(tiny: Path, tmp_path: Path) -> None:
    text, triples = "**A crowd of 5,947**", "A | crowd | 5947"
    given = ["--triples", triples, "--text", text, "--bundle", tiny]
    assert "\ntext (plain reading): A crowd of 5947\n" in scorer("check", *given, "--reading", "plain").stdout
    assert f"\ntext: {text}\n" in scorer("check", *given).stdout
    pq.write_table(pa.table({"text": [text], "triples": [[triples]]}), tmp_path / "a.parquet")
    scorer("run", tmp_path / "a.parquet", "--bundle", tiny, "--reading", "plain", "--out", tmp_path / "out")
    explained = scorer("explain", tmp_path / "out", "--row", "a.parquet:0").stdout
    assert "\ntext (plain reading): A crowd of 5947\n" in explained
