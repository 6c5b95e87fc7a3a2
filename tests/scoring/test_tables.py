"""Every kind of table that Python programs have: each row by itself, and back as the kind that was given."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scorer import ColumnNames, Scorer
from scorer.errors import ColumnError

TRIPLES = [["Blue Spice", "eatType", "pub"]]
ROW = {"text": "Blue Spice is a pub.", "triples": TRIPLES}


@pytest.fixture(scope="module")
def scorer(tiny: Path) -> Scorer:
    return Scorer(tiny, device="cpu", columns=ColumnNames(details=True))


def worded(scorer: Scorer, rows: list[dict[str, Any]]) -> list[Any]:
    return [row["worded_facts"] or row["error"] for row in scorer.score_table(rows)]


def test_rows_of_a_list_do_not_depend_on_each_other(scorer: Scorer) -> None:
    rows = [
        {"text": "x", "attributes": {"name": "X", "rating": value}} for value in (5, 4.5, 5.0, "5", Decimal("8.50"))
    ]
    spelled = ["5", "4.5", "5", "5", "8.50"]
    assert worded(scorer, rows) == [[f"The rating of X is {text}."] for text in spelled]
    assert worded(scorer, rows[::-1]) == [[f"The rating of X is {text}."] for text in spelled[::-1]]
    keys = [row["row_key"] for row in scorer.score_table(rows)]
    assert keys[0] == keys[2] == keys[3] and len(set(keys)) == 3


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (10**22, "10000000000000000000000"),
        (np.float32(0.1), "0.1"),
        (1e-5, "0.00001"),
        (dt.datetime(2026, 3, 14, 15), "2026-03-14 15:00:00"),
        (dt.date(2026, 3, 14), "2026-03-14"),
        (True, "true"),
        (float("nan"), None),
        (dt.timedelta(hours=1), "PT1H"),
    ],
)
def test_values_of_python_have_one_spelling_in_all_forms(scorer: Scorer, value: Any, found: str | None) -> None:
    as_attribute = worded(scorer, [{"text": "x", "attributes": {"name": "X", "n": value}}])
    as_triple = worded(scorer, [{"text": "x", "triples": [["X", "n", value]]}])
    if found is None:
        assert (as_attribute, as_triple) == (["no_triples"], ["malformed_triples"])
    else:
        assert as_attribute == as_triple == [[f"The n of X is {found}."]]
        assert scorer.score_attributes({"name": "X", "n": value}, "x").facts == as_triple[0]


@pytest.mark.parametrize(
    "value", [b"\xff", 10**5000, object(), {"a": {1: 2}}, {"a": b"x"}], ids=["bytes", "int", "object", "key", "nested"]
)
def test_what_cannot_be_written_costs_its_row_alone(scorer: Scorer, value: Any) -> None:
    rows: list[dict[str, Any]] = [{**ROW, "triples": value}, {**ROW, "id": value}]
    first, second = scorer.score_table(rows)
    assert first["error"] == "malformed_triples" and first["triples"] is value
    assert second["error"] is None and second["id"] is value


class NAType:
    """As pandas has it."""


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, "null_text"),
        (float("nan"), "null_text"),
        (np.datetime64("NaT"), "null_text"),
        (NAType(), "null_text"),
        (["Blue Spice is a pub."], "malformed_row"),
        ({"error": "rate limited"}, "malformed_row"),
        (np.array(["Blue Spice is a pub."]), "malformed_row"),
        ({"Blue Spice is a pub."}, "malformed_row"),
        (b"Blue Spice is a pub.", "malformed_row"),
        (object(), "malformed_row"),
        (10**5000, "malformed_row"),
        ({1: "a"}, "malformed_row"),
        (12, None),
        (True, None),
        (dt.date(2026, 1, 2), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_text_is_a_single_value(scorer: Scorer, value: Any, error: str | None) -> None:
    rows = scorer.score_table([ROW | {"text": value}, ROW])
    assert [row["error"] for row in rows] == [error, None] and rows[0]["text"] is value


def test_one_of_several_attributes_that_cannot_be_read_costs_its_row_alone(tiny: Path) -> None:
    values = ["M", ["S", "M"], float("nan"), NAType(), b"M", object(), 10**5000, {1: "a"}]
    columns = ColumnNames(attributes="brand,size", subject="name", details=True)
    rows = [{"name": "Coat", "brand": "Lumo", "size": value, "text": "x"} for value in values]
    brand, sizes = "The brand of Coat is Lumo.", ["The size of Coat is S.", "The size of Coat is M."]
    facts: list[Any] = [[brand, sizes[1]], [brand, *sizes], [brand], [brand]]
    assert worded(Scorer(tiny, columns=columns), rows) == facts + ["malformed_attributes"] * 4


def test_tables_come_back_as_their_kind(scorer: Scorer) -> None:
    (expected,) = scorer.score_table([{**ROW, "id": 7}])
    columns = scorer.score_table({"text": [ROW["text"]], "triples": [TRIPLES], "id": [7]})
    assert columns == {name: [value] for name, value in expected.items()}
    table = pa.table({"text": [ROW["text"]], "triples": [TRIPLES]})

    class Stream:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table.__arrow_c_stream__(requested_schema)

    for given in (Stream(), pa.RecordBatchReader.from_batches(table.schema, table.to_batches())):
        found = scorer.score_table(given)
        assert isinstance(found, pa.Table) and found["row_key"][0].as_py() == expected["row_key"]
    with pytest.raises(ColumnError, match="lists of 1 and 2 items"):
        scorer.score_table({"text": ["a", "b"], "triples": [TRIPLES]})
    with pytest.raises(TypeError, match="name columns by strings"):
        scorer.score_table([{1: 2}])


def test_nothing_in_is_nothing_out(scorer: Scorer) -> None:
    assert scorer.score_table([]) == [] and scorer.score_table({}) == {}
    assert scorer.score_table(pa.table({})).num_rows == 0
    empty = scorer.score_table(pa.table({"text": pa.array([], pa.string()), "mr": pa.array([], pa.string())}))
    assert empty.num_rows == 0 and "fine" in empty.column_names
