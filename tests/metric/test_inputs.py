from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from scorer.errors import ColumnError
from scorer.metric import ColumnNames
from scorer.metric.columns import row_keys
from scorer.metric.inputs import find_columns
from scorer.scoring.scorer import of_python

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
            assert rows.errors[row] == "invalid_selection"
            assert "write a list of positions" in found.why_none(table.slice(row, 1))
        else:
            assert np.flatnonzero(used[row]).tolist() == positions
            assert rows.errors.get(row) == (None if positions else "no_triples")
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
