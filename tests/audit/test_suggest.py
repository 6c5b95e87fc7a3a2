"""``scorer gates``: files that load and pass, and gates that cannot fire are named."""

from __future__ import annotations

import math
import re
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.reach import Checked
from scorer.audit.rules import load_gates
from scorer.system.codec import decode
from tests.audit.nights import Row, command, gates_file, night, of_system, row


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run, and one in which all rows are new and system b is worse by 30 points."""
    folder = tmp_path_factory.mktemp("nights")
    before = of_system(10, 100, "a") + of_system(20, 200, "b\n]") + of_system(2, 10, "c")
    after = of_system(10, 100, "a", 500) + of_system(80, 200, "b\n]", 500) + of_system(2, 10, "c", 500)
    return night(folder / "before", before), night(folder / "after", after)


@pytest.fixture(scope="module")
def files(nights: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("gates")
    found = folder / "gates.toml", folder / "changes.toml"
    command("gates", "init", nights[0], "--gates", found[0], "--changes", found[1])
    return found


def reached(*arguments: object, code: int = 0) -> Checked:
    """What ``scorer gates check`` prints."""
    return decode(command("gates", "check", *arguments, "--json", code=code).stdout.encode(), Checked, "--json")


def test_the_run_that_gates_were_written_from_passes_them(nights: tuple[Path, Path], files: tuple[Path, Path]) -> None:
    document = audit(nights[0], AuditOptions(gates=files[:1]))
    assert {gate.metric for gate in document.gates} == {"error_rate", "empty_rate", "not_ok_rate"}
    assert {gate.status for gate in document.gates} == {"pass"}
    for rule in load_gates(files[:1]):
        assert document.groups[0].rates[rule.metric].high < rule.warn < rule.fail
    # A group that gets worse fails.
    found = audit(nights[1], AuditOptions(baseline=nights[0], gates=files[1:])).gates
    by_system = {str(gate.group["system"])[0]: gate.status for gate in found if gate.group and gate.fail}
    assert by_system == {"a": "pass", "b": "fail", "c": "silent"}
    assert "1 of 3 groups have fewer than 50 rows" in files[1].read_text()


def test_the_comment_has_the_figures_of_the_documented_table(tmp_path: Path) -> None:
    """100 rows of which 10 are bad: docs/audit.md has 10 points, 14.9 points found, 0.7 % by chance."""
    out = night(tmp_path / "out", of_system(10, 100, "a"))
    command("gates", "init", out, "--gates", tmp_path / "g.toml", "--changes", tmp_path / "c.toml")
    text = (tmp_path / "c.toml").read_text()
    for figure in ("increase by 14.9 points", "it fails in 0.67% of runs", "in 30 runs with a chance of 18.3%"):
        assert text.count(figure) == 2
    assert {rule.fail for rule in load_gates([tmp_path / "c.toml"]) if rule.metric == "not_ok_rate"} == {0.1}


def test_what_gates_can_find_is_shown_without_a_baseline(nights: tuple[Path, Path], files: tuple[Path, Path]) -> None:
    found = reached(nights[0], "--gates", files[1]).gates
    able = {(gate.metric, str(one.group.get("system"))[:1]): one.can_fire for gate in found for one in gate.groups}
    added = {group for (metric, group), fires in able.items() if metric == "added_not_ok_rate" and fires}
    assert added == {"N", "a", "b", "c"}
    others = {group for (metric, group), fires in able.items() if metric == "not_ok_rate" and fires}
    assert others == {"N", "a", "b"} and able["label_flips", "N"]
    shown = command("gates", "check", nights[0], "--gates", files[0], "--gates", files[1]).stdout
    assert "system=b<U+000A>]: not_ok_rate, 200 rows: finds an increase of" in shown
    assert re.search(r"cannot fire  system=c: .* it needs 50 rows \(min_rows\), there are 10", shown)


USELESS = {
    'metric = "not_ok_rate"\nagainst = "baseline"\nfail = 0.95': "10.3% can rise by at most +89.7 points",
    'metric = "backoff_rate"\nfail = 0.1\nmissing = "pass"': "which passes",
}


@pytest.mark.parametrize(("gate", "reason"), USELESS.items())
def test_a_gate_that_can_fire_nowhere_is_exit_2(
    nights: tuple[Path, Path], tmp_path: Path, gate: str, reason: str
) -> None:
    result = command("gates", "check", nights[0], "--gates", gates_file(tmp_path, gate), code=2)
    assert reason in result.stdout
    assert "gates.toml, gate 1 can fire in no group" in result.stderr


def test_twenty_groups_fail_together_in_one_run_of_a_hundred(tmp_path: Path) -> None:
    """20 groups of 120 rows of which 10 % are bad: 12.5 points, and 12 would fail in 1.9 % of runs."""
    out = night(tmp_path / "out", [one for i in range(20) for one in of_system(12, 120, f"s{i}")])
    command("gates", "init", out, "--gates", tmp_path / "g.toml", "--changes", tmp_path / "c.toml")
    by_group = [rule for rule in load_gates([tmp_path / "c.toml"]) if rule.by and rule.metric == "not_ok_rate"]
    assert [rule.fail for rule in by_group] == [0.125]
    checked = reached(out, "--gates", tmp_path / "c.toml")
    (gate,) = [one for one in checked.gates if one.metric == "not_ok_rate" and len(one.groups) == 20]
    assert gate.by_chance == pytest.approx(0.00901, abs=1e-5)
    assert gate.by_chance_30 == pytest.approx(1 - (1 - gate.by_chance) ** 30)
    assert checked.by_chance > gate.by_chance


def test_rows_that_were_kept_or_rewritten_make_false_alarms_rare(tmp_path: Path) -> None:
    """The same gate: with all rows new, with nine of ten kept, and with new texts of inputs that are hard or easy."""
    gates = gates_file(tmp_path, 'metric = "not_ok_rate"\nagainst = "baseline"\nfail = 0.05')

    def made(text: str, subject: str) -> list[Row]:
        return [row(f"{text} {i}", [("food", 0.2 if i % 5 == 0 else 0.8)], subject=f"{subject}{i}") for i in range(200)]

    before, rewritten, new = made("old", "S"), made("new", "S"), made("new", "N")
    old = night(tmp_path / "old", before)
    chances = []
    for name, content in (("new", new), ("kept", new[:20] + before[20:]), ("rewritten", rewritten)):
        out = night(tmp_path / name, content)
        found = reached(out, "--baseline", old, "--gates", gates)
        chances.append(found.by_chance)
        assert found.kept == {"new": 0, "kept": 0.9, "rewritten": 0}[name]
    assert chances[0] == pytest.approx(0.0945, abs=1e-3)
    assert max(chances[1:]) < 1e-3


def test_every_gate_has_a_chance_or_the_reason_why_there_is_none(tmp_path: Path) -> None:
    gates = gates_file(
        tmp_path,
        'metric = "mean_confidence"\nfail = 0.02\nagainst = "baseline"',
        'metric = "psi_confidence"\nfail = 0.03',
        'metric = "backoff_rate"\nfail = 0.2',
        'metric = "label_flips"\nfail = 0',
        'metric = "not_ok_rate"\nfail = 0.1\nagainst = "baseline"',
    )

    def chances(out: Path) -> dict[str, float | str | None]:
        found = [(gate.metric, gate.groups[0]) for gate in reached(out, "--gates", gates).gates]
        return {name: one.by_chance if one.by_chance is not None else one.not_estimated for name, one in found}

    spread = [row(f"text {i}", [("food", 0.5 + i / 1200)]) for i in range(600)]
    known = chances(night(tmp_path / "known", spread))
    deviation = float(np.std(np.minimum([0.5 + i / 1200 for i in range(600)], 0.9)))
    by_chance = NormalDist().cdf(-0.02 / (deviation * math.sqrt(2 / 600)))
    assert isinstance(known["mean_confidence"], float)
    assert by_chance <= known["mean_confidence"] <= 4 * by_chance  # from a histogram, at most
    assert known["psi_confidence"] == pytest.approx(0.437, abs=0.001)  # chi-squared of 9 degrees beyond 9
    assert "has a template or has none" in str(known["backoff_rate"])
    assert "keep their labels" in str(known["label_flips"])
    shared = [row(f"text {i}", [("food", 0.2 if i < 60 else 0.8)], subject=f"S{i // 6}") for i in range(600)]
    unknown = chances(night(tmp_path / "shared", shared))
    assert "rows share inputs" in str(unknown["mean_confidence"])
    assert isinstance(unknown["not_ok_rate"], float)
