"""Texts and facts in every layout that a run takes, types that it does not take, and the predicates of a window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scorer.audit import audit
from scorer.audit.facts import FactReader
from scorer.errors import InputError
from scorer.metric.triples import from_lists
from scorer.scoring.counts import OTHER_PREDICATES
from tests.audit.nights import row, table
from tests.scored_outputs import finish

BYTES = pa.array([b"caf\xe9", b"abc", b"", None], pa.large_binary())
STRING = BYTES.cast(pa.string(), safe=False)
TEXTS: dict[str, pa.Array] = {
    "string": STRING,
    "large_string": BYTES.cast(pa.large_string(), safe=False),
    "string_view": BYTES.cast(pa.binary_view()).view(pa.string_view()),
    "dictionary": STRING.dictionary_encode(),
    "dictionary of large_string": BYTES.cast(pa.large_string(), safe=False).dictionary_encode(),
}


def replaced(out: Path, name: str, column: pa.Array) -> Path:
    whole = table([row("a", [("food", 0.1)]), row("abc"), row(""), row(None)])
    return finish(out, {"a.parquet": whole.set_column(whole.schema.names.index(name), name, column)})


@pytest.mark.parametrize("layout", TEXTS)
def test_texts(tmp_path: Path, layout: str) -> None:
    document = audit(replaced(tmp_path / "out", "text", TEXTS[layout]))
    lengths = {one.least: one.rows for one in document.groups[0].by_length}
    assert lengths == {0: 3}
    assert [one.text for one in document.worst] == ["caf\ufffd", "", None]


@pytest.mark.parametrize("kind", [pa.list_(pa.large_string()), pa.large_list(pa.string()), pa.list_(pa.string(), 1)])
def test_facts(tmp_path: Path, kind: pa.DataType) -> None:
    document = audit(replaced(tmp_path / "out", "triples", pa.array([["a | food | b"]] * 4).cast(kind)))
    assert [one.predicate for one in document.groups[0].predicates] == ["food"]


@pytest.mark.parametrize(
    ("name", "values"), [("text", [b"a"] * 4), ("text", [1] * 4), ("triples", [[1]] * 4), ("triples", [1] * 4)]
)
def test_types_that_no_run_takes(tmp_path: Path, name: str, values: list[Any]) -> None:
    with pytest.raises(InputError, match="has a column of a type that no run writes"):
        audit(replaced(tmp_path / "out", name, pa.array(values)))


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
