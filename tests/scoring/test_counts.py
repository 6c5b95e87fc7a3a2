"""Counts of windows add up, whatever they count."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scorer.scoring.counts import MOST_PREDICATES, OTHER_PREDICATES, add, error_rate, total

KINDS = st.dictionaries(st.sampled_from(["null_text", "too_long", "no_triples"]), st.integers(0, 9), max_size=3)


@st.composite
def windows(draw: st.DrawFn) -> dict[str, Any]:
    errors, notes = draw(KINDS), draw(KINDS)
    scored, reused = draw(st.integers(0, 99)), draw(st.integers(0, 99))
    rows = {"in": scored + reused + sum(errors.values()), "scored": scored, "reused": reused}
    return {"rows": {**rows, "errors": errors, "notes": notes}, "checks": {"all": draw(st.integers(0, 99))}}


@given(st.lists(windows(), max_size=6))
def test_a_total_is_the_sum_key_by_key_and_keeps_the_row_equation(given_windows: list[dict[str, Any]]) -> None:
    found = total(given_windows)
    rows = found["rows"]
    assert rows["in"] == rows["scored"] + rows["reused"] + sum(rows["errors"].values())
    for key in ("in", "scored", "reused"):
        assert rows[key] == sum(window["rows"][key] for window in given_windows)
    for kind in ("null_text", "too_long", "no_triples"):
        assert rows["errors"].get(kind, 0) == sum(window["rows"]["errors"].get(kind, 0) for window in given_windows)
    assert found["checks"]["all"] == sum(window["checks"]["all"] for window in given_windows)
    assert 0.0 <= error_rate(found) <= 1.0


def test_adding_changes_neither_side() -> None:
    one, other = {"a": {"b": 1}, "c": 1}, {"a": {"b": 2, "d": 3}}
    assert add(one, other) == {"a": {"b": 3, "d": 3}, "c": 1}
    assert (one, other) == ({"a": {"b": 1}, "c": 1}, {"a": {"b": 2, "d": 3}})


def test_of_no_windows_every_key_of_the_contract_is_there() -> None:
    found = total([])
    assert found["rows"] == {"in": 0, "scored": 0, "reused": 0, "errors": {}, "notes": {}}
    assert found.keys() == {"rows", "labels", "facts", "checks", "tokens"}
    assert error_rate(found) == 0.0


def test_rare_predicates_are_summed_under_one_name() -> None:
    many = {f"p{i}": {"template": i, "backoff": 1} for i in range(MOST_PREDICATES + 500)}
    facts = {"template": sum(range(len(many))), "backoff": len(many), "by_predicate": many}
    kept = total([{"facts": facts}])["facts"]["by_predicate"]
    assert len(kept) == MOST_PREDICATES and kept[OTHER_PREDICATES]["backoff"] == 501
    assert sum(entry["template"] for entry in kept.values()) == facts["template"]
