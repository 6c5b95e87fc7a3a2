"""A row depends on itself alone: the same facts in any form, alone or among any other rows, have the same facts, order,
wording and key; whatever bytes a file has, each row is read or is an error of its own; and the rows of
``tests/fixtures/rows`` give what is written beside them."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer import Scorer
from scorer.metric import ColumnNames, Options
from scorer.metric.checks import build_checks, verbalise
from scorer.metric.columns import row_keys
from scorer.metric.fact_templates import Templates
from scorer.metric.facts import Triple, take
from scorer.metric.inputs import find_columns
from scorer.metric.values import spell
from scorer.scoring.tables import as_table, from_fact_pairs, from_pairs
from scorer.storage.input_tables import read_tables
from scorer.storage.inputs import find_files
from scorer.storage.text_files import read_records, schema_of, to_batch
from tests.metric.reference import triples_of

Row = dict[str, Any]
Found = list[tuple[list[Triple], list[str], str | None, bytes]]
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=6)
SAFE = WORDS.filter(lambda word: word[:1] not in "{[" and "|" not in word and word.strip() == word)
SCALARS = (
    SAFE
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-1000, max_value=1000)
)
KEYS = ["weight", "colour", "price", "type"]
ATTRIBUTES = st.dictionaries(st.sampled_from(KEYS), SCALARS, min_size=1, max_size=4)
ROWS = st.builds(lambda name, rest, text: {"text": text, "attributes": {"name": name, **rest}}, SAFE, ATTRIBUTES, SAFE)
OTHERS = st.lists(ROWS | st.just({"text": None, "attributes": {"price": [1, {"unit": "x"}], "name": "Z"}}), max_size=4)


def found(table: pa.Table, **names: Any) -> Found:
    """Facts, wording, error and key of each row."""
    rows = find_columns(table.schema, ColumnNames(**names)).rows(table)
    words = verbalise(rows, Templates(), Options())
    facts, keys = rows.triples, row_keys(rows).to_pylist()
    kinds = {row: error.kind for row, error in rows.errors.items()}
    worded = [
        [words[i].text for i in facts.ids[start:end].tolist()]
        for start, end in zip(facts.offsets[:-1].tolist(), facts.offsets[1:].tolist(), strict=True)
    ]
    return list(zip(triples_of(facts), worded, [kinds.get(row) for row in range(len(rows))], keys, strict=True))


def read(form: str, content: bytes) -> pa.Table:
    """The rows of a text file of these bytes."""
    *complete, last = content.split(b"\n")
    lines = [*(line + b"\n" for line in complete), *([last] if last else [])]
    names: dict[str, None] = {}
    records = list(read_records(form, lines, names))
    return pa.Table.from_batches([to_batch(records, schema_of(list(names)))])


def json_lines(rows: list[Row]) -> bytes:
    def plain(value: Any) -> Any:
        return float(value) if isinstance(value, Decimal) else value

    return b"".join(
        json.dumps({**row, "attributes": {k: plain(v) for k, v in row["attributes"].items()}}).encode() + b"\n"
        for row in rows
    )


@settings(max_examples=150, deadline=None)
@given(ROWS, OTHERS, st.randoms(use_true_random=False))
def test_attributes_are_the_same_in_every_form_and_company(row: Row, others: list[Row], random: Any) -> None:
    (alone,) = found(as_table([row])[0])
    subject, rest = row["attributes"]["name"], {k: v for k, v in row["attributes"].items() if k != "name"}
    assert alone[0] == [Triple(subject, key, str(spell(value)).strip()) for key, value in rest.items()]
    together = [*others, row]
    random.shuffle(together)
    place = next(i for i, one in enumerate(together) if one is row)
    assert found(as_table(together)[0])[place] == alone
    assert found(read("jsonl", json_lines([row])))[0][0] != [] and alone[2] is None
    if not any(isinstance(value, Decimal) for value in rest.values()):  # JSON of Python has no digits of its own
        for rows, at in (([row], 0), (together, place)):
            assert found(read("jsonl", json_lines(rows)))[at] == alone
            assert found(read("jsonl", json.dumps(rows, default=str, indent=1).encode()))[at] == alone
    struct = pa.table({"text": [row["text"]], "attributes": [{"name": subject, **rest}]})
    assert found(struct)[0] == alone
    columns = {key: [str(spell(value))] for key, value in rest.items()}
    named = {"attributes": ",".join(rest) if len(rest) > 1 else next(iter(rest)), "subject": "name"}
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["text", "name", *columns])
    writer.writerow([row["text"], subject, *(value for (value,) in columns.values())])
    assert found(read("csv", file.getvalue().encode()), **named)[0] == alone


PARTS = st.tuples(SAFE, SAFE, SCALARS)


@settings(max_examples=150, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=4), st.lists(PARTS, max_size=3), SAFE)
def test_triples_are_the_same_in_every_form(
    triples: list[tuple[str, str, Any]], more: list[tuple[str, str, Any]], text: str
) -> None:
    spelled = [[one.strip(), two.strip(), str(spell(three)).strip()] for one, two, three in triples]
    strings = [" | ".join(parts) for parts in spelled]
    named = [dict(zip(("Subject", "p", "object"), parts, strict=True)) for parts in triples]
    (expected,) = found(pa.table({"text": [text], "triples": [spelled]}))
    assert [list(triple) for triple in expected[0]] == spelled
    other: Row = {"text": None, "triples": [list(parts) for parts in more]}
    for value in ([list(parts) for parts in triples], named, strings, " ++ ".join(strings)):
        rows: list[Row] = [other, {"text": text, "triples": value}]
        assert found(as_table(rows)[0])[1] == expected
    plain = [[one, two, str(three) if isinstance(three, Decimal) else three] for one, two, three in triples]
    if not any(isinstance(parts[2], Decimal) for parts in triples):
        lines = "\n".join(json.dumps({"triples": value, "text": text}) for value in ("x | y | z", plain))
        assert found(read("jsonl", lines.encode()))[1] == expected
    types = {type(parts[2]) for parts in triples}
    if len(types) == 1 and Decimal not in types:
        structs = [dict(zip(("subject", "predicate", "object"), parts, strict=True)) for parts in triples]
        assert found(pa.table({"text": [text], "triples": [structs]}))[0] == expected


GOOD = [b'{"text": "t", "triples": [["a", "b", %d]]}' % i for i in range(3)]
LINES = st.binary(max_size=40) | st.sampled_from(
    [b'{"text": "t", "triples": [["a", "b", "\\ud800"]]}', b"[", b"[1]", b"{}"]
)


@settings(max_examples=300, deadline=None)
@given(LINES.filter(lambda line: b"\n" not in line and line.strip()), st.integers(0, 3))
def test_a_line_of_any_bytes_costs_no_other(line: bytes, place: int) -> None:
    if place == 0 and line.strip() == b"[":
        return  # the start of an array
    lines = [*GOOD[:place], line, *GOOD[place:]]
    expected = found(read("jsonl", b"\n".join(GOOD)))
    rows = found(read("jsonl", b"\n".join(lines)))
    assert len(rows) == 4
    assert rows[:place] + rows[place + 1 :] == expected
    assert rows[place][0] or rows[place][2] is not None


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


FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "rows"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer.embedded() as opened:
        yield opened


@pytest.mark.parametrize("name", EXPECTED)
def test_rows_give_what_is_written(name: str, scorer: Scorer) -> None:
    expected = EXPECTED[name]
    (file,) = find_files([str(FOLDER / name)], delimiter=expected.get("delimiter"))
    table = pa.concat_tables(read_tables(file))
    columns = find_columns(table.schema, ColumnNames(**expected.get("columns", {})))
    rows = columns.rows(table)
    assert len(rows) == len(expected["rows"])
    for number, wanted in enumerate(expected["rows"]):
        found = scorer.score_row(take(rows, np.array([number])))
        assert found.error == wanted.get("error")
        assert (found.facts or None) == wanted.get("facts")
        if "fine" in wanted:
            assert (found.fine, found.omitted) == (wanted["fine"], wanted.get("omitted", []))
        assert found.note == wanted.get("note")
        why = columns.why_none(table.slice(number, 1))
        assert wanted["why"] in why if why else "why" not in wanted
