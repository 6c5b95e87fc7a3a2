"""Gates that cannot be put to a figure: they fail, or say that nothing was checked, and never pass in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Checked, Document
from scorer.audit.gates import METRICS
from scorer.system.codec import decode
from tests.audit.nights import command, gates_file, night, of_system, table
from tests.scored_outputs import finish


def judged(out: Path, file: Path, **more: Any) -> Document:
    return audit(out, AuditOptions(gates=(file,), **more))


@pytest.fixture(scope="module")
def outs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("outs")
    return {
        "good": night(folder / "good", of_system(0, 40, "a")),
        "errors": night(folder / "errors", of_system(0, 40, "a", 100, error="out_of_memory:omission")),
        "empty": finish(folder / "empty", {"part-0.parquet": table(of_system(0, 1, "a")).slice(0, 0)}),
        "two": night(folder / "two", of_system(0, 40, "a") + of_system(0, 40, "b")),
    }


def with_figure(metric: str) -> bool:
    """Whether rows that are all errors have a value of the metric."""
    return metric.endswith(("not_ok_rate", "error_rate"))


@pytest.mark.parametrize("out", ["errors", "empty"])
def test_a_night_of_errors_or_of_nothing_fails_every_gate(outs: dict[str, Path], tmp_path: Path, out: str) -> None:
    written = [
        f'metric = "{metric}"\nfail = {0.0 if with_figure(metric) else 0.99}{by}'
        for metric in METRICS
        for by in ("", '\nby = ["system"]')
    ]
    lenient = [f'{one}\nmissing = "pass"' for one in written]
    found = judged(outs[out], gates_file(tmp_path, *written, *lenient), baseline=outs["good"]).gates
    assert {gate.metric for gate in found} == set(METRICS)
    half = len(found) // 2
    for gate, pardoned in zip(found[:half], found[half:], strict=True):
        has_figure = out == "errors" and with_figure(gate.metric)
        assert (gate.status, pardoned.status) == ("fail", "fail" if has_figure else "pass"), gate
        if not has_figure:
            assert gate.value is None and gate.reason
            assert gate.message.endswith('; missing = "pass" accepts that')


def test_a_group_that_is_new_is_silent_and_one_that_went_fails(outs: dict[str, Path], tmp_path: Path) -> None:
    file = gates_file(tmp_path, 'metric = "not_ok_rate"\nagainst = "baseline"\nfail = 0.1\nby = ["system"]')
    document = judged(outs["two"], file, baseline=outs["good"])
    assert [gate.status for gate in document.gates] == ["pass", "silent"]
    assert "it needs rows in the baseline, and this group is new" in document.gates[1].message
    document = judged(outs["good"], file, baseline=outs["two"])
    assert [gate.status for gate in document.gates] == ["pass", "fail"]
    assert document.gates[1].reason == "there are no rows"


def test_min_rows_silences_on_purpose_and_nothing_checked_is_no_pass(outs: dict[str, Path], tmp_path: Path) -> None:
    gate = 'metric = "not_ok_rate"\nfail = 0.1\nmin_rows = 100'
    file = gates_file(tmp_path, gate)
    for out in ("good", "empty", "errors"):
        document = judged(outs[out], file)
        assert document.gates[0].status == "silent"
        assert document.status == "pass"
        assert document.checked == Checked(gates=1, silent=1, nothing_checked=True, required=False)
    document = judged(outs["good"], file, require_gates=True)
    assert (document.status, document.checked.required) == ("fail", True)
    file = gates_file(tmp_path, gate, 'metric = "error_rate"\nfail = 0')
    document = judged(outs["good"], file, require_gates=True)
    assert document.status == "pass"
    assert document.checked == Checked(gates=2, silent=1, nothing_checked=False, required=True)


def test_the_command_says_so_everywhere(outs: dict[str, Path], tmp_path: Path) -> None:
    file = gates_file(tmp_path, 'metric = "not_ok_rate"\nfail = 0.1\nmin_rows = 100')
    page, xml = tmp_path / "report.html", tmp_path / "junit.xml"
    for options, why in ((("--gates", file), "Every gate was silent"), ((), "No gate was given")):
        shown = command("audit", outs["good"], *options, "--report", page, "--junit", xml).stdout
        title = "NOTHING CHECKED" if options else "NO GATES SET"
        assert shown.startswith(f"{title}  {outs['good']}\n{why}, so nothing could fail. 0% of 40 rows")
        assert "Passed" not in page.read_text()
        suite = ElementTree.parse(xml).getroot()[0]
        assert suite.get("failures") == "0"
        assert suite.get("skipped") == suite.get("tests")
        assert suite[-1].get("name") == "nothing checked"
        document = decode(command("audit", outs["good"], *options, "--json").stdout.encode(), Document, "--json")
        assert document.checked.nothing_checked is True
        refused = command("audit", outs["good"], *options, "--require-gates", "--junit", xml, code=1)
        assert "scorer: nothing was checked, and --require-gates is set" in refused.stderr
        suite = ElementTree.parse(xml).getroot()[0]
        assert (suite.get("failures"), suite[-1][0].tag) == ("1", "failure")
    file = gates_file(tmp_path, 'metric = "error_rate"\nfail = 0')
    assert command("audit", outs["good"], "--gates", file, "--require-gates").stdout.startswith("PASS")
    assert "1 of 1 gates failed" in command("audit", outs["empty"], "--gates", file, code=1).stderr
