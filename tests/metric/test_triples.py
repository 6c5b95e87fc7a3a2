from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from scorer.metric.triples import (
    INVALID_UTF8,
    MALFORMED,
    NO_TRIPLES,
    Triple,
    from_lists,
    from_mr,
    iterate,
    parse_mr,
    parse_triple,
)

STRUCT = pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b|c", Triple("a", "b", "c")),
        ('  Aarhus |  country | "Denmark, Europe" ', Triple("Aarhus", "country", '"Denmark, Europe"')),
        ("AC/DC|x | genre | rock", Triple("AC/DC|x", "genre", "rock")),
        ("a | b | c | d", None),
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
        ("name[The Mill], near[Café Sicilia], near[Café Sicilia]", [Triple("The Mill", "near", "Café Sicilia")] * 2),
        ("eatType[pub],name[The Mill],", [Triple("The Mill", "eatType", "pub")]),
        ("name[X], food[Fish, Chips]", [Triple("X", "food", "Fish, Chips")]),
        ("  name[ The Mill ] ,\teatType [pub] , ", [Triple("The Mill", "eatType", "pub")]),
        ("name[The Mill]", []),
        ("", None),
        (" [pub], name[A]", None),
        ("eatType[pub]", None),
        ("name[A], name[B], eatType[pub]", None),
        ("name[A], eatType[]", None),
        ("name[A], eatType[pub] and more", None),
        ("name[A, eatType[pub]", None),
    ],
)
def test_meaning_representations(text: str, expected: list[Triple] | None) -> None:
    assert parse_mr(text) == expected


@pytest.mark.parametrize("layout", [pa.list_, pa.large_list, pa.list_view, pa.large_list_view])
def test_slices_nulls_and_list_layouts(layout: Callable[[pa.DataType], pa.DataType]) -> None:
    rows = [
        [("a", "b", "c")],
        None,
        [],
        [("a", "b", "c"), ("d", "e", "f"), ("a", "b", "c")],
        [("a", None, "c")],
        [("a", "b", " ")],
        [("x", "y", "z")],
    ]
    parsed = from_lists(pa.array(rows, layout(STRUCT)).slice(1, 5))
    a, d = Triple("a", "b", "c"), Triple("d", "e", "f")
    assert list(iterate(parsed)) == [[], [], [a, d, a], [], []]
    assert parsed.errors == {0: NO_TRIPLES, 3: MALFORMED, 4: MALFORMED}
    assert len(parsed.distinct) == len(set(parsed.distinct))


def test_broken_utf8_costs_its_row_only() -> None:
    binary = pa.array([b"a | b | c", b"a | b | \xff", b"d | e | f"]).view(pa.string())
    parsed = from_lists(pa.ListArray.from_arrays([0, 1, 2, 3], binary))
    assert parsed.errors == {1: INVALID_UTF8}
    assert list(iterate(parsed)) == [[Triple("a", "b", "c")], [], [Triple("d", "e", "f")]]
    mr = pa.array([b"name[A], eatType[\xff]", b"name[A], eatType[pub]"]).view(pa.string())
    assert from_mr(mr).errors == {0: INVALID_UTF8}
