"""Counts of windows add up, whatever they count."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scorer.metric.verdict import FINE
from scorer.scoring.summary import MOST_PREDICATES, OTHER_PREDICATES, total
from scorer.storage.receipts import CheckCounts, Counts, FactCounts, PredicateCounts, RowCounts

KINDS = st.dictionaries(st.sampled_from(["null_text", "too_long", "no_triples"]), st.integers(0, 9), max_size=3)


@st.composite
def windows(draw: st.DrawFn) -> Counts:
    errors, notes = draw(KINDS), draw(KINDS)
    scored, reused = draw(st.integers(0, 99)), draw(st.integers(0, 99))
    rows = RowCounts(scored + reused + sum(errors.values()), scored, reused, errors, notes)
    return Counts(rows, checks=CheckCounts(draw(st.integers(0, 99))))


@given(st.lists(windows(), max_size=6))
def test_a_total_is_the_sum_key_by_key_and_keeps_the_row_equation(given_windows: list[Counts]) -> None:
    found = total(given_windows)
    rows = found.rows
    assert rows.all == rows.scored + rows.reused + sum(rows.errors.values())
    for key in ("all", "scored", "reused"):
        assert getattr(rows, key) == sum(getattr(window.rows, key) for window in given_windows)
    for kind in ("null_text", "too_long", "no_triples"):
        assert rows.errors.get(kind, 0) == sum(window.rows.errors.get(kind, 0) for window in given_windows)
    assert found.checks.all == sum(window.checks.all for window in given_windows)
    assert found.labels.keys() == set(FINE)
    assert 0.0 <= found.error_rate <= 1.0


def test_rare_predicates_are_summed_under_one_name() -> None:
    many = {f"p{i}": PredicateCounts(i, 1) for i in range(MOST_PREDICATES + 500)}
    facts = FactCounts(sum(range(len(many))), len(many), many)
    kept = total([Counts(facts=facts)]).facts.by_predicate
    assert len(kept) == MOST_PREDICATES and kept[OTHER_PREDICATES].backoff == 501
    assert sum(entry.template for entry in kept.values()) == facts.template
