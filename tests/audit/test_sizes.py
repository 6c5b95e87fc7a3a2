"""How many rows there are: the mix of groups, rows that are gone or there twice, no rows at all; and who is best."""

from __future__ import annotations

from pathlib import Path

import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.document import Document
from scorer.audit.report import console_text
from scorer.stats.intervals import PairedCounts, Sample
from scorer.stats.significance import compare_strata
from tests.audit.nights import Row, compared, gates_file, night, of_system, row, table
from tests.scored_outputs import finish

ALL_ROWS = 'metric = "not_ok_rate"\nagainst = "baseline"\nfail = 0.04'


def mixed(sizes: dict[str, tuple[int, int]], start: int = 0) -> list[Row]:
    """Rows of systems, each (bad, rows)."""
    return [one for system, (bad, count) in sizes.items() for one in of_system(bad, count, system, start)]


def test_a_rate_of_all_rows_is_compared_at_the_mix_of_the_baseline(tmp_path: Path) -> None:
    """Each system is as good as before; the weak one has twice the rows."""
    before, after = {"a": (4, 100), "b": (8, 100), "c": (20, 100)}, {"a": (2, 50), "b": (4, 50), "c": (40, 200)}
    file = gates_file(tmp_path, ALL_ROWS, 'metric = "added_not_ok_rate"\nagainst = "removed"\nfail_p = 0.05')
    document = compared(tmp_path, mixed(before), mixed(after, 1000), gates=(file,))
    gate, added = document.gates
    change = document.groups[0].change
    assert change.rates["not_ok_rate"].difference == pytest.approx(46 / 300 - 32 / 300)
    assert (gate.status, gate.value, gate.now, gate.before) == (
        "pass",
        pytest.approx(0),
        46 / 300,
        pytest.approx(32 / 300),
    )
    assert (
        "+4.7" not in gate.message and "since the baseline (10.7%) at its mix of system, 95% interval" in gate.message
    )
    assert change.mix.distance == pytest.approx((1 / 6 + 1 / 6 + 1 / 3) / 2)
    # The test is stratified, too: within each system.
    strata = [(Sample(*after[name]), Sample(*before[name])) for name in after]
    right = compare_strata(PairedCounts(), strata)
    assert change.rates["not_ok_rate"].test.p == pytest.approx(right.p) and right.p > 0.9
    assert (added.status, added.p) == ("pass", pytest.approx(right.p_rise))
    assert "within each system" in added.message
    said = "The mix of system changed: c 100 → 200, a 100 → 50, b 100 → 50; at the earlier mix, not OK ±0 points."
    assert document.headline == f"{said} No rate rose significantly; 15.3% of 300 rows are not OK."
    assert [one.kind for one in document.findings if one.severity != "info"][-1] == "mix"


def test_at_an_equal_mix_nothing_differs_and_a_system_that_is_worse_still_fails(tmp_path: Path) -> None:
    before, after = {"a": (4, 100), "b": (8, 100)}, {"a": (4, 100), "b": (24, 100)}
    document = compared(tmp_path, mixed(before), mixed(after, 1000), gates=(gates_file(tmp_path, ALL_ROWS),))
    (gate,) = document.gates
    change = document.groups[0].change
    assert (gate.status, gate.value) == ("fail", pytest.approx(16 / 200)) and "mix" not in gate.message
    assert (change.mix.distance, gate.value) == (0, pytest.approx(change.rates["not_ok_rate"].difference))
    assert not [one for one in document.findings if one.kind == "mix"]
    # The worse system has fewer rows tonight, which hides it in the rate of all rows.
    hidden = compared(
        tmp_path / "2", mixed(before), mixed({"a": (6, 150), "b": (12, 50)}, 1000), gates=(tmp_path / "gates.toml",)
    )
    assert hidden.groups[0].change.rates["not_ok_rate"].difference == pytest.approx(0.03)
    assert (hidden.gates[0].status, hidden.gates[0].value) == ("fail", pytest.approx(0.08))


def test_a_new_system_does_not_count_in_the_increase_and_one_that_is_gone_is_left_out(tmp_path: Path) -> None:
    file = gates_file(tmp_path, ALL_ROWS)
    document = compared(
        tmp_path, mixed({"a": (4, 100), "b": (8, 100)}), mixed({"a": (5, 100), "c": (60, 100)}, 1000), gates=(file,)
    )
    assert (document.gates[0].status, document.gates[0].value) == ("pass", pytest.approx(0.01))
    assert document.gates[0].before == pytest.approx(0.04)


ROWS = 'metric = "rows"\nwarn = 0.2\nfail = 0.5'
BY = '\nby = ["system"]\nmin_rows = 50'


@pytest.mark.parametrize(
    ("after", "statuses", "headline"),
    [
        ((70, 70, 70), ["pass"] * 4, ""),
        ((70, 70, 56), ["pass"] * 4, ""),  # a fifth fewer passes
        ((70, 70, 55), ["pass", "pass", "pass", "warn"], "c: 55 rows, before 70."),
        (
            (70, 2, 3),
            ["fail", "pass", "fail", "fail"],
            "75 rows, before 210; b: 2 rows, before 70; c: 3 rows, before 70.",
        ),
        (
            (70, 70, 0),
            ["warn", "pass", "pass", "fail"],
            "140 rows, before 210; c has no rows in this run, 70 in the baseline.",
        ),
        ((140, 140, 140), ["fail"] * 4, "420 rows, before 210."),
    ],
)
def test_the_number_of_rows_is_a_metric(
    tmp_path: Path, after: tuple[int, ...], statuses: list[str], headline: str
) -> None:
    before = mixed(dict.fromkeys("abc", (0, 70)))
    now = mixed({system: (0, size) for system, size in zip("abc", after, strict=True)})
    document = compared(tmp_path, before, now, gates=(gates_file(tmp_path, ROWS, ROWS + BY),))
    assert [gate.status for gate in document.gates] == statuses
    assert document.headline.startswith(f"{headline} No rate" if headline else "No rate")
    whole = document.gates[0]
    assert whole.value == pytest.approx(abs(sum(after) - 210) / 210) and (whole.now, whole.before) == (sum(after), 210)


def test_what_a_gate_on_rows_says(tmp_path: Path) -> None:
    before, now = mixed({"a": (0, 70), "b": (0, 30)}), mixed({"a": (0, 105), "b": (0, 20), "new": (0, 9)})
    document = compared(tmp_path, before, now, gates=(gates_file(tmp_path, ROWS + BY),))
    assert [gate.message for gate in document.gates] == [
        "system=a: rows 105, 70 in the baseline, 50% more (warn above 20%, fail above 50%)",
        "system=b: rows is silent: it needs 50 rows in one run (min_rows), there are 20 and 30",
        "system=new: rows is silent: it needs rows in the baseline, and this group is new",
    ]


def test_rows_that_are_there_twice_are_a_finding(tmp_path: Path) -> None:
    rows = mixed({"a": (1, 70), "b": (1, 70)})
    document = compared(tmp_path, rows, rows + rows)
    assert document.headline.startswith("280 rows, before 140; 140 rows are there twice.")
    first = document.findings[0]
    assert (first.kind, first.severity) == ("repeated", "warn")
    assert first.evidence == ["140 of 280 rows repeat another one (row_key)", "in the baseline: 0"]
    assert (document.repeated.rows, document.repeated.keys, document.repeated.most) == (140, 140, 2)
    again = compared(tmp_path / "2", rows + rows, rows + rows + rows[:2])  # two of 282 are too few to say
    assert not [one for one in again.findings if one.kind == "repeated"]
    # Equal texts of two systems for one input are no copies.
    same = [row("the text", subject="X", system=system) for system in "ab"]
    assert audit(night(tmp_path / "same", same)).repeated.rows == 0
    alone = audit(night(tmp_path / "alone", rows + rows))
    assert [one.severity for one in alone.findings if one.kind == "repeated"] == ["info"]
    assert "twice" not in alone.headline


def test_a_night_without_rows_says_who_had_them(tmp_path: Path) -> None:
    for sizes, headline in (
        ((70, 70, 70), "No rows: a, b and c had 70 each."),
        ((70, 20, 30), "No rows: a had 70, c had 30, b had 20."),
    ):
        before = mixed({system: (0, size) for system, size in zip("abc", sizes, strict=True)})
        empty = finish(tmp_path / f"empty-{sizes[1]}", {"part-0.parquet": table(before).slice(0, 0)})
        document = audit(empty, AuditOptions(baseline=night(tmp_path / str(sizes[1]), before), by=()))
        assert document.headline == headline
    assert audit(tmp_path / "empty-20").headline == "No rows."


def ranked(tmp_path: Path, sizes: dict[str, tuple[int, int]], **options: object) -> Document:
    return audit(night(tmp_path / "-".join(sizes), mixed(sizes)), AuditOptions(**options))


def test_without_gates_it_says_who_is_better(tmp_path: Path) -> None:
    for sizes, title, sentence in (
        ({"x": (30, 100), "y": (5, 100)}, "y is better than x", "5.0% of the 100 rows of y are not OK; x 30.0%."),
        ({"a": (5, 70), "b": (6, 70), "c": (7, 70)}, "No group is clearly better",
         "7.1% of the 70 rows of a are not OK; b 8.6%, c 10.0%: chance alone can make such differences."),
        ({"e": (30, 100), "d": (3, 100), "f": (6, 100)}, "d is better than e",
         "3.0% of the 100 rows of d are not OK; f 6.0%, e 30.0%; f may be as good."),
        ({"g": (30, 100), "h": (3, 100), "i": (40, 100)}, "h is best",
         "3.0% of the 100 rows of h are not OK; g 30.0%, i 40.0%."),
    ):  # fmt: skip
        document = ranked(tmp_path, sizes)
        assert (document.answer, document.headline) == (title, sentence)
        assert console_text(document).startswith(f"{title}: ")
    only = ranked(tmp_path, {"z": (1, 10)})
    assert only.answer is None and console_text(only).startswith("No gates set: ")
    gated = ranked(
        tmp_path, {"q": (1, 10), "r": (9, 10)}, gates=(gates_file(tmp_path, 'metric = "error_rate"\nfail = 0.5'),)
    )
    assert gated.answer is None


def test_the_best_is_found_over_shared_inputs_where_there_are_any(tmp_path: Path) -> None:
    """30 of 60 inputs are hard for both; b is wrong in 8 more: no two samples differ so little."""
    wrong = {"a": {*range(30)}, "b": {*range(38)}}
    rows = [
        row(f"{system} {i}", [("food", 0.1 if i in wrong[system] else 0.9)], subject=f"S{i}", system=system)
        for system in "ab"
        for i in range(60)
    ]
    assert audit(night(tmp_path / "out", rows)).answer == "a is better than b"


def test_of_tied_groups_none_is_compared_by_default(tmp_path: Path) -> None:
    def rows(sizes: tuple[int, ...]) -> list[Row]:
        return [
            row(f"{system} {i}", subject=f"S{i}", system=system)
            for system, size in zip("abc", sizes, strict=True)
            for i in range(size)
        ]

    tied = night(tmp_path / "tied", rows((8, 8, 8)))
    assert audit(tied).comparison is None
    assert audit(tied, AuditOptions(compare=("a", "c"))).comparison.pairs == 8
    assert audit(night(tmp_path / "two", rows((8, 8, 5)))).comparison.second == {"system": "b"}
