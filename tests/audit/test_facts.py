"""Predicates of a window, against the parser that scores."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from scorer.audit.facts import FactReader, Facts
from scorer.metric.triples import from_lists, from_mr, iterate
from scorer.scoring.counts import OTHER_PREDICATES

STRUCT = pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())])
STRINGS = [
    ["a | p | x", "a | q | y"],
    ["  a b |  p  | x|y "],
    ["a | r | one | two"],
    ["a | b || c | d e"],
    None,
    [],
    ["a|p|x", "a | p | z"],
]
MRS = ["name[A], food[Thai], area[x y]", "name[B]", None, "food[Thai], name[C]", "name[A], food[Thai], area[x y]"]


def shown(reader: FactReader, facts: Facts) -> list[list[tuple[str | None, str | None]]]:
    ends = facts.offsets.tolist()
    pairs = [
        (reader.predicates.names[p] if p >= 0 else None, reader.objects.names[o] if o >= 0 else None)
        for p, o in zip(facts.predicate.tolist(), facts.object.tolist(), strict=True)
    ]
    return [pairs[start:end] for start, end in pairwise(ends)]


def expected(parsed: Any, wanted: set[str]) -> list[list[tuple[str, str | None]]]:
    return [[(t.predicate, t.object if t.predicate in wanted else None) for t in row] for row in iterate(parsed)]


@pytest.mark.parametrize("wanted", [set(), {"p"}, {"p", "r", "food"}])
def test_every_spelling(wanted: set[str]) -> None:
    columns = {
        "strings": pa.array(STRINGS, pa.list_(pa.string())),
        "large": pa.array(STRINGS, pa.large_list(pa.large_string())).slice(1),
        "coded": pa.array(STRINGS, pa.list_(pa.string())).cast(pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        "structs": pa.array(
            [[{"subject": "s", "predicate": p, "object": o}] for p, o in ((" p ", "x"), ("q", " y "))] + [None, []],
            pa.list_(STRUCT),
        ),
    }
    for column in columns.values():
        parsed = from_lists(column)
        good = [row for row in range(len(column)) if row not in parsed.errors or column[row].as_py() is None]
        reader = FactReader("triples", wanted.__contains__)
        found, right = shown(reader, reader.read(column)), expected(parsed, wanted)
        assert [found[row] for row in good] == [right[row] for row in good]
    reader = FactReader("mr", wanted.__contains__)
    column = pa.array(MRS, pa.string())
    assert shown(reader, reader.read(column)) == expected(from_mr(column), wanted)
    again = shown(reader, reader.read(column.slice(3)))
    assert again == expected(from_mr(column.slice(3)), wanted)


def test_sentences_are_predicates_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorer.audit.facts.MOST_SENTENCES", 2)
    reader = FactReader("facts")
    first = reader.read(pa.array([["a", " b "], None, ["", None]], pa.list_(pa.string())))
    assert first.lengths.tolist() == [2, 0, 2]
    assert first.predicate.tolist() == [0, 1, -1, -1]
    second = reader.read(pa.array([["c", "a", "d"]]))
    assert [reader.predicates.names[i] for i in second.predicate.tolist()] == [OTHER_PREDICATES, "a", OTHER_PREDICATES]
