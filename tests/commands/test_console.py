"""The console: figures in one form, tables that fit, and with --quiet results and errors alone."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from scorer.commands import console
from scorer.commands.check import print_verdict
from scorer.commands.console import Lines, RunReporter
from scorer.scoring.results import CheckResult, Verdict
from tests.run.calls import scorer


def test_a_figure_is_shown() -> None:
    assert console.signed(-0.0706) == "-0.071"
    assert (console.share(0.1234), console.share(1.0)) == ("12.3%", "100%")
    assert console.interval((0.061, 0.193), console.share) == "6.1% to 19.3%"
    assert console.kinds({"null_text": 1200, "too_long:omission": 1}) == "null_text 1,200, too_long:omission 1"
    assert [console.duration(seconds) for seconds in (119.4, 7000, 3 * 3600)] == ["119 s", "117 min", "3.0 h"]


def test_a_table_wraps_names_and_never_cuts_off_a_figure() -> None:
    made = console.table("name", "rows", "result", names=("result",))
    made.add_row("a name of many words that does not fit", "1,234,567", "passes")
    written = io.StringIO()
    Console(file=written, width=40).print(made)
    head, first, *others = written.getvalue().splitlines()
    assert head.split() == ["name", "rows", "result"]
    assert "  1,234,567  " in first
    shown = re.sub(r"\s|1,234,567", "", "".join([first, *others]))
    assert sorted(shown) == sorted("anameofmanywordsthatdoesnotfitpasses")


TEXT = "Blue Spice is a pub by the river that serves breakfast on Sundays."
FACTS = ["Blue Spice is a pub.", "The area of Blue Spice is riverside.", "Blue Spice has a rating of 5 out of 5."]


def check(kind: str, premise: str, hypothesis: str, fact: int | None = None) -> CheckResult:
    return CheckResult(kind, fact, premise, hypothesis, 38, 0.1, 0.2, 0.7, True)


CHECKS = [
    *(check("omission", TEXT, fact, i) for i, fact in enumerate(FACTS)),
    check("hallucination", " ".join(FACTS), TEXT),
    check("all_facts", TEXT, " ".join(FACTS)),
]


def test_no_text_is_repeated_and_the_table_fits_a_narrow_terminal() -> None:
    file = io.StringIO()
    found = Verdict("omission", "not_OK", 0.01, [2], [0.7, 0.7, 0.01], 0.7, None, None, None, FACTS, CHECKS)
    print_verdict(Console(file=file, width=60, soft_wrap=True), found)
    said = file.getvalue()
    assert [said.count(text) for text in (TEXT, *FACTS)] == [1, 1, 1, 1]
    assert f"fact 2 (omitted): {FACTS[2]}\n" in said and f"fact 1: {FACTS[1]}\n" in said
    assert "asked" not in said
    table = said.partition("check ")[2].splitlines()
    assert len(table) == 1 + len(CHECKS)  # no line is broken
    assert max(map(len, table)) <= 60


def test_quiet_prints_results_and_errors_alone(tiny: Path, tmp_path: Path) -> None:
    data = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["A is a pub."] * 3, "mr": ["name[A], eatType[pub]"] * 3}), data)
    given = ["run", data, "--bundle", tiny, "--out"]
    assert "3 rows to score" in scorer(*given, tmp_path / "loud").stderr
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
        "10 of 1,000 rows, 100 pairs computed, 10 pairs/s, about 16 min left",
        "70 of 1,000 rows, 700 pairs computed, 10 pairs/s, about 16 min left",
        "130 of 1,000 rows, 1,300 pairs computed, 10 pairs/s, about 14 min left",
        "190 of 1,000 rows, 1,900 pairs computed, 10 pairs/s, about 14 min left",
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


def test_the_summary_says_rows_labels_errors_time_and_where(tiny: Path, tmp_path: Path) -> None:
    data = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["A is a pub.", None], "mr": ["name[A], eatType[pub]"] * 2}), data)
    shown = scorer("run", data, "--bundle", tiny, "--out", tmp_path / "out", "--max-error-rate", 1).stdout
    for expected in (
        "hallucination",
        "rows: 2 in, 1 scored",
        "errors: null_text 1",
        "time: ",
        f"output: {tmp_path}/out",
    ):
        assert expected in shown
    assert not re.search("padding|matrix|FLOP|tokens/s", shown)
