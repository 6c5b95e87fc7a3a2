"""A night against the one before: what is tested, what rings, and what does not."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Document, GroupFigures
from scorer.errors import UsageError
from tests.audit.nights import SIGNATURE, Row, night, row

stats = pytest.importorskip("scipy.stats", reason="scipy is of the extra stats")


def texts(n: int, bad: int, start: int = 0, **more: Any) -> list[Row]:
    """``n`` rows that nobody else has, the first ``bad`` of them omissions."""
    return [row(f"text {start + i}", [("food", 0.2 if i < bad else 0.9)], **more) for i in range(n)]


def compared(tmp_path: Path, before: list[Row], after: list[Row], **options: Any) -> Document:
    nights = [night(tmp_path / name, rows) for name, rows in (("before", before), ("after", after))]
    return audit(nights[1], AuditOptions(baseline=nights[0], **options))


def mid_p(count: int, n: int, other: int, m: int) -> float:
    """Two-sided, of Fisher's test: what is less likely than the count, and half of what is as likely."""
    chances = stats.hypergeom.pmf(np.arange(count + other + 1), n + m, count + other, n)
    seen = chances[count]
    return float(chances[chances < seen * (1 - 1e-9)].sum() + chances[np.isclose(chances, seen, 1e-9, 0)].sum() / 2)


def all_rows(document: Document) -> GroupFigures:
    return document.groups[0]


def test_the_same_night_again_changes_nothing(tmp_path: Path) -> None:
    rows = texts(300, 40, system="a") + texts(3, 3, 900, system="b") * 2
    document = compared(tmp_path, rows, rows[::-1])
    changes = document.baseline_changes
    assert changes is not None
    assert (changes.added, changes.removed, changes.kept, changes.flips.count) == (0, 0, 306, 0)
    for group in document.groups:
        change = group.change
        assert change is not None
        assert change.kept == change.rows_before == group.rows
        for name, moved in change.rates.items():
            if name == "unsupported_numbers_rate":  # the runs did not look for any
                assert moved.difference is None
                continue
            assert (moved.difference, moved.low, moved.high, moved.tests) == (0.0, 0.0, 0.0, [])
        assert (change.confidence.psi, change.confidence.tests) == (0.0, [])
    assert document.callouts == []


def test_rows_that_came_against_rows_that_went(tmp_path: Path) -> None:
    stayed = texts(400, 10)
    document = compared(tmp_path, stayed + texts(100, 20, 1000), stayed + texts(120, 60, 2000))
    change = all_rows(document).change
    assert change is not None
    assert (change.kept, change.added, change.removed) == (400, 120, 100)
    moved = change.rates["not_ok_rate"]
    assert moved.difference == pytest.approx(70 / 520 - 30 / 500)
    (test,) = moved.tests
    assert (test.name, test.n_before, test.n_after) == ("mantel_haenszel", 100, 120)
    assert test.p == pytest.approx(mid_p(60, 120, 20, 100))
    assert test.statistic > 0
    # Newcombe's interval of each part, weighed by its share of its night.
    up, down = (stats.binomtest(k, n).proportion_ci(method="wilson") for k, n in ((60, 120), (20, 100)))
    low = ((60 / 120 - up.low) * 120 / 520) ** 2 + ((down.high - 0.2) * 100 / 500) ** 2
    high = ((up.high - 60 / 120) * 120 / 520) ** 2 + ((0.2 - down.low) * 100 / 500) ** 2
    assert moved.low == pytest.approx(moved.difference - low**0.5)
    assert moved.high == pytest.approx(moved.difference + high**0.5)
    assert moved.significant
    regressions = [one for one in document.callouts if one.kind == "regression"]
    assert [one.message for one in regressions] == ["all rows: the not_OK rate rose from 6.0% to 13.5%"]
    assert regressions[0].evidence[0].startswith("not_OK rate +7.5 points, 95% interval +4.8 to +9.9; Mantel-Haenszel")


def test_growth_and_shrinkage_are_compared_with_the_rows_of_the_other_run(tmp_path: Path) -> None:
    stayed, more = texts(300, 30), texts(200, 60, 1000)
    grown = all_rows(compared(tmp_path / "grown", stayed, stayed + more)).change
    shrunk = all_rows(compared(tmp_path / "shrunk", stayed + more, stayed)).change
    p = mid_p(60, 200, 30, 300)
    for change, sizes in ((grown, (300, 200)), (shrunk, (200, 300))):
        assert change is not None
        (test,) = change.rates["omission_rate"].tests
        assert (test.n_before, test.n_after) == sizes
        assert test.p == pytest.approx(p)
    assert shrunk is not None
    assert shrunk.rates["omission_rate"].difference == pytest.approx(0.1 - 90 / 500)


def test_confidence_drift(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    before = [row(f"b{i}", [("food", float(p))], said=1.0) for i, p in enumerate(rng.uniform(0.6, 1.0, 300))]
    after = [row(f"a{i}", [("food", float(p))], said=1.0) for i, p in enumerate(rng.uniform(0.52, 0.9, 300))]
    document = compared(tmp_path, before, after)
    change = all_rows(document).change
    assert change is not None
    drift = change.confidence
    one, other = ([np.float32(r["facts"][0][1]) for r in rows] for rows in (before, after))
    assert drift.ks == pytest.approx(stats.ks_2samp(one, other).statistic)
    assert drift.significant
    assert drift.psi is not None
    assert drift.psi > 0.25
    assert [c.kind for c in document.callouts] == ["drift"]
    assert not change.rates["not_ok_rate"].significant


def test_a_hundred_groups_do_not_cry_wolf(tmp_path: Path) -> None:
    """Nights in which a third of every group's texts is new and no group is worse; then one group is."""
    rng = np.random.default_rng(8)

    def group(name: int, start: int, rate: float, n: int) -> list[Row]:
        bad = rng.random(n) < rate
        return [
            row(
                f"{name} {start + i}",
                [("food", float(rng.uniform(0.0, 0.5) if bad[i] else rng.uniform(0.5, 1.0)))],
                system=name,
            )
            for i in range(n)
        ]

    rates = rng.uniform(0.05, 0.4, 100)
    stayed = [one for g in range(100) for one in group(g, 0, rates[g], 20)]

    def changed(start: int) -> list[Row]:
        return [one for g in range(100) for one in group(g, start, rates[g], 20)]

    nights = [night(tmp_path / f"n{i}", stayed + changed(1000 * i + 1000)) for i in range(4)]
    alarms, small = [], 0
    for before, after in pairwise(nights):
        document = audit(after, AuditOptions(baseline=before))
        alarms += [one for one in document.callouts if one.kind in ("regression", "improvement", "drift")]
        changes = [g.change for g in document.groups if g.change]
        small += sum(test.p < 0.05 for c in changes for m in c.rates.values() for test in m.tests)
    # Uncorrected there would be dozens every week; corrected, hardly one.
    assert small > 10
    assert len(alarms) <= 2

    worse = stayed + changed(9000) + group(42, 20_000, 0.95, 60)
    document = audit(night(tmp_path / "worse", worse), AuditOptions(baseline=nights[-1]))
    assert [one.group for one in document.callouts if one.kind == "regression"] == [{"system": "42"}]


def test_flips_are_counted_listed_and_put_to_the_bound(tmp_path: Path) -> None:
    before, after = texts(50, 0, system="a"), texts(50, 0, system="a")
    before[3]["facts"], after[3]["facts"] = [("food", 0.501)], [("food", 0.499)]
    before[4]["facts"], after[4]["facts"] = [("food", 0.9)], [("food", 0.1)]
    after[5]["error"] = "not_finite:omission"
    nights = [
        night(tmp_path / name, rows, shards=2, invariance_error=0.01) for name, rows in (("b", before), ("a", after))
    ]
    document = audit(nights[1], AuditOptions(baseline=nights[0]))
    changes = document.baseline_changes
    assert changes is not None
    flips = changes.flips
    assert (flips.count, flips.beyond_bound, flips.allowed) == (2, 1, pytest.approx(0.01))
    assert [(f.file, f.row, f.before, f.after, f.beyond_bound) for f in flips.rows] == [
        ("part-0.parquet", 4, "OK", "omission", True),
        ("part-0.parquet", 3, "OK", "omission", False),
    ]
    assert flips.rows[0].difference == pytest.approx(0.8)
    assert (changes.errors_appeared, changes.errors_gone) == (1, 0)
    assert [(c.kind, c.severity) for c in document.callouts] == [
        ("flips", "fail"),
        ("errors", "warn"),
        ("errors", "info"),
    ]
    change = document.groups[1].change
    assert change is not None
    assert change.flips == 2
    (test,) = change.rates["omission_rate"].tests
    assert (test.name, test.p) == ("mcnemar", stats.binomtest(0, 2).pvalue / 2)  # its mid-p


def test_paired_rows_across_signatures(tmp_path: Path) -> None:
    before, after = texts(200, 30), texts(200, 75)
    other = SIGNATURE.replace("templates:none", "templates:feedfeedfeed")
    nights = [night(tmp_path / "b", before), night(tmp_path / "a", after, signature=other)]
    with pytest.raises(UsageError, match=r"templates: none → feedfeedfeed.*--across-signatures"):
        audit(nights[1], AuditOptions(baseline=nights[0]))
    document = audit(nights[1], AuditOptions(baseline=nights[0], across_signatures=True))
    change = all_rows(document).change
    assert change is not None
    (test,) = change.rates["not_ok_rate"].tests
    assert (test.name, test.n_after) == ("mcnemar", 200)
    assert test.statistic == pytest.approx(45**0.5)
    assert test.p == pytest.approx(2 * 0.5**45 / 2)
    assert document.baseline is not None
    assert document.baseline.differs == ["templates: none → feedfeedfeed"]
    changes = document.baseline_changes
    assert changes is not None
    assert (changes.flips.count, changes.flips.beyond_bound) == (45, None)
    assert [one.kind for one in document.callouts] == ["signature", "regression"]


def test_groups_that_come_and_go(tmp_path: Path) -> None:
    document = compared(tmp_path, texts(9, 1, system="old"), texts(9, 1, 50, system="new"))
    assert [(c.kind, c.message) for c in document.callouts] == [
        ("rows", "system=old has no rows in this run, 9 in the baseline"),
        ("rows", "system=new is new: 9 rows"),
    ]
    assert document.groups[-1].group == {"system": "old"}
