"""Attributes as triples, against a conversion written down by hand."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from scorer.errors import ColumnError
from scorer.metric import ColumnNames
from scorer.metric.attributes import from_attributes
from scorer.metric.columns import row_keys
from scorer.metric.facts import Triple, from_arrow
from scorer.metric.inputs import find_columns
from scorer.metric.values import to_python
from tests.metric.reference import triples_of

GAME = {
    "name": "Hawks at Celtics",
    "arena": "TD Garden",
    "attendance": 18624,
    "overtime": False,
    "home": {"name": "Celtics", "points": 112, "quarters": [28, 30, 25, 29]},
    "leaders": [{"name": "Tatum", "points": 31}, {"name": "", "rebounds": 12, "assists": None}],
    "referee": None,
}
FACTS = [
    ("Hawks at Celtics", "arena", "TD Garden"),
    ("Hawks at Celtics", "attendance", "18624"),
    ("Hawks at Celtics", "overtime", "false"),
    ("Hawks at Celtics", "home", "Celtics"),
    ("Celtics", "points", "112"),
    *(("Celtics", "quarters", points) for points in ("28", "30", "25", "29")),
    ("Hawks at Celtics", "leaders", "Tatum"),
    ("Tatum", "points", "31"),
    ("leaders of Hawks at Celtics", "rebounds", "12"),
]


@pytest.mark.parametrize(
    ("column", "nulls"),
    [
        (pa.array([json.dumps(GAME)]), 3),
        (pa.array([None, GAME]).slice(1), 6),  # Arrow gives all elements of a list the same keys
    ],
)
def test_objects_are_read_depth_first_without_their_nulls(column: pa.Array, nulls: int) -> None:
    found = from_attributes(to_python(column))
    assert (triples_of(found), found.skipped, found.errors) == ([FACTS], nulls, {})


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ('{"name": "A", "v": 9.90}', "9.90"),
        ([("name", "A"), ("v", " x ")], "x"),
        ({"name": "A", "v": {"value": -12, "unit": "°C"}}, "-12 °C"),
        ('{"name": "A", "v": {"currency": "EUR", "amount": 9.90}}', "9.90 EUR"),
        ({"name": "A", "v": {"name": "B"}}, "B"),
    ],
)
def test_values_have_one_spelling(value: Any, written: str) -> None:
    kind = pa.map_(pa.string(), pa.string()) if isinstance(value, list) else None
    assert triples_of(from_attributes(to_python(pa.array([value], kind)))) == [[("A", "v", written)]]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, "no_triples"),
        ('{"name": "A", "v": null, "w": "", "x": NaN, "y": []}', "no_triples"),
        ('{"name": " ", "v": 1}', "no_subject"),
        ("[1]", "malformed_attributes"),
        ('{"name": "A", "v": 1, "v": 2}', "malformed_attributes"),
        ('{"name": "A", " ": 1}', "malformed_attributes"),
        ('{"name": "A", "v": ' + '{"w": ' * 100 + "1" + "}" * 101, "malformed_attributes"),
        ('{"name": "A", "v": "\\ud800"}', "invalid_utf8"),
    ],
)
def test_what_gives_no_facts_is_an_error_of_the_row_alone(value: str | None, error: str) -> None:
    found = from_attributes([value, '{"name": "B", "v": 1}'])
    assert found.errors == {0: error}
    assert triples_of(found) == [[], [("B", "v", "1")]]
    assert len(set(row_keys(from_arrow(found, pa.array(["t", "t"]))).to_pylist())) == 2


def test_columns_of_a_spreadsheet_are_attributes() -> None:
    columns = {"text": ["t", "t", "t"], "product": ["Lamp", "Vase", None], "weight (g)": [120, None, 5]}
    table = pa.table({**columns, "made": [{"in": "Rome"}, {"in": ""}, None], "odd, name": ["x", "y", "z"]})
    table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    names = ColumnNames(attributes="weight (g), made.in", subject="product", keep=())
    found = find_columns(table.schema, names)
    assert found.needed == ["text", "weight (g)", "made", "product"]
    rows = found.rows(table)
    first = [Triple("Lamp", "weight (g)", "120"), Triple("Lamp", "made.in", "Rome")]
    assert triples_of(rows.triples) == [first, [], []]
    assert rows.errors == {1: "no_triples", 2: "no_subject"}
    assert rows.triples.skipped == 2
    assert "column 'product' is None" in found.why_none(table.slice(2))
    with pytest.raises(ColumnError, match="no column 'weight'"):
        find_columns(table.schema, ColumnNames(attributes="product, weight"))
    with pytest.raises(ColumnError, match=r"no column 'produkt'.*--subject-column"):
        find_columns(table.schema, ColumnNames(attributes="weight (g), made.in", subject="produkt"))
    assert find_columns(table.schema, ColumnNames(triples="odd, name")).facts == "odd, name"
    quoted = find_columns(table.schema, ColumnNames(attributes='product,"odd, name"', subject="product"))
    assert triples_of(quoted.rows(table).triples)[0] == [Triple("Lamp", "odd, name", "x")]
    assert find_columns(table.schema.remove(4), ColumnNames(attributes="product,made")).form == "attributes"
