from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from scorer.metric.facts import from_arrow, iterate, take
from scorer.metric.formats import from_lists
from scorer.metric.row_key import row_keys

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
