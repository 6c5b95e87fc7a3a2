"""Groups of any number of columns are those that a dictionary of the rows' own values gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.audit import AuditOptions, audit
from scorer.audit.database import GroupCodes
from scorer.errors import UsageError
from tests.audit.nights import of_system
from tests.audit.nights import table as made_table
from tests.scored_outputs import finish

VALUES = st.one_of(st.none(), st.sampled_from(["a", "b", "null", "", "1"]))


def grouped(tables: list[pa.Table], columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """The values of the group of every row."""
    codes = GroupCodes(columns)
    found = np.concatenate([np.empty(0, np.int64), *(codes.codes(table) for table in tables)]).tolist()
    groups = codes.groups()
    assert len({tuple(group.items()) for group in groups}) == len(groups) == len(set(found)) or not columns
    return [tuple(groups[code][c] for c in columns) for code in found]


@settings(max_examples=50)
@given(st.data())
def test_windows_of_any_columns(data: st.DataObject) -> None:
    columns = tuple(f"c{i}" for i in range(data.draw(st.integers(0, 40))))
    tables = []
    for _ in range(data.draw(st.integers(1, 3))):
        n = data.draw(st.integers(0, 12))
        there = [c for c in columns if data.draw(st.integers(0, 4))]  # a window may lack a column
        drawn = {c: pa.array(data.draw(st.lists(VALUES, min_size=n, max_size=n)), pa.string()) for c in there}
        tables.append(pa.table({"row": pa.array(range(n), pa.int64()), **drawn}))
    assert grouped(tables, columns) == [
        tuple(line.get(c) for c in columns) for table in tables for line in table.to_pylist()
    ]


def test_one_group_too_many() -> None:
    table = pa.table({"a": list(range(40)) * 26, "b": [i // 40 for i in range(40 * 26)]})
    assert len(set(grouped([table.slice(0, 1000)], ("a", "b")))) == 1000
    for tables in ([table], [table.slice(0, 600), table.slice(600)]):
        with pytest.raises(UsageError, match="a, b makes more than 1000 groups"):
            grouped(tables, ("a", "b"))


def test_keys_of_partitioned_folders_group_rows(tmp_path: Path) -> None:
    """``country=…`` of the path; a column of the file is stronger than a key of the same name."""

    def table(n: int) -> pa.Table:
        return made_table(of_system(1, n, None, 100 * n, lang="x"))

    parts = {
        "country=DE/lang=de/part-0.parquet": table(10),
        "country=F%C3%B6/lang=fi/part-0.parquet": table(20),
        "country=__HIVE_DEFAULT_PARTITION__/part-0.parquet": table(5),
        "part-0.parquet": table(3),
    }
    out = finish(tmp_path / "out", parts)
    document = audit(out, AuditOptions(by=(("country",), ("lang",)), worst=50))
    found = {str(one.group.get("country")): one.rows for one in document.groups if "country" in one.group}
    assert found == {"Fö": 20, "DE": 10, "None": 8}
    assert [one.rows for one in document.groups if "lang" in one.group] == [38]
    assert "the column 'lang' of the files is used, and hides the key 'lang' of their folders" in document.notes
    assert not any("'country'" in note for note in document.notes)
    assert {worst.group["country"] for worst in document.worst} == {"DE", "Fö", None}
    with pytest.raises(UsageError, match="country"):
        audit(out, AuditOptions(by=(("town",),)))
