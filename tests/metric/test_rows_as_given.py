"""Rows of ``tests/fixtures/rows``: each file is read without preparation and gives what is written beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scorer import Scorer
from scorer.metric import ColumnNames
from scorer.metric.facts import take
from scorer.metric.inputs import find_columns
from scorer.storage.inputs import find_files
from scorer.storage.shards import read_tables

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "rows"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer.embedded() as opened:
        yield opened


@pytest.mark.parametrize("name", EXPECTED)
def test_rows_give_what_is_written(name: str, scorer: Scorer) -> None:
    expected = EXPECTED[name]
    (file,) = find_files([str(FOLDER / name)], delimiter=expected.get("delimiter"))
    table = pa.concat_tables(read_tables(file))
    columns = find_columns(table.schema, ColumnNames(**expected.get("columns", {})))
    rows = columns.rows(table)
    assert len(rows) == len(expected["rows"])
    for number, wanted in enumerate(expected["rows"]):
        found = scorer.score_row(take(rows, np.array([number])))
        assert found.error == wanted.get("error")
        assert (found.facts or None) == wanted.get("facts")
        if "fine" in wanted:
            assert (found.fine, found.omitted) == (wanted["fine"], wanted.get("omitted", []))
        assert found.note == wanted.get("note")
        bad = columns.invalid_rows(table.slice(number, 1))
        if bad is not None:
            assert wanted["why"] in bad.why
