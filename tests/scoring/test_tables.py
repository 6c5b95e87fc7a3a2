"""Every kind of table is scored as the table of Arrow is, and comes back as its own kind."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scorer import Scorer, Triple

ROWS: list[dict[str, Any]] = [
    {"triples": [Triple("A", "food", "fish")], "text": "A serves fish.", "id": 1},
    {"triples": [Triple("B", "food", "soup"), Triple("B", "area", "city")], "text": "", "id": 2},
]


@pytest.fixture(scope="module")
def opened(tiny: Path) -> Iterator[Scorer]:
    with Scorer(tiny) as scorer:
        yield scorer


@pytest.fixture(scope="module")
def expected(opened: Scorer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = opened.score_table(pa.Table.from_pylist(ROWS)).to_pylist()
    assert [row["note"] for row in found] == [None, "empty_text"]
    return found


def test_a_list_of_dictionaries(opened: Scorer, expected: list[dict[str, Any]]) -> None:
    assert opened.score_table(ROWS) == expected
    assert next(opened.score_batches([ROWS])) == expected


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_data_frame_is_scored_as_a_table(opened: Scorer, expected: list[dict[str, Any]], library: str) -> None:
    module = importlib.import_module(library) if library == "polars" else pytest.importorskip(library)
    plain = [row | {"triples": [list(triple) for triple in row["triples"]]} for row in ROWS]
    found = opened.score_table(module.DataFrame(plain))
    assert isinstance(found, module.DataFrame)
    for name in ("id", "fine", "confidence", "row_key"):
        assert list(found[name]) == [row[name] for row in expected]
    (again,) = opened.score_batches([module.DataFrame(plain)])
    assert isinstance(again, module.DataFrame) and list(again["fine"]) == list(found["fine"])
    with pytest.raises(TypeError, match="a single one in a list"):
        opened.score_batches(module.DataFrame(plain))
