"""Gates against a pinned run, and gates on true rates, from the file of `scorer rate --save`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Document
from scorer.audit.reach import Checked
from scorer.errors import UsageError
from scorer.scoring.rates_file import RatesFile, SavedClass, SavedRate, labels_digest
from scorer.system.codec import decode
from tests.audit.nights import SIGNATURE, command, gates_file, night, of_system, row

GATE = 'metric = "not_ok_rate"\nagainst = "{}"\nfail = 0.05\nby = ["system"]'


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The first night and the last two of five, in which one system loses two points a night; a system is new in the
    last. And the history of the first."""
    folder = tmp_path_factory.mktemp("month")
    nights = []
    for day in (0, 3, 4):
        content = of_system(10 + 2 * day, 100, "a", 100 * day) + of_system(20, 100, "b")
        content += of_system(50, 100, "new") if day == 4 else []
        nights.append(night(folder / f"n{day}", content, finished=f"2026-01-0{day + 1}T03:00:00+00:00"))
    history = folder / "history.parquet"
    audit(nights[0], AuditOptions(history=history))
    return [*nights, history]


def gates(month: list[Path], tmp_path: Path, **options: Any) -> dict[str, Any]:
    path = gates_file(tmp_path, GATE.format("reference" if "reference" in options else "baseline"))
    found = audit(month[2], AuditOptions(gates=(path,), **options))
    return {str(gate.group["system"]): gate for gate in found.gates}


def test_a_slow_rise_fails_against_the_reference_alone(month: list[Path], tmp_path: Path) -> None:
    nightly = {name: one.status for name, one in gates(month, tmp_path, baseline=month[1]).items()}
    assert nightly == {"a": "pass", "b": "pass", "new": "silent"}
    found = gates(month, tmp_path, reference=month[0])
    assert {name: one.status for name, one in found.items()} == {"a": "fail", "b": "pass", "new": "silent"}
    assert (found["a"].before, found["a"].now) == (0.10, 0.18)
    assert found["a"].low < 0.08 < found["a"].high
    # A night of the history is as good as its output.
    assert gates(month, tmp_path, reference=Path(f"{month[3]}@2026-01-01T03:00:00+00:00")) == found


def test_a_reference_that_is_not_there_or_scored_differently_is_refused(month: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such night; the last are 2026-01-01T03"):
        gates(month, tmp_path, reference=Path(f"{month[3]}@2020-01-01"))
    other = night(tmp_path / "other", of_system(1, 100, "a"), signature="metric:0")
    with pytest.raises(UsageError, match="scored differently"):
        gates(month, tmp_path, reference=other)
    path = gates_file(tmp_path, GATE.format("reference"))
    with pytest.raises(UsageError, match="--reference"):
        audit(month[2], AuditOptions(gates=(path,)))


@pytest.mark.parametrize("pinned", [True, False])
def test_gates_check_judges_it_with_or_without_a_reference(month: list[Path], tmp_path: Path, pinned: bool) -> None:
    path = gates_file(tmp_path, GATE.format("reference"))
    given = ["--reference", month[0]] if pinned else []
    result = command("gates", "check", month[2], "--gates", path, "--json", *given)
    (gate,) = decode(result.stdout.encode(), Checked, "--json").gates
    found = {one.group["system"]: one for one in gate.groups}
    assert gate.by_chance >= found["a"].by_chance > 0
    assert found["a"].finds > 0.05 and found["a"].now == ("fail" if pinned else None)
    assert found["new"].can_fire is not pinned


TRUE_GATE = 'metric = "true_not_ok_rate"\nwarn = 0.1\nfail = 0.19\n'


def saved(group: str | None, value: float, low: float, high: float, rows: int) -> SavedRate:
    return SavedRate(rate="not_ok_rate", group=group, rows=rows, labels=3, metric=0.5, value=value, low=low, high=high,
                     bounds=None, classes=(SavedClass(predicted=True, value=value, size=3.0, labels=3),))  # fmt: skip


RATES = RatesFile(out="out", signature=SIGNATURE, rows=4, digest="", source="labels", by="system", strata=(), rates=(
    saved(None, 0.2, 0.05, 0.4, 4), saved("a", 0.35, 0.2, 0.6, 2),
))  # fmt: skip


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return night(tmp_path_factory.mktemp("out") / "out", [row(f"t{i}", system="ab"[i % 2]) for i in range(4)])


def audited(out: Path, *gates: str, rates: RatesFile | None = RATES) -> Document:
    file, file_of_rates = gates_file(out.parent, *gates), out.parent / "rates.json"
    if rates is not None:
        digest = rates.digest or labels_digest(out)
        file_of_rates.write_bytes(replace(rates, digest=digest).content)
    return audit(out, AuditOptions(gates=(file,), rates=file_of_rates if rates is not None else None))


def test_the_whole_interval_is_within_the_threshold_and_a_group_without_labels_fails(out: Path) -> None:
    pardoned = 'group = { system = "b" }\nmissing = "pass"'
    document = audited(out, TRUE_GATE, TRUE_GATE + 'by = ["system"]', TRUE_GATE + pardoned)
    gate, a, b, passed = document.gates
    assert (gate.status, gate.value, gate.low, gate.high) == ("fail", 0.4, 0.05, 0.4)
    assert gate.message.startswith("all rows: true_not_ok_rate 20.0%, 95% interval 5.0% to 40.0%")
    assert (a.group, a.status, a.value) == ({"system": "a"}, "fail", 0.6)
    assert (b.group, b.status, b.value) == ({"system": "b"}, "fail", None)
    assert "no row in this group has a usable human label" in b.message
    assert passed.status == "pass"


@pytest.mark.parametrize(
    ("gates", "rates", "message"),
    [
        (TRUE_GATE, None, "needs human labels"),
        (TRUE_GATE + 'by = ["n"]', RATES, "a gate by n, but the file of --rates groups rows by 'system'"),
        (TRUE_GATE + 'against = "baseline"', RATES, "describes one run; remove against"),
        (TRUE_GATE, replace(RATES, rows=5), "is of an output of 5 rows"),
        (TRUE_GATE, replace(RATES, digest="00" * 16), "is of other rows or labels"),
        (TRUE_GATE, replace(RATES, signature="model:other"), "run `scorer rate` on this output"),
    ],
)
def test_a_gate_that_can_have_no_figure_is_refused(
    out: Path, gates: str, rates: RatesFile | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        audited(out, gates, rates=rates)
