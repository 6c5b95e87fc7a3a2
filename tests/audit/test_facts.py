"""Predicates of a window, against the parser that scores."""

from __future__ import annotations

import pyarrow as pa
import pytest

from scorer.audit.facts import FactReader
from scorer.metric.triples import from_lists
from scorer.scoring.counts import OTHER_PREDICATES

STRUCT = pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())])
ROWS = [[("s", " p ", "x"), ("s", "q", " y ")], [("t", "p", "z")], None, [], [("s", "r", "x"), ("s", "p", "x")]]


@pytest.mark.parametrize("wanted", [set(), {"p"}, {"p", "r"}])
def test_structs_give_what_the_parser_gives(wanted: set[str]) -> None:
    facts = [[dict(zip(("subject", "predicate", "object"), f, strict=True)) for f in row or []] for row in ROWS]
    whole = pa.array([f if row is not None else None for f, row in zip(facts, ROWS, strict=True)], pa.list_(STRUCT))
    reader = FactReader("triples", wanted.__contains__)
    for column in (whole, whole.slice(1)):
        found, parsed = reader.read(column), from_lists(column)
        triples = [parsed.distinct[i] for i in parsed.ids.tolist()]
        assert found.lengths.tolist() == parsed.lengths.tolist()
        assert [reader.predicates.names[i] for i in found.predicate.tolist()] == [one.predicate for one in triples]
        objects = [reader.objects.names[i] if i >= 0 else None for i in found.object.tolist()]
        assert objects == [one.object if one.predicate in wanted else None for one in triples]


def test_sentences_are_predicates_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorer.audit.facts.MOST_SENTENCES", 2)
    reader = FactReader("facts")
    first = reader.read(pa.array([["a", " b "], None, ["", None]], pa.list_(pa.string())))
    assert first.lengths.tolist() == [2, 0, 0]  # a row with a blank fact is an error
    assert first.predicate.tolist() == [0, 1]
    second = reader.read(pa.array([["c", "a", "d"]]))
    assert [reader.predicates.names[i] for i in second.predicate.tolist()] == [OTHER_PREDICATES, "a", OTHER_PREDICATES]
