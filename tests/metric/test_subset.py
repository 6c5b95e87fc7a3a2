from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from scorer.metric.checks import Options, build_checks
from scorer.metric.keys import row_keys
from scorer.metric.rows import Rows, from_arrow
from scorer.metric.subset import take
from scorer.metric.templates import Templates
from scorer.metric.triples import from_lists, iterate

TRIPLES = [
    ["a | b | c", "d | e | f"],
    ["a | b | c"],
    ["broken"],
    [],
    None,
    ["d | e | f", "g | h | i", "a | b | c"],
    ["j | k | l"],
]
TEXTS = [b"one", b"two", b"three", b"four", None, b"one", b"\xff"]
SELECTED = [None, [0], None, None, None, [2, 0], [5]]


def window(selected: bool) -> Rows:
    text = pa.array(TEXTS, pa.binary()).view(pa.string())
    chosen = pa.array(SELECTED, pa.list_(pa.int32())) if selected else None
    return from_arrow(from_lists(pa.array(TRIPLES, pa.list_(pa.string()))), text, chosen)


@pytest.mark.parametrize("selected", [False, True])
@pytest.mark.parametrize("chosen", [[], [0], [6, 5, 4, 3, 2, 1, 0], [5, 1], [2, 2, 4]])
def test_taken_rows_are_the_same_rows(selected: bool, chosen: list[int]) -> None:
    rows = window(selected)
    part = take(rows, np.array(chosen, np.int64))
    assert len(part) == len(chosen)
    before, after = list(iterate(rows.triples)), list(iterate(part.triples))
    assert after == [before[row] for row in chosen]
    assert [part.text_of(i) for i in range(len(part))] == [rows.text_of(row) for row in chosen]
    assert part.errors == {i: rows.errors[row] for i, row in enumerate(chosen) if row in rows.errors}
    keys = row_keys(rows)
    assert row_keys(part).to_pylist() == [keys[row].as_py() for row in chosen]


def test_nothing_is_kept_that_no_row_uses() -> None:
    part = take(window(False), np.array([1]))
    assert len(part.triples.distinct) == 1
    assert part.text_values == [b"two"]
    assert build_checks(part, Templates(), Options()).texts == ["The b of a is c.", "two"]
