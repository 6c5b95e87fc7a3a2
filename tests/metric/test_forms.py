"""Forms of facts: each gives what the plainest gives, or an error of its row alone; keys as they are documented."""

from __future__ import annotations

import json
import struct
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scorer.errors import ColumnError
from scorer.metric import ColumnNames
from scorer.metric.attributes import from_attributes
from scorer.metric.columns import row_keys
from scorer.metric.facts import INVALID_UTF8, MALFORMED, NO_TRIPLES, FactError, Triple, attempt, from_arrow, take
from scorer.metric.formats import from_lists, from_sentences, parse_mr, part_names
from scorer.metric.inputs import find_columns
from scorer.metric.values import to_python
from scorer.scoring.scorer import of_python
from scorer.scoring.tables import from_python
from scorer.status import RowError
from tests.metric.reference import triples_of


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
    assert found == {0: RowError(error)}


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
    assert rows.errors == {1: RowError("no_triples"), 2: RowError("no_subject")}
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


TEXT = ("text", pa.string())
SENTENCES = ("facts", pa.list_(pa.string()))


TWO = [["A", "is", "x"], ["A", "has", "y"]]
HUGE = 99999999999999999999


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([[0, 1], [1], None, [5]], pa.list_(pa.int16())), [[0, 1], [1], [0, 1], None]),
        (pa.array([[0.0], [0.5], [float("nan")]]), [[0], None, None]),
        (pa.array([[2**63], [0]], pa.list_(pa.uint64())), [None, [0]]),
        (pa.array(["[0, 1]", "", "all", "[0.0]", f"[{HUGE}]", "[]", "0", "[true]", '{"a": 1}', None]),
         [[0, 1], [0, 1], None, [0], None, [], None, None, None, [0, 1]]),
        (pa.array([True, None]), [None, [0, 1]]),
        (pa.array([[[0]], [None]]), [None, None]),
    ],
)  # fmt: skip
def test_a_selection_is_never_ignored(column: pa.Array, expected: list[list[int] | None]) -> None:
    """Positions in any form, and for anything else the error of the row alone."""
    table = pa.table({"text": ["t"] * len(column), "triples": [json.dumps(TWO)] * len(column), "selected": column})
    found = find_columns(table.schema, ColumnNames())
    rows = found.rows(table)
    assert rows.used is not None
    used = rows.used.reshape(-1, 2)
    for row, positions in enumerate(expected):
        if positions is None:
            assert rows.errors[row] == RowError("invalid_selection")
            assert "write a list of positions" in found.why_none(table.slice(row, 1))
        else:
            assert np.flatnonzero(used[row]).tolist() == positions
            assert rows.errors.get(row) == (None if positions else RowError("no_triples"))
    assert len(set(row_keys(rows).to_pylist())) == len({str(one) for one in column.to_pylist() if one != ""})


@pytest.mark.parametrize(
    ("fields", "names", "message"),
    [
        ([TEXT, ("x", pa.string())], ColumnNames(), "--mr-column or --document-column"),
        ([("text", pa.int64()), ("mr", pa.string())], ColumnNames(), "int64"),
        ([TEXT, ("triples", pa.map_(pa.string(), pa.string()))], ColumnNames(), "map<"),
        ([TEXT, ("o", pa.struct([("triples", pa.int8())]))], ColumnNames(triples="o.triples"), "'o.triples' is int8"),
        ([TEXT, ("mr", pa.string()), ("x_note", pa.string())], ColumnNames(prefix="x_"), "x_note"),
        ([TEXT, ("mr", pa.string())], ColumnNames(keep=("id",)), "--keep"),
        ([TEXT, TEXT, ("mr", pa.string())], ColumnNames(), "two columns"),
        ([TEXT, SENTENCES, ("mr", pa.string())], ColumnNames(facts="facts", mr="mr"), "--facts-column or --mr-column"),
        ([TEXT, ("facts", pa.int64())], ColumnNames(facts="facts"), "a sentence each"),
    ],
)
def test_columns_that_cannot_be_used_are_named(fields: list, names: ColumnNames, message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        find_columns(pa.schema(fields), names)


@pytest.mark.parametrize(
    ("fields", "names", "expected"),
    [
        ([SENTENCES], ColumnNames(), ("facts", "facts")),
        ([SENTENCES, ("triples", pa.string())], ColumnNames(triples="triples"), ("triples", "triples")),
        ([("triples", pa.null()), ("mr", pa.string())], ColumnNames(), ("triples", "triples")),
        ([("x", pa.list_(pa.string())), ("mr", pa.string())], ColumnNames(facts="x"), ("x", "facts")),
        ([("facts", pa.int64()), ("mr", pa.string())], ColumnNames(), ("mr", "mr")),
    ],
)
def test_one_column_of_facts_is_found(fields: list, names: ColumnNames, expected: tuple[str, str]) -> None:
    found = find_columns(pa.schema([TEXT, *fields]), names)
    assert (found.facts, found.form) == expected


def test_errors_of_python_name_its_own_arguments() -> None:
    table = pa.table({"txt": ["A."], "triples": [["A | b | c"]]})
    for names in (ColumnNames(), ColumnNames(text="txt", triples="t"), ColumnNames(text="txt", keep=("no",))):
        with pytest.raises(ColumnError) as raised:
            find_columns(table.schema, names)
        said = str(of_python(raised.value))
        assert "--" in str(raised.value) and "--" not in said and "ColumnNames(" in said
