from __future__ import annotations

import pyarrow as pa
import pytest

from scorer.metric.facts import INVALID_UTF8, Triple, iterate
from scorer.metric.formats import from_lists, from_mr, parse_mr, parse_triple


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b|c", Triple("a", "b", "c")),
        ('  Aarhus |  country | "Denmark, Europe" ', Triple("Aarhus", "country", '"Denmark, Europe"')),
        ("AC/DC|x | genre | rock", Triple("AC/DC|x", "genre", "rock")),
        ("a |  | c", None),
        ("", None),
    ],
)
def test_a_triple_has_three_parts_that_are_not_blank(text: str, expected: Triple | None) -> None:
    assert parse_triple(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "name[Blue Spice], eatType[coffee shop], customer rating[5 out of 5]",
            [Triple("Blue Spice", "eatType", "coffee shop"), Triple("Blue Spice", "customer rating", "5 out of 5")],
        ),
        ("name[X], food[Fish, Chips]", [Triple("X", "food", "Fish, Chips")]),
        ("  name[ The Mill ] ,\teatType [pub] , ", [Triple("The Mill", "eatType", "pub")]),
        ("name[The Mill]", []),
        ("", None),
        (" [pub], name[A]", None),
        ("name[A], name[B], eatType[pub]", None),
        ("name[A], eatType[]", None),
        ("name[A, eatType[pub]", None),
    ],
)
def test_meaning_representations(text: str, expected: list[Triple] | None) -> None:
    assert parse_mr(text) == expected


def test_broken_utf8_costs_its_row_only() -> None:
    binary = pa.array([b"a | b | c", b"a | b | \xff", b"d | e | f"]).view(pa.string())
    parsed = from_lists(pa.ListArray.from_arrays([0, 1, 2, 3], binary))
    assert parsed.errors == {1: INVALID_UTF8}
    assert list(iterate(parsed)) == [[Triple("a", "b", "c")], [], [Triple("d", "e", "f")]]
    mr = pa.array([b"name[A], eatType[\xff]", b"name[A], eatType[pub]"]).view(pa.string())
    assert from_mr(mr).errors == {0: INVALID_UTF8}
