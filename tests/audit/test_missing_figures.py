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

SILENT = 'metric = "not_ok_rate"\nfail = 0.1\nmin_rows = 100'


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


@pytest.mark.parametrize("out", ["errors", "empty"])
def test_a_night_of_errors_or_of_nothing_fails_every_gate(outs: dict[str, Path], tmp_path: Path, out: str) -> None:
    with_figure = {metric for metric in METRICS if metric.endswith(("not_ok_rate", "error_rate"))}  # of error rows
    strict = [
        f'metric = "{metric}"\nfail = {0.0 if metric in with_figure else 0.99}{by}'
        for metric in METRICS
        for by in ("", '\nby = ["system"]')
    ]
    lenient = [f'{one}\nmissing = "pass"' for one in strict]
    found = judged(outs[out], gates_file(tmp_path, *strict, *lenient), baseline=outs["good"]).gates
    half = len(found) // 2
    assert {gate.metric for gate in found} == set(METRICS)
    for gate, pardoned in zip(found[:half], found[half:], strict=True):
        has_figure = out == "errors" and gate.metric in with_figure
        assert (gate.status, pardoned.status) == ("fail", "fail" if has_figure else "pass"), gate
        assert has_figure or (gate.value is None and gate.reason)
        assert has_figure or gate.message.endswith('; missing = "pass" accepts that')


def test_a_group_that_is_new_is_silent_and_one_that_went_fails(outs: dict[str, Path], tmp_path: Path) -> None:
    file = gates_file(tmp_path, 'metric = "not_ok_rate"\nagainst = "baseline"\nfail = 0.1\nby = ["system"]')
    for out, baseline, status, reason in (
        ("two", "good", "silent", "needs rows in the baseline, and this group is new"),
        ("good", "two", "fail", "there are no rows"),
    ):
        kept, other = judged(outs[out], file, baseline=outs[baseline]).gates
        assert (kept.status, other.status, other.reason) == ("pass", status, reason)


def test_min_rows_silences_on_purpose_and_nothing_checked_is_no_pass(outs: dict[str, Path], tmp_path: Path) -> None:
    file = gates_file(tmp_path, SILENT)
    for out in ("good", "empty", "errors"):
        document = judged(outs[out], file)
        assert (document.gates[0].status, document.status) == ("silent", "pass")
        assert document.checked == Checked(gates=1, silent=1, nothing_checked=True, required=False)
    assert judged(outs["good"], file, require_gates=True).status == "fail"
    file = gates_file(tmp_path, SILENT, 'metric = "error_rate"\nfail = 0')
    document = judged(outs["good"], file, require_gates=True)
    assert document.status == "pass"
    assert document.checked == Checked(gates=2, silent=1, nothing_checked=False, required=True)


def test_the_command_says_so_everywhere(outs: dict[str, Path], tmp_path: Path) -> None:
    file, page, xml = gates_file(tmp_path, SILENT), tmp_path / "report.html", tmp_path / "junit.xml"

    def last_case() -> tuple[Any, ...]:
        suite = ElementTree.parse(xml).getroot()[0]
        return suite.get("failures"), suite[-1].get("name"), suite[-1][0].tag

    for options, title, why in (
        (("--gates", file), "Nothing checked", "Every gate was silent"),
        ((), "No gates set", "No gate was given"),
    ):
        shown = command("audit", outs["good"], *options, "--report", page, "--junit", xml).stdout
        assert shown.startswith(f"{title}: {outs['good']}\n\n{why}, so nothing could fail. 0% of 40 rows")
        assert "Passed" not in page.read_text()
        assert last_case() == ("0", "nothing checked", "skipped")
        document = decode(command("audit", outs["good"], *options, "--json").stdout.encode(), Document, "--json")
        assert document.checked.nothing_checked is True
        refused = command("audit", outs["good"], *options, "--require-gates", "--junit", xml, code=1)
        assert "scorer: nothing was checked, and --require-gates is set" in refused.stderr
        assert last_case() == ("1", "nothing checked", "failure")
    assert "1 of 1 gates failed" in command(
        "audit", outs["empty"], "--gates", gates_file(tmp_path, 'metric = "error_rate"\nfail = 0'), code=1
    ).stderr  # fmt: skip
