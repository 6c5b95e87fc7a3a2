from __future__ import annotations

import struct
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pytest

from scorer.metric.columns import row_keys
from scorer.metric.facts import from_arrow, iterate, take
from scorer.metric.formats import from_lists, from_sentences
from scorer.metric.objects import from_python

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
    before, after = list(iterate(rows.triples)), list(iterate(part.triples))
    assert after == [before[row] for row in chosen]
    assert [part.text_of(i) for i in range(len(part))] == [rows.text_of(row) for row in chosen]
    assert part.errors == {i: rows.errors[row] for i, row in enumerate(chosen) if row in rows.errors}
    keys = row_keys(rows)
    assert row_keys(part).to_pylist() == [keys[row].as_py() for row in chosen]
    assert set(part.triples.distinct) == {triple for row in after for triple in row}
    assert set(part.text_values) == {texts[row] for row in chosen} - {None}
