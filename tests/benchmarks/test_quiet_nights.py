"""The benchmark of false alarms: its figures are those of an audit of such rows, and it counts alarms."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.quiet_nights import figures, gates_of, main, quiet_night
from tests.audit.nights import compared, night, of_system

BEFORE, NOW = {"a": (3, 70), "b": (6, 70)}, {"a": (9, 60), "b": (5, 80)}


def codes(bad: int, count: int) -> np.ndarray:
    return np.array([1] * bad + [0] * (count - bad))


def test_its_figures_are_those_of_an_audit(tmp_path: Path) -> None:
    rows = [[one for s, counts in side.items() for one in of_system(*counts, s, start)] for side, start in
            ((BEFORE, 0), (NOW, 1000))]  # fmt: skip
    document = compared(tmp_path, *rows)
    before, now = ({system: codes(*counts) for system, counts in side.items()} for side in (BEFORE, NOW))
    made = figures(before, now, {"a": 0, "b": 0})
    assert document.groups[0].group == {}
    right = [document.groups[0], *sorted(document.groups[1:], key=lambda one: str(one.group))]
    for one, other in zip(made, right, strict=True):
        assert (one.group, one.rates, one.new) == (other.group, other.rates, other.new)
        if (mix := other.change.mix) is not None:
            del mix.figures["mean_confidence"]  # which resampled labels have none of
        assert one.change.mix == mix
        for name, change in one.change.rates.items():
            theirs = other.change.rates[name]
            assert (change.before, change.after, change.low, change.high) == (
                theirs.before, theirs.after, theirs.low, theirs.high
            )  # fmt: skip
            if name == "contradicted_rate":
                assert change.test is theirs.test is None
                continue
            assert (change.test.p, change.test.statistic) == (theirs.test.p, theirs.test.statistic)
        assert one.change.added_rates == other.change.added_rates


def test_a_bad_night_rings_and_the_command_prints_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = {"a": codes(4, 70), "b": codes(5, 70)}
    bad = {"a": codes(40, 70), "b": codes(5, 70)}
    found = quiet_night(bad, first, gates_of(first, tmp_path), 1.0, np.random.default_rng(0))
    assert found["any gate: fail"] == 1
    out = night(tmp_path / "out", of_system(4, 60, "a") + of_system(3, 60, "b"))
    monkeypatch.setattr(sys, "argv", ["quiet_nights", str(out), "--files", "2", "--nights", "3"])
    main()
    printed = capsys.readouterr().out
    assert printed.startswith("6 quiet nights; not OK: a 4 of 60, b 3 of 60")
    assert "33 % of the rows new:" in printed
