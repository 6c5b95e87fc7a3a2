"""Small files whose rows once depended on other rows, or ended a run: each with the right facts, errors and keys."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pyarrow as pa
import pytest

from scorer.metric import ColumnNames, Options
from scorer.metric.checks import build_checks
from scorer.metric.inputs import find_columns
from scorer.metric.objects import from_fact_pairs, from_pairs
from scorer.metric.templates import Templates
from tests.metric.test_any_form import found, read

PUB = {"text": "Blue Spice is a pub.", "triples": [["Blue Spice", "eatType", "pub"]]}
OK = 1704067200


def lines(*rows: Any) -> bytes:
    return b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b'{"text":"x","triples":[["Caf\xe9","eatType","pub"]]}\n', "invalid_utf8"),
        (b'{"text":"x","triples":[["Caf\\ud83d","eatType","pub"]]}\n', "invalid_utf8"),
        (b'{"text":"Caf\xe9","triples":[["Cafe","eatType","pub"]]}\n', "invalid_utf8"),
        (b'{"text":"x","triples":[["Cafe","eatType","pub"]],"meta":{"who":"Ren\xe9"}}\n', None),
        (b'{"text":"x","triples":[["C","t","pub"]],"meta":' + b"[" * 900 + b"]" * 900 + b"}\n", None),
        (b'{"text":{"error":"rate limited"},"triples":[["Cafe","eatType","pub"]]}\n', "malformed_row"),
    ],
)
def test_one_bad_byte_or_value_costs_its_row_alone(line: bytes, error: str | None) -> None:
    expected = found(read("jsonl", lines(PUB, PUB)))
    rows = found(read("jsonl", lines(PUB, line, PUB)))
    assert [rows[0], rows[2]] == expected and rows[1][2] == error


@pytest.mark.parametrize(
    ("kind", "good", "bad", "spelled"),
    [
        (pa.timestamp("ns"), OK * 10**9, None, "2024-01-01 00:00:00"),
        (pa.timestamp("ns"), OK * 10**9 + 1, None, "2024-01-01 00:00:00.000000001"),
        (pa.timestamp("s"), OK, 570000000000, "2024-01-01 00:00:00"),
        (pa.timestamp("s", "Nowhere/Bad"), None, 1, None),
        (pa.date32(), 1, 10**8, "1970-01-02"),
        (pa.time64("ns"), 1000, 10**14, "00:00:00.000001"),
        (pa.duration("ns"), 3600 * 10**9, None, "PT1H"),
        (pa.float32(), 0.1, None, "0.1"),
        (pa.timestamp("us"), dt.datetime(2024, 1, 2, 3, 4, 5), None, "2024-01-02 03:04:05"),
    ],
)
def test_values_of_arrow_are_spelled_alike_or_cost_their_row(kind: Any, good: Any, bad: Any, spelled: Any) -> None:
    values = [value for value in (good, bad) if value is not None]
    attributes = pa.array(
        [{"name": "X", "n": value} for value in values], pa.struct([("name", pa.string()), ("n", kind)])
    )
    part = pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", kind)])
    triples = pa.array([[{"subject": "X", "predicate": "n", "object": value}] for value in values], pa.list_(part))
    text = ["x"] * len(values)
    for column, error in (("attributes", "malformed_attributes"), ("triples", "malformed_triples")):
        rows = found(pa.table({"text": text, column: attributes if column == "attributes" else triples}))
        if good is not None:
            assert rows[0][1] == [f"The n of X is {spelled}."] and rows[0][2] is None
        if bad is not None:
            assert rows[-1][2] == error


def test_names_of_parts_and_nulls_are_those_of_the_row() -> None:
    short = {"text": "t", "triples": [{"s": "A", "p": "is", "o": "x"}]}
    whole = {"text": "t", "triples": [{"subject": "A", "predicate": "is", "object": "x"}]}
    rows = found(read("jsonl", lines(short, whole)))
    assert rows[0] == rows[1] and rows[0][2] is None
    table = read(
        "jsonl",
        lines({"text": "t", "attributes": {"name": "X", "a": 1}}, {"text": "t", "attributes": {"name": "Y", "b": 2}}),
    )
    assert find_columns(table.schema, ColumnNames()).rows(table).triples.skipped == 0


def test_the_path_of_the_subject_is_no_fact() -> None:
    row = {"text": "t", "forecast": {"city": "Oslo", "low": {"value": -12, "unit": "°C"}}}
    for table in (read("jsonl", lines(row)), pa.Table.from_pylist([row])):
        assert found(table, attributes="forecast", subject="forecast.city")[0][1] == ["The low of Oslo is -12 °C."]
    flat = pa.table({"text": ["t"], "city": ["Oslo"], "low": ["-12 °C"]})
    assert found(flat, attributes="city,low", subject="city")[0][1] == ["The low of Oslo is -12 °C."]


@pytest.mark.parametrize("text", [" ", "...–", "_", "☆ ☆"])
def test_a_text_without_a_letter_or_a_digit_is_empty(text: str) -> None:
    triples, facts = [("A", "is", "x")], ["A is x."]
    for rows in (from_pairs([(triples, text), (triples, "é")]), from_fact_pairs([(facts, text), (facts, "é")])):
        checks = build_checks(rows, Templates(), Options())
        assert checks.blank.tolist() == [True, False]
        assert set(checks.row.tolist()) == {1}
