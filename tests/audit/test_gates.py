"""Gates: what rings, what is silent, and what cannot be meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Gate
from scorer.audit.rules import METRICS
from scorer.errors import UsageError
from tests.audit.nights import Row, night, row


def rows(bad: int, n: int, system: str, start: int = 0, **more: Any) -> list[Row]:
    return [
        row(f"{system} {start + i}", [("food", 0.2 if i < bad else 0.8)], system=system, n=n, **more) for i in range(n)
    ]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("nights")
    before = rows(10, 100, "a") + rows(20, 100, "b") + rows(5, 10, "c")
    after = rows(10, 100, "a") + rows(50, 100, "b", 1000) + rows(5, 10, "c")
    after[0]["error"] = "too_long:omission"
    after[1]["text"] = ""
    counted = {"food": {"template": 150, "backoff": 60}}
    return night(folder / "before", before), night(folder / "after", after, by_predicate=counted)


def gate(nights: tuple[Path, Path], tmp_path: Path, text: str, baseline: bool = True) -> list[Gate]:
    path = tmp_path / "gates.toml"
    path.write_text(text)
    return audit(nights[1], AuditOptions(baseline=nights[0] if baseline else None, gates=(path,))).gates


def test_each_metric(nights: tuple[Path, Path], tmp_path: Path) -> None:
    limits = {"mean_confidence": "0.01"}
    text = "\n".join(f'[[gates]]\nmetric = "{metric}"\nwarn = {limits.get(metric, "0.0")}' for metric in METRICS)
    found = {one.metric: one for one in gate(nights, tmp_path, text)}
    assert set(found) == set(METRICS)
    for name in ("unsupported_numbers_rate", "added_unsupported_numbers_rate"):
        assert found.pop(name).reason == "the run did not look for unsupported numbers (--check-numbers)"
    change = audit(nights[1], AuditOptions(baseline=nights[0])).groups[0]
    assert change.change is not None
    right = {name: one.added.value for name, one in change.change.added_rates.items()} | {
        name: rate.value for name, rate in change.rates.items()
    }
    right |= {"mean_confidence": change.confidence.mean, "backoff_rate": 60 / 210}
    right |= {"label_flips": 0.0, "psi_confidence": change.change.confidence.psi}
    del right["unsupported_numbers_rate"], right["added_unsupported_numbers_rate"]
    assert {name: one.value for name, one in found.items()} == right
    assert right["not_ok_rate"] == pytest.approx(65 / 210)
    assert right["error_rate"] == pytest.approx(1 / 210)
    assert right["empty_rate"] == pytest.approx(1 / 210)
    ringing = {name for name, one in found.items() if one.status == "warn"}
    quiet = {"label_flips", "hallucination_rate", "mean_confidence", "added_hallucination_rate", "added_error_rate"}
    assert ringing == set(found) - quiet - {"psi_confidence"}
    assert found["psi_confidence"].status == "silent"  # 210 rows are too few to judge it
    for name in ("not_ok_rate", "backoff_rate"):
        assert found[name].low is not None


def test_thresholds_are_the_last_values_that_pass(nights: tuple[Path, Path], tmp_path: Path) -> None:
    expected = [
        ("not_ok_rate", "warn = 0.5", "pass"),
        ("not_ok_rate", "warn = 0.49", "warn"),
        ("not_ok_rate", "fail = 0.49", "fail"),
        ("not_ok_rate", "warn = 0.1\nfail = 0.6", "warn"),
        ("not_ok_rate", "warn = 0.1\nfail = 0.2", "fail"),
        ("not_ok_rate", "warn = 0\nfail = 0\nmin_rows = 101", "silent"),
        ("not_ok_rate", "warn = 0\nfail = 0\nmin_rows = 100", "fail"),
        ("mean_confidence", "warn = 0.6\nfail = 0.45", "warn"),  # it is 0.5, and lower is worse
        ("mean_confidence", "warn = 0.4", "pass"),
        ("label_flips", "fail = 0", "silent"),  # no row of b is in both nights
    ]
    text = '[[gates]]\nmetric = "{}"\ngroup = {{ system = "b" }}\n{}\n'
    found = gate(nights, tmp_path, "".join(text.format(metric, limits) for metric, limits, _ in expected))
    assert [one.status for one in found] == [status for *_, status in expected]
    (everywhere,) = gate(nights, tmp_path, '[[gates]]\nmetric = "label_flips"\nfail = 0')
    assert everywhere.status == "pass"


def test_a_value_equal_to_a_threshold_passes_whatever_the_rounding(tmp_path: Path) -> None:
    assert 28 / 100 - 20 / 100 > 0.08  # as floats go
    outs = night(tmp_path / "before", rows(20, 100, "a")), night(tmp_path / "after", rows(28, 100, "a", 500))
    text = '[[gates]]\nmetric = "not_ok_rate"\nagainst = "baseline"\nfail = {}'
    assert gate(outs, tmp_path, text.format(0.08))[0].status == "pass"
    assert gate(outs, tmp_path, text.format(0.0799))[0].status == "fail"


def test_against_the_baseline_the_increase_counts(nights: tuple[Path, Path], tmp_path: Path) -> None:
    text = '[[gates]]\nmetric = "{}"\nby = ["system"]\nagainst = "baseline"\n{}'
    a, b, c = gate(nights, tmp_path, text.format("not_ok_rate", "warn = 0.1\nfail = 0.29"))
    assert [one.status for one in (a, b, c)] == ["pass", "fail", "pass"]
    assert (b.value, b.before, b.now) == (pytest.approx(0.3), pytest.approx(0.2), pytest.approx(0.5))
    assert b.message.startswith("system=b: not_ok_rate 50.0%, +30.0 points since the baseline (20.0%), 95% interval +")
    assert b.message.endswith("(warn above +10.0 points, fail above +29.0 points)")
    for limits in ("warn = 0.1\nfail = 0.2", "warn = -0.1\nfail = -0.2"):
        a, b, c = gate(nights, tmp_path, text.format("mean_confidence", limits))
        assert [one.status for one in (a, b, c)] == ["pass", "warn", "pass"]
        assert b.value == pytest.approx(-0.18)
    (_, b, _) = gate(nights, tmp_path, text.format("backoff_rate", "warn = 0"))
    assert (b.status, b.value, b.reason) == ("fail", None, "the baseline has no such figure")


def test_groups_by_values_of_any_type_and_several_columns(nights: tuple[Path, Path], tmp_path: Path) -> None:
    text = '[[gates]]\nmetric = "not_ok_rate"\nfail = 0\ngroup = { n = 10, system = "c" }'
    (one,) = gate(nights, tmp_path, text, baseline=False)
    assert (one.rows, one.status, one.value) == (10, "fail", 0.5)
    assert one.group == {"n": "10", "system": "c"}
    by = gate(nights, tmp_path, '[[gates]]\nmetric = "not_ok_rate"\nfail = 0\nby = ["n", "system"]', baseline=False)
    assert [one.group for one in by] == [{"n": "10", "system": "c"}, *({"n": "100", "system": s} for s in "ab")]


def test_the_gravest_gate_decides_and_callouts_name_it(nights: tuple[Path, Path], tmp_path: Path) -> None:
    path, more = tmp_path / "a.toml", tmp_path / "b.toml"
    path.write_text('[[gates]]\nmetric = "not_ok_rate"\nwarn = 0.1')
    more.write_text('[[gates]]\nmetric = "error_rate"\nfail = 0.0')
    assert audit(nights[1]).status == "pass"
    assert audit(nights[1], AuditOptions(gates=(path,))).status == "warn"
    document = audit(nights[1], AuditOptions(gates=(path, more)))
    assert document.status == "fail"
    assert [(c.kind, c.severity) for c in document.callouts] == [
        ("gate", "fail"),
        ("gate", "warn"),
        ("errors", "info"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[gates]]\nmetric = "ser"\nwarn = 1', r"unknown metric 'ser'; the metrics are .*psi_confidence"),
        ('[[gates]]\nmetric = "not_ok_rate"', "neither warn nor fail"),
        ('[[gates]]\nmetric = "not_ok_rate"\nwarn = 0.2\nfail = 0.1', "is only reached after"),
        ('[gates]\nmetric = "not_ok_rate"', r"no \[\[gates\]\] table"),
        ('[[gate]]\nmetric = "not_ok_rate"', "unknown table 'gate'"),
        (
            '[[gates]]\nmetric = "not_ok_rate"\nwarn = 0.9\nby = ["sytem"]',
            r"no column 'sytem'; .*system",
        ),
        (
            '[[gates]]\nmetric = "not_ok_rate"\nwarn = 0.9\ngroup = { system = "x" }',
            r"no rows where system=x; there is system=a; ",
        ),
        ('[[gates]]\nmetric = "label_flips"\nwarn = 1', "pass it with --baseline"),
    ],
)
def test_what_cannot_be_meant_is_said(nights: tuple[Path, Path], tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        gate(nights, tmp_path, text, baseline=False)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
