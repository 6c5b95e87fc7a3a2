"""A row depends on itself alone: the same facts in any form, alone or among any other rows, have the same facts, order,
wording and key; whatever bytes a file has, each row is read or is an error of its own; and the rows of
``tests/fixtures/rows`` give what is written beside them."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
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
from scorer.storage.input_files import find_files
from scorer.storage.input_tables import read_tables
from scorer.storage.text_files import read_records, schema_of, to_batch
from tests.metric.reference import triples_of

Row = dict[str, Any]
Parts = tuple[str, str, Any]
RowFacts = list[tuple[list[Triple], list[str], str | None, bytes]]
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
TRIPLES = st.lists(st.tuples(SAFE, SAFE, SCALARS), min_size=1, max_size=4)
ATTRIBUTES = st.builds(
    lambda subject, values: [(subject, key, value) for key, value in values.items()],
    SAFE,
    st.dictionaries(st.sampled_from(KEYS), SCALARS, min_size=1, max_size=4),
)
"""Facts about one subject, which attributes and meaning representations can say."""


class InexpressibleError(Exception):
    """These facts cannot be written in a spelling."""


def strings(facts: list[Parts]) -> list[Parts]:
    """Facts with every value as the one spelling that it has."""
    return [(subject, key, str(spell(value)).strip()) for subject, key, value in facts]


def bars(facts: list[Parts]) -> list[str]:
    return [" | ".join(parts) for parts in strings(facts)]


def objects(facts: list[Parts], *names: str) -> list[dict[str, Any]]:
    return [dict(zip(names, parts, strict=True)) for parts in facts]


def attributes(facts: list[Parts]) -> dict[str, Any]:
    keys = [key for _, key, _ in facts]
    if len({subject for subject, _, _ in facts}) > 1 or len({*keys, "name"}) <= len(keys):
        raise InexpressibleError
    return {"name": facts[0][0], **{key: value for _, key, value in facts}}


def slots(facts: list[Parts], write: str) -> list[str]:
    """The subject and each fact, as a meaning representation has them."""
    spelled = [("", "name", attributes(facts)["name"]), *strings(facts)]
    if set("[](),=;'\"") & set("".join(part for parts in spelled for part in parts)):
        raise InexpressibleError
    return [write.format(key, value) for _, key, value in spelled]


def as_json(value: Any) -> str:
    try:
        return json.dumps(value)
    except TypeError as e:
        raise InexpressibleError from e  # a Decimal: JSON of Python has no digits of its own


SPELLINGS: dict[str, tuple[str, Callable[[list[Parts]], Any]]] = {
    "lists": ("triples", lambda facts: [list(parts) for parts in facts]),
    "objects": ("triples", lambda facts: objects(facts, "Subject", "p", "object")),
    "other cases and keys": (
        "triples",
        lambda facts: [{**fact, "id": 7} for fact in objects(facts, "Subject", "PREDICATE", "object")],
    ),
    "lists and objects": ("triples", lambda facts: [list(facts[0]), *objects(facts[1:], "S", "property", "O")]),
    "strings": ("triples", bars),
    "one string": ("triples", lambda facts: " ++ ".join(bars(facts))),
    "tight": ("triples", lambda facts: "++ ".join("|".join(parts) + " " for parts in strings(facts))),
    "JSON lists": ("triples", lambda facts: as_json([list(parts) for parts in facts])),
    "JSON objects": ("triples", lambda facts: as_json(objects(facts, "S", "property", "O"))),
    "JSON strings": ("triples", lambda facts: as_json(bars(facts))),
    "attributes": ("attributes", attributes),
    "JSON attributes": ("attributes", lambda facts: as_json(attributes(facts))),
    "slots": ("mr", lambda facts: ", ".join(slots(facts, "{}[{}]"))),
    "an act": ("mr", lambda facts: "inform(" + ";".join(slots(facts, "{}='{}'")) + ")"),
}
"""Name → column, and how facts are written in it."""
PART_NAMES = ("subject", "predicate", "object")
STRUCT = pa.struct([("object", pa.large_string()), ("subject", pa.string()), ("predicate", pa.string())])
CASES = pa.struct([*((name, pa.string()) for name in ("Subject", "PREDICATE", "object")), ("id", pa.int64())])
ARROW: dict[str, tuple[str, Callable[[list[Parts]], Any], Callable[[int], pa.DataType]]] = {
    "lists": ("triples", list, lambda n: pa.list_(pa.list_(pa.string()))),
    "fixed": ("triples", list, lambda n: pa.large_list(pa.list_(pa.string(), 3))),
    "structs": ("triples", lambda facts: objects(facts, *PART_NAMES), lambda n: pa.list_(STRUCT, n)),
    "other cases and keys": (
        "triples",
        lambda facts: [{**fact, "id": 7} for fact in objects(facts, "Subject", "PREDICATE", "object")],
        lambda n: pa.list_(CASES),
    ),
    "maps": (
        "triples",
        lambda facts: [list(zip(PART_NAMES, parts, strict=True)) for parts in facts],
        lambda n: pa.list_(pa.map_(pa.string(), pa.string())),
    ),
    "views": ("triples", bars, lambda n: pa.large_list_view(pa.string())),
    "words": ("triples", bars, lambda n: pa.list_view(pa.dictionary(pa.int8(), pa.string()))),
    "JSON": ("triples", lambda facts: as_json(bars(facts)), lambda n: pa.dictionary(pa.int32(), pa.string())),
    "map": ("attributes", lambda facts: list(attributes(facts).items()), lambda n: pa.map_(pa.string(), pa.string())),
}
"""The same with values as text, in a column of a type, which may depend on the number of facts."""
COMPANY: dict[str, list[Any]] = {
    "triples": [[["a", "b", 1]], "x | y | z", [{"s": "a", "p": "b", "o": None}]],
    "attributes": [{"price": [1, {"unit": "x"}], "name": "Z"}, '{"name": "Z"', {"name": "Z", "weight": 1.5}],
    "mr": ["name[A], food[B]", "name[", None],
}
"""Other rows of a column, some of them wrong."""


def rows_of(table: pa.Table, **names: Any) -> RowFacts:
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


def in_column(facts: list[Parts], spelling: str, text: str) -> list[Row]:
    """A row that says facts in a spelling, or none where that is inexpressible."""
    column, write = SPELLINGS[spelling]
    try:
        return [{"text": text, column: write(facts)}]
    except InexpressibleError:
        return []


def in_arrow(facts: list[Parts], spelling: str, text: str) -> list[pa.Table]:
    column, write, kind = ARROW[spelling]
    try:
        return [pa.table({"text": [text], column: pa.array([write(strings(facts))], kind(len(facts)))})]
    except InexpressibleError:
        return []


def as_files(rows: list[Row]) -> list[pa.Table]:
    """Rows as JSON Lines and as a JSON array; none where JSON of Python has no digits for a value."""
    try:
        return [read("jsonl", lines(*rows)), read("jsonl", json.dumps(rows, indent=1).encode())]
    except TypeError:
        return []


def plain_columns(facts: list[Parts], text: str) -> tuple[bytes, dict[str, str]]:
    """CSV with a column for each attribute, and the names of its columns."""
    spelled = strings(facts)
    file = io.StringIO()
    csv.writer(file).writerows(
        [["text", "name", *(key for _, key, _ in spelled)], [text, facts[0][0], *(value for *_, value in spelled)]]
    )
    return file.getvalue().encode(), {"attributes": ",".join(key for _, key, _ in spelled), "subject": "name"}


@settings(max_examples=150, deadline=None)
@example([("Blue Spice", "weight", 12), ("Blue Spice", "type", "pub")], {*SPELLINGS}, {*ARROW}, "t", Random(0))
@given(
    TRIPLES | ATTRIBUTES,
    st.sets(st.sampled_from([*SPELLINGS]), max_size=3),
    st.sets(st.sampled_from([*ARROW]), max_size=2),
    SAFE,
    st.randoms(use_true_random=False),
)
def test_facts_are_the_same_in_every_spelling_type_file_and_company(
    facts: list[Parts], spellings: set[str], types: set[str], text: str, random: Random
) -> None:
    (expected,) = rows_of(pa.table({"text": [text], "triples": [strings(facts)]}))
    assert expected[0] == strings(facts) and expected[2] is None
    for spelling in sorted(spellings):
        column, _ = SPELLINGS[spelling]
        for row in in_column(facts, spelling, text):
            others = [{"text": None, column: value} for value in random.sample(COMPANY[column], random.randrange(3))]
            together = random.sample([row, *others], 1 + len(others))
            for rows in ([row], together):
                for table in (as_table(rows)[0], *as_files(rows)):
                    assert rows_of(table)[rows.index(row)] == expected, spelling
    for spelling in sorted(types):
        for table in in_arrow(facts, spelling, text):
            assert rows_of(table) == [expected], spelling
    if {key for _, key, _ in facts} <= {*KEYS} and in_column(facts, "attributes", text):
        struct = pa.table({"text": [text], "attributes": [attributes(facts)]})
        content, names = plain_columns(facts, text)
        assert rows_of(struct) == rows_of(read("csv", content), **names) == [expected]


GOOD = [b'{"text": "t", "triples": [["a", "b", %d]]}' % i for i in range(3)]
LINES = st.binary(max_size=40) | st.sampled_from(
    [b'{"text": "t", "triples": [["a", "b", "\\ud800"]]}', b"[", b"[1]", b"{}"]
)


@settings(max_examples=300, deadline=None)
@given(LINES.filter(lambda line: b"\n" not in line and line.strip()), st.integers(0, 3))
def test_a_line_of_any_bytes_costs_no_other(line: bytes, place: int) -> None:
    if place == 0 and (line.strip() == b"[" or b"\r" in line.rstrip(b"\r")):
        return  # the start of an array, or of a file of an old Mac, which is refused whole
    lines = [*GOOD[:place], line, *GOOD[place:]]
    expected = rows_of(read("jsonl", b"\n".join(GOOD)))
    rows = rows_of(read("jsonl", b"\n".join(lines)))
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
    expected = rows_of(read("jsonl", lines(PUB, PUB)))
    rows = rows_of(read("jsonl", lines(PUB, line, PUB)))
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
        rows = rows_of(pa.table({"text": text, column: attributes if column == "attributes" else triples}))
        if good is not None:
            assert rows[0][1] == [f"The n of X is {spelled}."] and rows[0][2] is None
        if bad is not None:
            assert rows[-1][2] == error


def test_the_path_of_the_subject_is_no_fact() -> None:
    row = {"text": "t", "forecast": {"city": "Oslo", "low": {"value": -12, "unit": "°C"}}}
    for table in (read("jsonl", lines(row)), pa.Table.from_pylist([row])):
        assert rows_of(table, attributes="forecast", subject="forecast.city")[0][1] == ["The low of Oslo is -12 °C."]
    flat = pa.table({"text": ["t"], "city": ["Oslo"], "low": ["-12 °C"]})
    assert rows_of(flat, attributes="city,low", subject="city")[0][1] == ["The low of Oslo is -12 °C."]


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
    for number, answer in enumerate(expected["rows"]):
        verdict = scorer.score_row(take(rows, np.array([number])))
        assert verdict.error == answer.get("error")
        assert (verdict.facts or None) == answer.get("facts")
        if "fine" in answer:
            assert (verdict.fine, verdict.omitted) == (answer["fine"], answer.get("omitted", []))
        assert verdict.note == answer.get("note")
        why = columns.why_none(table.slice(number, 1))
        assert answer["why"] in why if why else "why" not in answer
