"""A row depends on itself alone: the same facts in any form, alone or among any other rows, have the same facts, order,
wording and key; and whatever bytes a file has, each row is read or is an error of its own."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.metric import ColumnNames, Options
from scorer.metric.checks import verbalise
from scorer.metric.columns import row_keys
from scorer.metric.facts import Triple, iterate
from scorer.metric.inputs import find_columns
from scorer.metric.templates import Templates
from scorer.metric.values import spell
from scorer.scoring.tables import as_table
from scorer.storage.text_files import read_records, schema_of, to_batch

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
    worded = [
        [words[i].text for i in facts.ids[start:end].tolist()]
        for start, end in zip(facts.offsets[:-1].tolist(), facts.offsets[1:].tolist(), strict=True)
    ]
    return list(zip(iterate(facts), worded, [rows.errors.get(i) for i in range(len(rows))], keys, strict=True))


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
