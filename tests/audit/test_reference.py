"""Gates against a pinned run: what no night shows against the night before adds up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.reach import Checked
from scorer.errors import UsageError
from scorer.system.codec import decode
from tests.audit.nights import Row, command, gates_file, night, row

GATE = 'metric = "not_ok_rate"\nagainst = "{}"\nfail = 0.05\nby = ["system"]'


def rows(bad: int, system: str) -> list[Row]:
    return [row(f"{system} {bad} {i}", [("food", 0.2 if i < bad else 0.8)], system=system) for i in range(100)]


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The first night and the last two of five, in which one system loses two points a night; a system is new in the
    last. And the history of the first."""
    folder = tmp_path_factory.mktemp("month")
    nights = []
    for day in (0, 3, 4):
        content = rows(10 + 2 * day, "a") + rows(20, "b") + (rows(50, "new") if day == 4 else [])
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
    other = night(tmp_path / "other", rows(1, "a"), signature="metric:0")
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
