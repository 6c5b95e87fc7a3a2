"""Facts that texts say wrongly: an audit tells them from those that are left out, where that is known."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Document
from scorer.audit.report import UNRECOGNISED
from tests.audit.nights import command, gates_file, night, row
from tests.audit.nights import table as made_table
from tests.audit.test_figures import with_contradictions
from tests.scored_outputs import finish

GATE = 'metric = "{}"\nfail = 0.1\nmin_rows = 10\n{}'


def output(folder: Path, wrong: int, left_out: int, added: int = 0) -> Path:
    """A hundred rows of a system: so many say *food* wrongly (from row 50 on), leave *area* out, and add something."""
    rows = [
        row(f"text {folder.name} {i}", facts, 0.1 if i < added else 0.9, f"s{i}", system="a")
        for i in range(100)
        if (
            facts := [
                ("food", 0.05 if 50 <= i < 50 + wrong else 0.9),
                ("area", 0.3 if 30 <= i < 30 + left_out else 0.9),
            ]
        )
    ]
    return finish(folder, {"part-0.parquet": with_contradictions(made_table(rows), 0.2)})


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("nights")
    return output(folder / "before", 2, 40), output(folder / "after", 30, 40, 7)


@pytest.fixture(scope="module")
def document(nights: tuple[Path, Path]) -> Document:
    return audit(nights[1], AuditOptions(baseline=nights[0]))


def test_more_facts_said_wrongly_are_significant(document: Document) -> None:
    change = document.groups[0].change.rates["contradicted_rate"]
    assert (change.before.count, change.after.count, change.significant) == (2, 30, True)


def test_another_kind_of_omission_alone_is_a_finding(tmp_path: Path) -> None:
    before, after = output(tmp_path / "before", 0, 40), tmp_path / "after"
    rows = pq.read_table(before / "part-0.parquet")
    finish(after, {"part-0.parquet": with_contradictions(rows, 0.5)})
    found = [one for one in audit(after, AuditOptions(baseline=before)).findings if one.kind == "changed"]
    assert {one.message for one in found} == {
        f"{name}: facts said wrongly in 40 of 100 rows, before in 0 of 100" for name in ("all rows", "a")
    }


@pytest.mark.parametrize(
    ("metric", "more"), [("contradicted_rate", ""), ("added_contradicted_rate", 'against = "removed"')]
)
def test_a_gate_on_them(nights: tuple[Path, Path], tmp_path: Path, metric: str, more: str) -> None:
    gates = gates_file(tmp_path, GATE.format(metric, more))
    failed = command("audit", nights[1], "--baseline", nights[0], "--gates", gates, code=1)
    assert metric in failed.stdout
    command("audit", nights[0], "--gates", gates_file(tmp_path, GATE.format("contradicted_rate", "")))


def test_every_format_tells_them_apart(nights: tuple[Path, Path], tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("report.html", "summary.md", "metrics.prom", "history.parquet")}
    options = [part for name, option in zip(files, ("report", "summary", "metrics", "history"), strict=True)
               for part in (f"--{option}", files[name])]  # fmt: skip
    shown = command("audit", nights[1], "--baseline", nights[0], *options).stdout
    for text in (shown, files["summary.md"].read_text()):
        assert (
            "Of all rows, 40.0% have something left out, 30.0% have something said wrongly, 7.0% have something added"
            in text
        )
        assert "left out" in text and "said wrongly: The food of" in text
        assert text.count(UNRECOGNISED) == 1
    html = files["report.html"].read_text()
    assert "Said wrongly" in html and "said wrongly: " in html and "left out 40" in html and "omitted: " in html
    assert html.count(UNRECOGNISED) == 1
    metrics = files["metrics.prom"].read_text()
    assert 'd2t_audit_rate_ratio{group="all rows",rate="contradicted"} 0.3\n' in metrics
    assert 'd2t_audit_rate_ratio{group="all rows",rate="left_out"} 0.4\n' in metrics
    assert pq.read_table(files["history.parquet"])["contradicted_rate"].to_pylist()[0] == 0.3


def test_where_it_is_not_known_figures_are_null_and_nothing_of_it_is_shown(tmp_path: Path) -> None:
    out = night(tmp_path / "out", [row(f"t{i}", [("food", 0.1 if i < 20 else 0.9)]) for i in range(50)])
    document = json.loads(command("audit", out, "--json").stdout)
    assert (
        document["groups"][0]["left_out"] is None
        and document["groups"][0]["rates"]["contradicted_rate"]["value"] is None
    )
    assert document["groups"][0]["predicates"][0]["contradicted"] is None
    command("audit", out, "--report", tmp_path / "r.html", "--metrics", tmp_path / "m.prom")
    assert (
        "said wrongly" not in (tmp_path / "r.html").read_text().lower()
        and UNRECOGNISED not in (tmp_path / "r.html").read_text() + command("audit", out).stdout
        and "contradicted" not in (tmp_path / "m.prom").read_text()
    )
    gates = gates_file(tmp_path, GATE.format("contradicted_rate", ""))
    assert (
        "the run does not know which facts are contradicted" in command("audit", out, "--gates", gates, code=1).stdout
    )


def test_an_output_and_a_history_of_before_have_no_such_column(nights: tuple[Path, Path], tmp_path: Path) -> None:
    rows = pq.read_table(nights[1] / "part-0.parquet").drop_columns("contradicted")
    old = finish(tmp_path / "old", {"part-0.parquet": rows}, finished="2025-01-01T03:00:00+00:00")
    assert audit(old).groups[0].left_out is None
    history = tmp_path / "history.parquet"
    command("audit", old, "--history", history)
    table = pq.read_table(history)
    pq.write_table(table.drop_columns("contradicted_rate"), history)
    command("audit", nights[1], "--history", history)
    assert pq.read_table(history)["contradicted_rate"].to_pylist() == [None, None, 0.3, 0.3]
