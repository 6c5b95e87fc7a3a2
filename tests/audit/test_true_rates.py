"""Gates on true rates: the file of `scorer rate --save`, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Document
from scorer.errors import UsageError
from scorer.scoring.rates_file import RatesFile, SavedClass, SavedRate, labels_digest
from tests.audit.nights import SIGNATURE, gates_file, night, row

GATE = 'metric = "true_not_ok_rate"\nwarn = 0.1\nfail = 0.19\n'


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
    document = audited(out, GATE, GATE + 'by = ["system"]', GATE + pardoned)
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
        (GATE, None, "needs human labels"),
        (GATE + 'by = ["n"]', RATES, "a gate by n, but the file of --rates groups rows by 'system'"),
        (GATE + 'against = "baseline"', RATES, "describes one run; remove against"),
        (GATE, replace(RATES, rows=5), "is of an output of 5 rows"),
        (GATE, replace(RATES, digest="00" * 16), "is of other rows or labels"),
        (GATE, replace(RATES, signature="model:other"), "run `scorer rate` on this output"),
    ],
)
def test_a_gate_that_can_have_no_figure_is_refused(
    out: Path, gates: str, rates: RatesFile | None, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        audited(out, gates, rates=rates)
