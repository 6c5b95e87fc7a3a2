"""Gates on the rows that are new: few of them, all wrong, fail although the rate over all rows hardly moves."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Document
from tests.audit.nights import Row, night, row

README = Path(__file__).resolve().parents[2] / "README.md"


def rows(wrong: int, n: int, first: int = 0, systems: int = 5) -> list[Row]:
    """Rows of which every ``n // wrong``-th is wrong, spread over systems."""
    bad = set(np.linspace(0, n - 1, wrong).astype(int).tolist()) if wrong else set()
    return [row(f"t{first + i}", [("food", 0.1 if i in bad else 0.9)], system=f"s{i % systems}") for i in range(n)]


def audited(tmp_path: Path, before: list[Row], after: list[Row], gates: str) -> Document:
    file = tmp_path / "gates.toml"
    file.write_text(gates)
    outs = night(tmp_path / "before", before), night(tmp_path / "after", after)
    return audit(outs[1], AuditOptions(baseline=outs[0], gates=(file,)))


def readme_gates() -> str:
    found = re.search(r"```toml\n(\[\[gates\]\].*?)```", README.read_text(), re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize("rewritten", [100, 400])
def test_the_gates_of_the_readme_fail_when_all_rewritten_rows_are_wrong(tmp_path: Path, rewritten: int) -> None:
    before = rows(1000, 10_000)
    wrong = rows(rewritten, rewritten, first=20_000)
    document = audited(tmp_path, before, wrong + before[rewritten:], readme_gates())
    assert document.status == "fail"
    assert document.baseline_changes is not None and document.baseline_changes.added == rewritten
    failed = {gate.metric for gate in document.gates if gate.status == "fail"}
    assert failed == {"added_not_ok_rate"}, "the rate over all rows hides it"


GATE = '[[gates]]\nmetric = "added_not_ok_rate"\n'


@pytest.mark.parametrize(
    ("gate", "value", "before"),
    [
        ('against = "removed"\nfail = 0.1', 0.2, 0.1),
        ('against = "baseline"\nfail = 0.1', 0.28, 0.02),
        ("fail = 0.1", 0.3, None),
    ],
)
def test_what_added_rows_are_compared_with(tmp_path: Path, gate: str, value: float, before: float | None) -> None:
    same = rows(0, 400)
    document = audited(tmp_path, same + rows(10, 100, 1000), same + rows(30, 100, 5000), GATE + gate)
    (found,) = document.gates
    assert (found.value, found.before, found.rows) == (pytest.approx(value), before, 100)
    assert found.status == "fail"


def test_where_almost_nothing_was_removed_the_baseline_is_compared(tmp_path: Path) -> None:
    same = rows(40, 400)
    document = audited(tmp_path, same, same + rows(30, 100, 5000), GATE + 'against = "removed"\nfail_p = 0.001')
    (found,) = document.gates
    assert (found.before, found.status) == (pytest.approx(0.1), "fail")
    assert "against the baseline" in found.message


def test_with_both_thresholds_both_must_say_so(tmp_path: Path) -> None:
    same, old, new = rows(0, 100), rows(10, 100, 1000), rows(30, 100, 5000)
    for fail, chance, status in ((0.1, 0.001, "fail"), (0.3, 0.001, "pass"), (0.1, 1e-9, "pass")):
        text = GATE + f'against = "removed"\nfail = {fail}\nfail_p = {chance}'
        folder = tmp_path / status / str(fail)
        folder.mkdir(parents=True)
        assert audited(folder, same + old, same + new, text).gates[0].status == status
