"""Lines for people: ``--quiet`` leaves out all but results and errors."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from scorer.commands import app
from scorer.commands.show import progress
from scorer.commands.show.progress import PlainReporter
from tests.bundles import make_bundle


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lines")
    make_bundle(folder / "tiny")
    pq.write_table(pa.table({"text": ["A is a pub."] * 3, "mr": ["name[A], eatType[pub]"] * 3}), folder / "a.parquet")
    return folder


def run(folder: Path, out: Path, *before: object, after: tuple[object, ...] = ()) -> Result:
    given = [*before, "run", folder / "a.parquet", "--bundle", folder / "tiny", "--out", out, *after]
    return CliRunner().invoke(app, list(map(str, given)))


def test_quiet_prints_results_alone(folder: Path, tmp_path: Path) -> None:
    loud = run(folder, tmp_path / "loud")
    assert loud.exit_code == 0, loud.output
    assert "3 rows to score" in loud.stderr
    for number, before in enumerate(((), ("--quiet",))):
        quiet = run(folder, tmp_path / str(number), *before, after=() if before else ("--quiet",))
        assert quiet.exit_code == 0
        assert quiet.stderr == ""
        assert "shards: 1 done" in quiet.stdout
    as_json = run(folder, tmp_path / "json", after=("--quiet", "--json"))
    assert as_json.stderr == "" and as_json.stdout.startswith("{")


def test_quiet_leaves_no_error_out(folder: Path, tmp_path: Path) -> None:
    ended = run(folder, tmp_path / "out", after=("--quiet", "--text-column", "none"))
    assert ended.exit_code == 2
    assert ended.stderr.startswith("scorer: ") and "'none'" in ended.stderr


def test_without_a_terminal_a_line_a_minute_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now, lines = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "say", lines.append)
    reporter = PlainReporter()
    reporter.started(1, 1000, 0)
    for second in range(1, 201):
        now[0] = float(second)
        reporter.progress("a", 1, 10 * second)
    assert lines[1:] == [
        "10 of 1,000 rows, 100 pairs computed, 10 pairs/s, about 16 min left",
        "70 of 1,000 rows, 700 pairs computed, 10 pairs/s, about 16 min left",
        "130 of 1,000 rows, 1,300 pairs computed, 10 pairs/s, about 14 min left",
        "190 of 1,000 rows, 1,900 pairs computed, 10 pairs/s, about 14 min left",
    ]
