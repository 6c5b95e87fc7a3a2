"""Every form of triples gives what the plainest form gives, and what is in no form gives an error, never a triple;
keys as they are documented."""

from __future__ import annotations

import json
import struct
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scorer.metric import ColumnNames
from scorer.metric.columns import row_keys
from scorer.metric.facts import INVALID_UTF8, MALFORMED, NO_TRIPLES, FactError, Triple, attempt, from_arrow, take
from scorer.metric.formats import from_lists, from_sentences, parse_mr, part_names
from scorer.metric.inputs import find_columns
from scorer.scoring.tables import from_python
from tests.metric.reference import triples_of

TRIPLES = [Triple("Blue Spice", "eatType", "pub"), Triple("Blue Spice", "seats", "12")]
BARS = [" | ".join(triple) for triple in TRIPLES]
STRUCT = pa.struct([("object", pa.large_string()), ("subject", pa.string()), ("predicate", pa.string())])
FORMS: dict[str, pa.Array] = {
    "bars": pa.array(["Blue Spice | eatType | pub ++ Blue Spice|seats|12"]),
    "objects": pa.array([json.dumps([triple._asdict() for triple in TRIPLES])]),
    "strings": pa.array([json.dumps(BARS)]).dictionary_encode(),
    "numbers": pa.array(['[["Blue Spice", "eatType", "pub"], {"S": "Blue Spice", "property": "seats", "O": 12}]']),
    "lists": pa.array([[list(triple) for triple in TRIPLES]], pa.list_(pa.list_(pa.string()))),
    "fixed": pa.array([[list(triple) for triple in TRIPLES]], pa.large_list(pa.list_(pa.string(), 3))),
    "maps": pa.array([[list(t._asdict().items()) for t in TRIPLES]], pa.list_(pa.map_(pa.string(), pa.string()))),
    "cases": pa.array([[{"Subject": s, "PREDICATE": p, "object": o, "id": 7} for s, p, o in TRIPLES]]),
    "pairs": pa.array([[triple._asdict() for triple in TRIPLES]], pa.list_(STRUCT, 2)),
    "views": pa.array([BARS], pa.large_list_view(pa.string())),
    "words": pa.array([BARS], pa.list_view(pa.dictionary(pa.int8(), pa.string()))),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_forms_give_the_same_triples_and_row_key(form: str) -> None:
    table = pa.table({"text": ["t"], "triples": FORMS[form]})
    rows = find_columns(table.schema, ColumnNames()).rows(table)
    assert (triples_of(rows.triples), rows.errors) == ([TRIPLES], {})
    plain = from_lists(pa.array([BARS]))
    assert row_keys(rows).equals(row_keys(from_arrow(plain, pa.array(["t"]))))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", NO_TRIPLES),
        ("{}", MALFORMED),
        ("a | b", MALFORMED),
        ("a |  | c", MALFORMED),
        ('["a | b | c"', MALFORMED),  # cut off: not a triple with the subject '["a'
        ('[["a", "b", ["c"]]]', MALFORMED),
        ('[{"subject": "a", "predicate": "b"}]', MALFORMED),
        ('[{"s": "a", "p": "b", "o": "c", "o": "d"}]', MALFORMED),
        ('[{"subject": "a", "predicate": "b", "object": "\\ud800"}]', "invalid_utf8"),
        ("[[" * 100_000, MALFORMED),
    ],
)
def test_what_is_in_no_form_is_an_error(text: str, error: str) -> None:
    parsed = from_lists(pa.array([text, "AC/DC|x | a ++b | 1"]))
    assert parsed.distinct[-1] == Triple("AC/DC|x", "a ++b", "1")
    found = from_arrow(parsed, pa.array(["t", "t"])).errors
    assert found == {0: error}


def test_bad_lists_and_maps_cost_their_row_and_keep_their_own_keys() -> None:
    lists = pa.array([[["a", "b"]], [["a", "c"]], [["a", "b", "c"]], [None], [["a", "b", None]], None])
    parsed = from_lists(lists.slice(1))
    assert parsed.errors == {0: MALFORMED, 2: MALFORMED, 3: MALFORMED, 4: NO_TRIPLES}
    keys = row_keys(from_arrow(from_lists(lists), pa.array(["t"] * 6))).to_pylist()
    assert len(set(keys)) == 6
    kind = pa.list_(pa.map_(pa.string(), pa.string()))
    good = [("subject", "a"), ("predicate", "b"), ("object", "c")]
    maps = pa.array([[good], [good[:2]], [[*good, ("object", "d")]], [None], [good, good]], kind)
    assert from_lists(maps.slice(1)).errors == {0: MALFORMED, 1: MALFORMED, 2: MALFORMED}
    assert triples_of(from_lists(maps))[4] == [Triple("a", "b", "c")] * 2


def test_a_name_in_two_cases_is_not_guessed() -> None:
    assert part_names(["Subject", "SUBJECT", "p", "o"]) is None
    assert part_names(["S", "s", "p", "o"]) is None
    assert part_names(["subject", "Subject", "p", "O"]) == ("subject", "p", "O")
    assert part_names([1, "s", "p"]) is None


def test_a_table_without_one_usable_row_is_refused_with_its_first_value() -> None:
    def refused(**columns: Any) -> str:
        table = pa.table(columns)
        return find_columns(table.schema, ColumnNames()).why_none(table)

    message = refused(text=["t", "t"], triples=["one, two", None])
    assert message.startswith("malformed_triples 1, no_triples 1: row 0 ") and "'triples' is 'one, two'" in message
    assert "--text-column" in refused(text=pa.nulls(1, pa.string()), triples=["a | b | c"])
    assert not refused(text=["t", None], triples=["a | b | c", None])
    assert not refused(text=pa.array([], pa.string()), triples=pa.array([], pa.string()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "name[Blue Spice], eatType[coffee shop], customer rating[5 out of 5]",
            [Triple("Blue Spice", "eatType", "coffee shop"), Triple("Blue Spice", "customer rating", "5 out of 5")],
        ),
        ("  name[ The Mill ] ,\teatType [pub] , ", [Triple("The Mill", "eatType", "pub")]),
        ("name[The Mill]", []),
        (" [pub], name[A]", None),
        ("name[A], name[B], eatType[pub]", None),
        ("name[A], eatType[]", None),
        ("name[A, eatType[pub]", None),
        ("inform(name[A], food[Thai, French])", [Triple("A", "food", "Thai, French")]),
        ("inform(name=A,phone=5551234)", [Triple("A", "phone", "5551234")]),
        ("inform(name='A';food=thai)", [Triple("A", "food", "thai")]),
        ("?request(food)", None),
        ("name=A, food=Thai", None),
    ],
)
def test_meaning_representations(text: str, expected: list[Triple] | None) -> None:
    found = attempt(parse_mr, text)
    assert found == expected if expected is not None else isinstance(found, FactError)


def test_broken_utf8_costs_its_row_only() -> None:
    binary = pa.array([b"a | b | c", b"a | b | \xff", b"d | e | f"]).view(pa.string())
    parsed = from_lists(pa.ListArray.from_arrays([0, 1, 2, 3], binary))
    assert parsed.errors == {1: INVALID_UTF8}
    assert triples_of(parsed) == [[Triple("a", "b", "c")], [], [Triple("d", "e", "f")]]


TRIPLE = ("Blue Spice", "near", "Café Sicilia")


def part(value: str | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else struct.pack("<I", len(value.encode())) + value.encode()


def expected(triples: list[tuple[str, str, str]], text: str | None, selection: str | None = None) -> bytes:
    message = struct.pack("<I", len(triples)) + b"".join(part(p) for t in triples for p in t) + part(text)
    if selection is not None:
        message += part(selection)
    return blake2b(message, digest_size=16).digest()


def test_keys_are_as_documented_with_a_selection_and_without() -> None:
    triples, texts = [[TRIPLE] * 2, [TRIPLE], [], [TRIPLE] * 2, [TRIPLE] * 2], ["a text", None, "é", "t", "t"]
    selected = [None, None, None, [0, 1], [0]]
    keys = row_keys(from_arrow(from_python(triples), pa.array(texts), selected)).to_pylist()
    assert keys == list(map(expected, triples, texts, [None, None, None, "0,1", "0"]))


def test_rows_that_do_not_parse_are_told_apart() -> None:
    column = pa.array([["x | y"], ["x | z"], None, [], [None], ["x | y"], [""]], pa.list_(pa.string()))
    keys = row_keys(from_arrow(from_lists(column), pa.array(["t"] * 7))).to_pylist()
    assert keys[0] == keys[5]
    assert len({keys[i] for i in (0, 1, 2, 3, 4, 6)}) == 6
    raw = struct.pack("<I", 1) + part("x | y")
    assert keys[0] == blake2b(b"\xff" + raw + part("t"), digest_size=16).digest()


def test_sentences_have_a_tag_of_their_own() -> None:
    facts = pa.array([["A is a pub.", "Café"], []], pa.list_(pa.string()))
    rows = from_arrow(from_sentences(facts), pa.array(["t", None]), [[1], None])
    message = b"\xfe" + struct.pack("<I", 2) + part("A is a pub.") + part("Café") + part("t") + part("1")
    empty = b"\xfe" + struct.pack("<I", 0) + part(None)
    assert row_keys(rows).to_pylist() == [blake2b(one, digest_size=16).digest() for one in (message, empty)]


ROWS = [
    (["a | b | c", "d | e | f"], b"one", None),
    (["a | b | c"], b"two", [0]),
    (["broken"], b"three", None),
    (None, None, None),
    (["d | e | f", "g | h | i", "a | b | c"], b"one", [2, 0]),
    (["j | k | l"], b"\xff", [5]),
]


@pytest.mark.parametrize("chosen", [[], [5, 4, 3, 2, 1, 0], [2, 2, 3]])
def test_taken_rows_are_the_same_rows_and_hold_nothing_else(chosen: list[int]) -> None:
    triples, texts, selected = zip(*ROWS, strict=True)
    text = pa.array(texts, pa.binary()).view(pa.string())
    rows = from_arrow(from_lists(pa.array(triples)), text, selected)
    part = take(rows, np.array(chosen, np.int64))
    before, after = triples_of(rows.triples), triples_of(part.triples)
    assert after == [before[row] for row in chosen]
    assert [part.texts[i] for i in part.text_codes] == [rows.texts[rows.text_codes[row]] for row in chosen]
    assert part.errors == {i: rows.errors[row] for i, row in enumerate(chosen) if row in rows.errors}
    keys = row_keys(rows)
    assert row_keys(part).to_pylist() == [keys[row].as_py() for row in chosen]
    assert set(part.triples.distinct) == {triple for row in after for triple in row}
