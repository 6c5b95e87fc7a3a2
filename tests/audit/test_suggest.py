"""``scorer gates init``: files that load, pass, and say what each gate finds."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Gate
from scorer.audit.gates import load_gates
from scorer.audit.suggest import EXACT, detectable, exceeds
from tests.audit.nights import Row, command, night, of_system
from tests.conftest import ROOT


def init(folder: Path, rows: list[Row]) -> tuple[Path, Path, Path]:
    """A run of rows, and the two files of gates that are written from it."""
    out, values, changes = night(folder / "before", rows), folder / "gates.toml", folder / "changes.toml"
    command("gates", "init", out, "--gates", values, "--changes", changes)
    return out, values, changes


def judged(folder: Path, rows: list[Row], baseline: Path, gates: Path) -> list[Gate]:
    return audit(night(folder, rows), AuditOptions(baseline=baseline, gates=(gates,))).gates


def test_the_run_that_gates_were_written_from_passes_them_and_a_group_that_gets_worse_fails(tmp_path: Path) -> None:
    before = of_system(10, 100, "a") + of_system(20, 200, "b\n]") + of_system(2, 10, "c")
    out, values, changes = init(tmp_path, before)
    document = audit(out, AuditOptions(gates=(values,)))
    assert {gate.metric: gate.status for gate in document.gates} == dict.fromkeys(
        ("error_rate", "empty_rate", "not_ok_rate"), "pass"
    )
    for rule in load_gates([values]):
        assert document.groups[0].rates[rule.metric].high < rule.warn < rule.fail
    after = of_system(10, 100, "a", 500) + of_system(80, 200, "b\n]", 500) + of_system(2, 10, "c", 500)
    found = judged(tmp_path / "after", after, out, changes)
    by_system = [gate.status for gate in found if gate.group and gate.against == "baseline"]
    assert by_system == ["pass", "fail", "silent"]
    assert "1 of 3 groups have fewer than 50 rows" in changes.read_text()


def test_eight_new_rows_all_wrong_fail_in_their_group_and_four_are_silent(tmp_path: Path) -> None:
    before = of_system(4, 60, "a") + of_system(4, 60, "b")
    out, _, changes = init(tmp_path, before)
    for new, status in ((8, "fail"), (4, "silent")):
        found = judged(tmp_path / str(new), before[: 120 - new] + of_system(new, new, "b", 900), out, changes)
        limits = [gate for gate in found if gate.group == {"system": "b"} and gate.fail == 0.5]
        assert [(gate.metric, gate.status) for gate in limits] == [("added_not_ok_rate", status)]


def test_the_table_of_the_page_is_what_the_gates_find() -> None:
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8").partition("### Which thresholds")[2]
    lines = re.findall(r"^\| ([\d,]+) \| (.*) \|$", page, re.MULTILINE)
    assert len(lines) == 4
    for rows, cells in lines:
        for limit, cell in zip((0.02, 0.05, 0.08, 0.1), cells.split(" | "), strict=True):
            n = int(rows.replace(",", ""))
            finds, chance = detectable(n, limit, 0.1, compares=True), exceeds(n, limit, 0.1, 0.1)
            assert finds is not None
            assert cell == f"+{100 * finds:.1f} ({f'{100 * chance:.1f}' if chance >= 0.001 else '< 0.1'} %)"


@pytest.mark.parametrize("n", [40, EXACT + 1])
def test_chances_are_those_of_simulated_runs(n: int) -> None:
    random = np.random.default_rng(3)
    now, before = random.binomial(n, 0.15, 200_000) / n, random.binomial(n, 0.1, 200_000) / n
    assert exceeds(n, 0.06, 0.15, 0.1) == pytest.approx(np.mean(now - before > 0.06 + 1e-12), abs=0.01)
    assert exceeds(n, 0.16, 0.15) == pytest.approx(np.mean(now > 0.16 + 1e-12), abs=0.015)
    assert detectable(n, 0.99, 0.5, compares=True) is None
