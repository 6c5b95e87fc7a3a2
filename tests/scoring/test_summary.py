"""Distinct settings have distinct signatures, also where a joined string is the same; counts of windows add up."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scorer.metric.verdict import FINE
from scorer.scoring.summary import MOST_PREDICATES, OTHER_PREDICATES, signature_of_parts, total
from scorer.storage.receipts import CheckCounts, Counts, FactCounts, PredicateCounts, RowCounts, Signature, line_parts

BASE = {
    "model": ["m", "a" * 64],
    "prec": "fp32",
    "ep": "cpu",
    "exact": "no",
    "templates": "b" * 64,
    "protocol": "paper",
    "optional": [],
    "checks": "both",
    "maxlen": 512,
    "overlong": "error",
    "metric": 2,
}
TRICKY = st.text(st.sampled_from("a,=|%:@\n\x1b \u202e\ud800é"), max_size=5)
PAIRS = st.lists(st.tuples(TRICKY, TRICKY).map(list), max_size=3, unique_by=tuple).map(sorted)


def parts(name: str, pairs: list[list[str]], sentences: str) -> dict[str, Any]:
    return {**BASE, "model": [name, "a" * 64], "optional": pairs, **({"sentences": sentences} if sentences else {})}


@given(*[TRICKY, PAIRS, TRICKY] * 2)
def test_distinct_settings_have_distinct_signatures(
    name: str, pairs: list[list[str]], sentences: str, other: str, others: list[list[str]], another: str
) -> None:
    one, two = signature_of_parts(parts(name, pairs, sentences)), signature_of_parts(parts(other, others, another))
    same = (name, pairs, sentences) == (other, others, another)
    assert (one.line == two.line) == (one.whole == two.whole) == (one == two) == same
    assert (one.changes_to(two) == []) == same
    assert one.line.isprintable() and line_parts(one.line).keys() == one.parts.keys()


def test_digests_are_compared_whole() -> None:
    """Two template files with one prefix of twelve digits can be made within minutes."""
    one, two = (signature_of_parts({**BASE, "templates": "c" * 12 + last * 52}) for last in "01")
    assert one.line == two.line
    assert one != two
    (change,) = one.changes_to(two)
    assert str(change) == f"templates: {'c' * 12}{'0' * 52} → {'c' * 12}{'1' * 52}"


def test_a_footer_gives_both_forms_back() -> None:
    signed = signature_of_parts({**BASE, "optional": [["a|b", "é"]]})
    footer = {key.encode(): value.encode() for key, value in signed.footer.items()}
    assert Signature.of_footer(footer) == signed
    earlier = {key: value for key, value in footer.items() if key.endswith(b"signature")}
    for damaged in (earlier, {**earlier, b"d2t_scorer.signature_parts": b"[}"}):
        assert Signature.of_footer(damaged) == Signature.of_line(signed.line) != signed
    assert Signature.of_footer(None) == Signature.of_line("")


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
