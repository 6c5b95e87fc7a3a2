"""Texts and facts in every layout that a run takes, and types that it does not take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scorer.audit import audit
from scorer.errors import InputError
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
