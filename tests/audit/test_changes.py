"""A night against the one before: what is tested, what rings, and what does not; rows that share an input."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.figures import stability_index
from scorer.errors import UsageError
from tests.audit.nights import SIGNATURE, Row, compared, night, row, table
from tests.scored_outputs import finish

stats = pytest.importorskip("scipy.stats", reason="scipy is of the extra stats")


def texts(n: int, bad: int, start: int = 0, **more: Any) -> list[Row]:
    """``n`` rows that nobody else has, the first ``bad`` of them omissions."""
    return [row(f"text {start + i}", [("food", 0.2 if i < bad else 0.9)], **more) for i in range(n)]


def mid_p(count: int, n: int, other: int, m: int) -> float:
    """Two-sided, of Fisher's test: what is less likely than the count, and half of what is as likely."""
    chances = stats.hypergeom.pmf(np.arange(count + other + 1), n + m, count + other, n)
    seen = chances[count]
    return float(chances[chances < seen * (1 - 1e-9)].sum() + chances[np.isclose(chances, seen, 1e-9, 0)].sum() / 2)


def test_rows_that_came_against_rows_that_went(tmp_path: Path) -> None:
    stayed = texts(400, 10)
    document = compared(tmp_path, stayed + texts(100, 20, 1000), stayed + texts(120, 60, 2000))
    change = document.groups[0].change
    assert (change.kept, change.added, change.removed) == (400, 120, 100)
    moved = change.rates["not_ok_rate"]
    assert moved.difference == pytest.approx(70 / 520 - 30 / 500)
    test = moved.test
    assert (test.n_before, test.n_after) == (100, 120)
    assert test.p == pytest.approx(mid_p(60, 120, 20, 100))
    assert test.statistic > 0
    # Newcombe's interval of each part, weighed by its share of its night.
    up, down = (stats.binomtest(k, n).proportion_ci(method="wilson") for k, n in ((60, 120), (20, 100)))
    low = ((60 / 120 - up.low) * 120 / 520) ** 2 + ((down.high - 0.2) * 100 / 500) ** 2
    high = ((up.high - 60 / 120) * 120 / 520) ** 2 + ((0.2 - down.low) * 100 / 500) ** 2
    assert moved.low == pytest.approx(moved.difference - low**0.5)
    assert moved.high == pytest.approx(moved.difference + high**0.5)
    assert moved.significant
    changed = [one for one in document.findings if one.kind == "changed"]
    assert [one.message for one in changed] == ["all rows: food omitted in 70 of 520, before in 30 of 500"]
    assert [one.why for one in changed[0].rows] == ["new", "new"]


def test_confidence_drift(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    before = [row(f"b{i}", [("food", float(p))], said=1.0) for i, p in enumerate(rng.uniform(0.6, 1.0, 500))]
    after = [row(f"a{i}", [("food", float(p))], said=1.0) for i, p in enumerate(rng.uniform(0.52, 0.9, 500))]
    document = compared(tmp_path, before, after)
    change = document.groups[0].change
    drift = change.confidence
    assert drift.psi > 0.25
    assert [c.kind for c in document.findings] == ["drift"]
    assert not change.rates["not_ok_rate"].significant


def test_a_hundred_groups_do_not_cry_wolf(tmp_path: Path) -> None:
    """Half of every group's texts is new and no group is worse; then one group is."""
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
    # Twenty texts of each group stay, twenty are new in each of two nights.
    stayed, old, new = ([one for g in range(100) for one in group(g, start, rates[g], 20)] for start in (0, 100, 200))
    before, after = night(tmp_path / "before", stayed + old), night(tmp_path / "after", stayed + new)
    document = audit(after, AuditOptions(baseline=before))
    small = sum(test.p < 0.05 for g in document.groups for m in g.change.rates.values() if (test := m.test))
    assert small > 3  # uncorrected, there would be some in every run
    assert not [one for one in document.findings if one.kind in ("changed", "improved", "drift")]

    worse = night(tmp_path / "worse", stayed + new + group(42, 20_000, 0.95, 60))
    document = audit(worse, AuditOptions(baseline=before))
    assert [one.group for one in document.findings if one.kind == "changed"] == [{"system": "42"}]


def test_flips_are_counted_and_listed(tmp_path: Path) -> None:
    before, after = texts(50, 0, system="a"), texts(50, 0, system="a")
    before[4]["facts"], after[4]["facts"] = [("food", 0.9)], [("food", 0.1)]
    after[5]["error"] = "not_finite:omission"
    document = compared(tmp_path, before, after)
    changes = document.baseline_changes
    assert changes.flips.count == 1
    assert [(f.file, f.row, f.before, f.after) for f in changes.flips.rows] == [("part-0.parquet", 4, "OK", "omission")]
    assert (changes.errors_appeared, changes.errors_gone) == (1, 0)
    assert [(c.kind, c.severity) for c in document.findings] == [
        ("flips", "warn"),
        ("errors", "warn"),
        ("errors", "info"),
    ]
    change = document.groups[1].change
    assert change.flips == 1
    assert change.rates["omission_rate"].test.p == stats.binomtest(0, 1).pvalue / 2  # McNemar's mid-p


def test_paired_rows_across_signatures(tmp_path: Path) -> None:
    before, after = texts(200, 30), texts(200, 75)
    other = SIGNATURE.replace("templates:none", "templates:feedfeedfeed")
    nights = [night(tmp_path / "b", before), night(tmp_path / "a", after, signature=other)]
    with pytest.raises(UsageError, match=r"templates: none → feedfeedfeed.*--across-signatures"):
        audit(nights[1], AuditOptions(baseline=nights[0]))
    document = audit(nights[1], AuditOptions(baseline=nights[0], across_signatures=True))
    test = document.groups[0].change.rates["not_ok_rate"].test
    assert test.n_after == 200
    assert test.statistic == pytest.approx(45**0.5)
    assert test.p == pytest.approx(2 * 0.5**45 / 2)
    assert document.baseline.differs == ["templates: none → feedfeedfeed"]
    assert document.baseline_changes.flips.count == 45
    assert [one.kind for one in document.findings] == ["changed", "signature"]


def test_groups_that_come_and_go(tmp_path: Path) -> None:
    document = compared(tmp_path, texts(9, 1, system="old"), texts(9, 1, 50, system="new"))
    assert [(c.kind, c.message) for c in document.findings] == [
        ("rows", "old has no rows in this run, 9 in the baseline"),
        ("rows", "new is new: 9 rows"),
    ]
    assert document.groups[-1].group == {"system": "old"}


def shared(seed: int, inputs: int, systems: int, hard: float, text: str = "") -> list[Row]:
    """A text of each system for each input; hard inputs are wrong in every text."""
    random = np.random.default_rng(seed)
    wrong = random.random(inputs) < hard
    return [
        row(f"{text}{i} {s}", [("food", 0.1 if wrong[i] else 0.9)], subject=f"S{i}", system=f"s{s}")
        for i in range(inputs)
        for s in range(systems)
    ]


@pytest.mark.parametrize("earlier", [("a", "good", "kept"), ("b", "kept", "good")])
def test_two_systems_with_one_text_are_told_apart(tmp_path: Path, earlier: tuple[str, str, str]) -> None:
    """System x says something else than before, and now the same as y, whose text is what it was."""
    x, *texts = earlier
    bad = {"facts": [("food", 0.1)], "subject": "X"}
    kept, good = row("kept", system="y", **bad), row("good", subject="X", system=x)
    before = [good, kept] if texts[0] == "good" else [kept, good]
    now = row("kept", system=x, **bad)
    document = compared(tmp_path, before, [now, kept] if texts[0] == "good" else [kept, now])
    (worse,) = document.worse.rows
    assert (worse.why, worse.now.group, worse.text_before) == ("rewritten", {"system": x}, "good")


def test_two_systems_are_compared_over_the_inputs_that_both_have(tmp_path: Path) -> None:
    """Of 40 shared inputs, a alone is wrong in 12, b alone in 3, both in 5; b has 30 inputs more."""
    wrong = {"a": {*range(12), *range(15, 20)}, "b": {*range(12, 20), *range(40, 70)}}
    rows = [
        row(f"{s} {i}", [("food", 0.1 if i in wrong[s] else 0.9)], subject=f"S{i}", system=s)
        for s, count in (("a", 40), ("b", 70))
        for i in range(count)
    ]
    out = night(tmp_path / "out", rows)
    for compare, sign in ((None, 1), (("b", "a"), -1)):
        found = audit(out, AuditOptions(compare=compare)).comparison
        assert found is not None and found.pairs == 40
        one = found.rates["not_ok_rate"]
        assert {one.first.count, one.second.count} == {17, 8}
        assert one.difference == pytest.approx(sign * 9 / 40)
        assert one.low < one.difference < one.high
        chances = stats.binom.pmf(np.arange(16), 15, 0.5)
        assert one.p == pytest.approx(2 * chances[13:].sum() + chances[12])
    with pytest.raises(UsageError, match="no row has system=c; there is a, b"):
        audit(out, AuditOptions(compare=("a", "c")))


def test_texts_of_one_input_that_agree_count_as_one_row(tmp_path: Path) -> None:
    document = audit(night(tmp_path / "out", shared(1, 200, 5, 0.2)))
    everything, system = document.groups[:2]
    assert everything.design_effects["not_ok_rate"] == pytest.approx(5, rel=0.01)
    assert system.design_effects["not_ok_rate"] == 1
    one, other = everything.rates["not_ok_rate"], system.rates["not_ok_rate"]
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=2e-3)
    # Without facts, duplicates are known.
    bare = pa.concat_tables([table(shared(1, 300, 1, 0.2)).drop_columns(["triples"])] * 3)
    document = audit(finish(tmp_path / "bare", {"part-0.parquet": bare}))
    assert document.groups[0].design_effects["not_ok_rate"] == pytest.approx(3, rel=0.01)


def test_rewritten_rows_are_compared_as_pairs(tmp_path: Path) -> None:
    """Half of the inputs are hard for every text; one in ten easy ones gets a bad text."""
    before = shared(3, 200, 1, 0.5)
    after = shared(3, 200, 1, 0.5, "other ")
    easy = [one for one in after if one["facts"][0][1] > 0.5]
    for one in easy[:10]:
        one["facts"] = [("food", 0.2)]
    change = compared(tmp_path, before, after).groups[0].change
    moved = change.rates["not_ok_rate"]
    assert (change.kept, change.rewritten) == (0, 200)
    assert moved.significant and moved.low > 0
    assert moved.test.p == pytest.approx(2**-10)  # mid-p of ten changes in one direction


def test_stability_index() -> None:
    # Half of the rows stay in the lower five tenths (100 each), the other half falls into the last.
    before, after = np.full(10, 100), np.array([100] * 5 + [0] * 4 + [500])
    shares = [((count + 0.5) / 1005, 100.5 / 1005) for count in after.tolist()]
    assert stability_index(before, after) == pytest.approx(sum((a - b) * math.log(a / b) for a, b in shares))
    assert stability_index(before, before) == 0.0
    assert stability_index(before, 0 * before) is None


def test_the_buckets_of_confidence_are_tenths_of_the_baseline(tmp_path: Path) -> None:
    """Ties: nine in ten of the baseline's are equal, which makes one bucket of them and one of the rest."""
    rng = np.random.default_rng(0)
    before = np.concatenate([np.full(540, 0.9), rng.uniform(0.1, 0.3, 60)]).astype(np.float32)
    after = rng.uniform(0.1, 0.95, 700).astype(np.float32)
    outs = [
        night(tmp_path / name, [row(f"{name}{i}", [("food", float(one))], 1.0) for i, one in enumerate(values)])
        for name, values in (("before", before), ("after", after))
    ]
    cuts = np.unique(np.quantile(before, np.arange(1, 10) / 10, method="inverted_cdf"))
    sides = [np.bincount(np.searchsorted(cuts, values), minlength=len(cuts) + 1) for values in (before, after)]
    found = audit(outs[1], AuditOptions(baseline=outs[0])).groups[0].change.confidence.psi
    assert found == pytest.approx(stability_index(*sides))
