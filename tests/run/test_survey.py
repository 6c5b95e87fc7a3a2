"""What a run finds of its inputs before it reads or writes anything."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import ColumnError, InputError, ShardError
from scorer.metric.inputs import ColumnNames, InputColumns, find_columns
from scorer.run.survey import part_of, survey
from scorer.storage import ShardReader, resolve_inputs


def found_columns(schema: pa.Schema) -> InputColumns:
    return find_columns(schema, ColumnNames())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, rows in (("a", 3), ("b", 0), ("d", 5)):
        pq.write_table(pa.table({"text": ["t"] * rows, "mr": ["name[A]"] * rows}), tmp_path / f"{name}.parquet")
    pq.write_table(pa.table({"text": ["t"]}), tmp_path / "c.parquet")
    (tmp_path / "e.parquet").write_bytes(b"PAR1")
    return tmp_path


def test_usable_shards_come_in_order_and_the_others_with_the_reason(data: Path) -> None:
    with ShardReader() as reader:
        found = survey(resolve_inputs([str(data)]), reader, found_columns)
    assert [(shard.file.relative, shard.rows) for shard in found.usable] == [
        ("a.parquet", 3),
        ("b.parquet", 0),
        ("d.parquet", 5),
    ]
    assert {name: type(one.error) for name, one in found.failed.items()} == {
        "c.parquet": ColumnError,
        "e.parquet": ShardError,
    }


@pytest.mark.parametrize(
    ("limit", "rows"), [(1, {"a": 1}), (3, {"a": 3}), (4, {"a": 3, "b": 0, "d": 1}), (99, {"a": 3, "b": 0, "d": 5})]
)
def test_a_limit_is_spent_in_the_order_of_paths(data: Path, limit: int, rows: dict[str, int]) -> None:
    with ShardReader() as reader:
        found = survey(resolve_inputs([str(data)]), reader, found_columns, limit)
    assert {shard.file.relative[0]: shard.rows for shard in found.usable} == rows
    cut = [shard.limit for shard in found.usable if shard.limit is not None]
    assert cut == [rows[name] for name in rows if rows[name] < {"a": 3, "b": 0, "d": 5}[name]]


def test_nothing_usable_says_why_for_the_first(data: Path) -> None:
    files = resolve_inputs([str(data / "c.parquet"), str(data / "e.parquet")])
    with ShardReader() as reader, pytest.raises(InputError, match=r"c.parquet: .*and 1 more inputs cannot be used"):
        survey(files, reader, found_columns)


def test_parts_share_the_paths_and_new_inputs_move_no_others() -> None:
    paths = [f"2026/{i}.parquet" for i in range(300)]
    parts = {path: part_of(path, 3) for path in paths}
    assert set(parts.values()) == {1, 2, 3}
    assert min(list(parts.values()).count(part) for part in (1, 2, 3)) > 60
    assert {path: part_of(path, 3) for path in reversed(paths)} == parts
