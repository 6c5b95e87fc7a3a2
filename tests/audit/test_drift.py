"""Drift over weeks: a gate over the history, and which rows are new in a night."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from scorer.audit import AuditOptions, audit
from scorer.audit.document import RATES, HistoryRow
from scorer.audit.drift import NightlyCounts
from scorer.audit.history import COLUMNS, NEW
from scorer.errors import UsageError
from tests.audit.nights import SIGNATURE, Row, gates_file, night, of_system

GATE = 'metric = "not_ok_rate"\nagainst = "history"\nnights = 3\nfail_p = 0.01'


def nightly(folder: Path, bad: list[dict[str, int]], rows: int = 60, *gates: str) -> list:
    """Audits of a night after another, of new rows each, with so many bad ones of each system; the baseline is the
    first night."""
    file = gates_file(folder, *(gates or (GATE, f'{GATE}\nby = ["system"]')))
    found, first = [], None
    for number, counts in enumerate(bad, 1):
        data: list[Row] = [one for s, k in counts.items() for one in of_system(k, rows, s, 1000 * number)]
        out = night(folder / f"night-{number}", data, finished=f"2026-03-{number:02}T02:15:00+00:00")
        options = AuditOptions(baseline=first, gates=(file,), history=folder / "history.parquet")
        found.append(audit(out, options))
        first = first or out
    return found


def test_a_point_a_night_is_found_with_the_first_night_at_which_it_was_visible(tmp_path: Path) -> None:
    a = [3, 2, 3, 4, 6, 9, 12, 12]
    found = nightly(tmp_path, [{"a": bad, "b": 4} for bad in a])
    of_a = [document.gates[1] for document in found]
    windows = [(sum(a[max(0, n - 3) : n]), sum(a[max(0, n - 6) : max(0, n - 3)])) for n in range(1, 9)]
    sizes = [(60 * min(n, 3), 60 * min(max(n - 3, 0), 3)) for n in range(1, 9)]
    right = [
        stats.fisher_exact([[k, n - k], [j, m - j]], alternative="greater").pvalue if m else None
        for (k, j), (n, m) in zip(windows, sizes, strict=True)
    ]
    assert [gate.p for gate in of_a] == [None if p is None else pytest.approx(p) for p in right]
    statuses = ["silent" if p is None else "fail" if p < 0.01 else "pass" for p in right]
    assert [gate.status for gate in of_a] == statuses
    assert statuses == ["silent"] * 3 + ["pass"] * 3 + ["fail"] * 2
    assert [gate.since and gate.since[:10] for gate in of_a[-2:]] == ["2026-03-07"] * 2
    said = "a: not OK in 18.3% of the new rows of weeks, before in 7.2%, visible since 2026-03-07"
    assert said in found[-1].headline
    (trend, *_) = [one for one in found[-1].findings if one.kind == "trend" and one.group]
    assert (trend.severity, trend.message) == ("fail", said)
    assert "of new rows of 3 nights, +11.1 points against the 3 nights before (7.2%), 95% interval" in of_a[-1].message
    assert of_a[-1].message.endswith("visible since 2026-03-07 (fail_p 0.01)")
    assert {document.gates[2].status for document in found[3:]} == {"pass"}  # b
    assert "needs new rows in the nights before the last 3" in of_a[0].message


def test_all_rows_are_tested_within_the_groups_of_the_first_grouping(tmp_path: Path) -> None:
    """The weak system has more and more rows, and neither is worse."""
    sizes = [(60, 20), (60, 20), (60, 20), (20, 60), (20, 60), (20, 60)]
    counts = {
        f"2026-03-{n:02}": {
            (): {"rows": a + b, "not_ok_rate": b // 2},
            (("system", "a"),): {"rows": a, "not_ok_rate": 0},
            (("system", "b"),): {"rows": b, "not_ok_rate": b // 2},
        }
        for n, (a, b) in enumerate(sizes, 1)
    }
    (document,) = nightly(tmp_path, [{"a": 1, "b": 1}])
    whole = document.groups[0]
    strata = [{"system": "a"}, {"system": "b"}]
    found = NightlyCounts(sorted(counts), counts, strata).drift(whole, "not_ok_rate", 3, 0.01)
    assert (found.now.count, found.before.count, found.since) == (90, 30, None) and found.p > 0.4
    assert NightlyCounts(sorted(counts), counts, []).drift(whole, "not_ok_rate", 3, 0.01).p < 1e-6


def test_only_nights_of_the_signature_that_have_rows_count(tmp_path: Path) -> None:
    (document,) = nightly(tmp_path, [{"a": 1}])

    def row(night: str, signature: str, rows: int) -> HistoryRow:
        rates = dict.fromkeys(RATES, 0.0)
        new = {"rows": rows, "not_ok_rate": rows}
        return HistoryRow(night=night, signature=signature, status="pass", group={}, rows=rows, mean_confidence=None,
                          rates=rates, new=new)  # fmt: skip

    past = [row("2026-01-01", SIGNATURE, 5), row("2026-01-02", "other", 7), row("2026-01-03", SIGNATURE, 0),
            row("2027-01-01", SIGNATURE, 9)]  # fmt: skip
    counts = NightlyCounts.collect(past, document.finished, SIGNATURE, document.groups, ())
    assert counts.nights == ["2026-01-01", document.finished]


def test_new_rows_are_neither_reused_nor_in_the_baseline(tmp_path: Path) -> None:
    kept, fresh = of_system(2, 10, "a"), of_system(3, 7, "a", 500)
    baseline = night(tmp_path / "before", kept)
    out = night(tmp_path / "out", kept + fresh)
    assert audit(out).groups[0].new["rows"] == 17
    document = audit(out, AuditOptions(baseline=baseline, history=tmp_path / "h.parquet"))
    assert document.groups[0].new == {
        "rows": 7, "not_ok_rate": 3, "omission_rate": 3, "contradicted_rate": 0, "hallucination_rate": 0,
        "error_rate": 0, "empty_rate": 0,
    }  # fmt: skip
    assert document.history[0].new == document.groups[0].new
    # A history of an earlier version has no such columns.
    table = pq.read_table(tmp_path / "h.parquet")
    pq.write_table(table.drop_columns(list(NEW)), tmp_path / "old.parquet")
    again = night(tmp_path / "again", kept, finished="2027-01-01T00:00:00+00:00")
    document = audit(again, AuditOptions(history=tmp_path / "old.parquet"))
    assert [row.new.get("rows") for row in document.history if not row.group] == [None, 10]
    assert pq.read_table(tmp_path / "old.parquet").schema.names == COLUMNS.names


def test_without_a_history_the_gate_is_silent_and_what_cannot_be_is_refused(tmp_path: Path) -> None:
    out = night(tmp_path / "out", of_system(1, 20, "a"))
    (gate,) = audit(out, AuditOptions(gates=(gates_file(tmp_path, GATE),))).gates
    assert (gate.status, gate.reason) == ("silent", "needs the history of earlier runs (--history)")
    for text, message in (
        (GATE.replace("nights = 3\n", ""), "nights, the length of each of the two windows, goes with"),
        (GATE.replace("not_ok_rate", "rows"), 'against = "history" is for not_ok_rate, omission_rate'),
        ('metric = "not_ok_rate"\nfail = 0.1\nnights = 3', "nights, the length"),
    ):
        with pytest.raises(UsageError, match=message):
            audit(out, AuditOptions(gates=(gates_file(tmp_path, text),)))


def test_quiet_weeks_ring_as_seldom_as_the_gate_says(tmp_path: Path) -> None:
    """400 draws of 14 nights at one rate; the exact test is conservative."""
    (document,) = nightly(tmp_path, [{"a": 1}])
    rng = np.random.default_rng(5)
    rings = 0
    for _ in range(400):
        counts = {f"{n:02}": {(): {"rows": 40, "not_ok_rate": int(rng.binomial(40, 0.1))}} for n in range(14)}
        found = NightlyCounts(sorted(counts), counts, []).drift(document.groups[0], "not_ok_rate", 7, None)
        rings += found.p < 0.05
    assert rings <= 30
