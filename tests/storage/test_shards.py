"""Shards and their windows: damaged, cut and enormous files, row ranges and limits; windows are a pure function of the
rows, as heavy as defined, and two budgets; columns of any type pass unchanged."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.errors import ShardError, UnseenInputError
from scorer.storage import shards as shards_module
from scorer.storage.input_tables import read_tables
from scorer.storage.parquet_files import ParquetSource, group_ranges
from scorer.storage.shards import InputFile, limit_rows, read_shards, read_windows
from scorer.storage.user_files import write_parquet
from scorer.storage.windows import row_bytes
from tests.storage.records import make_shard
from tests.storage.tables import TRIPLE, cut_rows, input_of, rows_table, weight, write


def read(uri: str | Path, columns: list[str] | None = None, **more: Any) -> list[pa.Table]:
    file = input_of(str(uri))
    return list(read_tables(file, lambda schema: columns, **{"max_rows": 400, "max_bytes": 1 << 20, **more}))


def test_what_is_not_parquet_is_unreadable_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "bad").write_bytes(b"PAR1" + b"\xff" * 100 + (90).to_bytes(4, "little") + b"PAR1")
    for name, says in (
        ("bad", "cannot be read"),
        (".", "not a regular file"),
        ("fifo", "not a regular file"),
        ("none", "No such file"),
    ):
        with pytest.raises(ShardError, match=says) as caught:
            read_shards(InputFile(uri=str(tmp_path / name), relative="a.parquet"))
        assert caught.value.kind == "unreadable"
        assert str(caught.value).startswith(f"{tmp_path / name}: ") and "\n" not in str(caught.value)


def test_an_input_that_another_machine_may_read_is_told_from_a_damaged_one(tmp_path: Path) -> None:
    uri = write(tmp_path / "a.parquet", rows_table(10))
    (shard,) = read_shards(input_of(uri))[1]
    columns = SimpleNamespace(needed=None)
    path, seen = Path(uri), []
    for change in (lambda: write(path, rows_table(11)), path.unlink, lambda: path.write_bytes(b"PAR1 and no end")):
        change()
        with pytest.raises(ShardError) as caught:
            list(read_windows(shard, lambda schema: columns, max_rows=4, max_bytes=1 << 20))
        seen.append((isinstance(caught.value, UnseenInputError), caught.value.kind))
    assert seen == [(True, "unreadable"), (True, "unreadable"), (False, "unreadable")]


def test_row_groups_are_put_together_up_to_the_limit() -> None:
    for groups, most, rows in (
        ([10, 10, 10, 10], 20, [20, 20]),
        ([10, 10], 1, [10, 10]),  # a row group is never divided
        ([50, 5, 5, 50], 20, [50, 10, 50]),
        ([0, 10, 0, 0, 10, 0], 10, [10, 10]),
        ([], 1, [0]),
    ):
        found = group_ranges(groups, most)
        assert [sum(groups[start:end]) for start, end in found] == rows
        assert [start for start, _ in found] == [0, *(end for _, end in found)][:-1] and found[-1][1] == len(groups)


def test_more_parts_than_their_names_can_sort_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards_module, "MOST_PARTS", 2)
    pq.write_table(pa.table({"text": ["a", "b", "c"]}), tmp_path / "a.parquet", row_group_size=1)
    with pytest.raises(ShardError, match=r"would be 3 parts, of at most 2; give a larger --split-rows"):
        read_shards(input_of(str(tmp_path / "a.parquet")), 1)
    assert len(read_shards(input_of(str(tmp_path / "a.parquet")), 2)[1]) == 2


def test_a_limit_takes_shards_up_to_its_rows() -> None:
    shards = [make_shard(name, rows) for name, rows in (("a", 3), ("b", 0), ("d", 5))]
    for limit, taken, cut in ((1, [1], [1]), (3, [3], []), (4, [3, 0, 1], [1]), (99, [3, 0, 5], [])):
        limited = limit_rows(shards, limit)
        assert [shard.rows for shard in limited] == taken
        assert [shard.limit for shard in limited if shard.limit is not None] == cut


def test_long_rows_cost_a_few_times_their_own_length(tmp_path: Path) -> None:
    text = "x" * (50 << 20)
    triple = {"subject": "s", "predicate": "p", "object": "o"}
    table = pa.table({"text": [text, "short"] * 2, "triples": pa.array([[triple] * 300_000, []] * 2, pa.list_(TRIPLE))})
    uri = write(tmp_path / "a.parquet", table)
    del table
    before = pa.total_allocated_bytes()
    most, windows = 0, []
    for window in read(uri, max_rows=1000, max_bytes=8 << 20):
        windows.append(len(window))
        most = max(most, pa.total_allocated_bytes() - before)
    assert windows == [1] * 4
    assert most < 500_000_000


def test_a_file_cut_at_any_byte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write(path, rows_table(10), write_page_checksum=True, row_group_size=5)
    content = path.read_bytes()
    for length in {*range(0, len(content), 9), *range(len(content) - 40, len(content))}:
        path.write_bytes(content[:length])
        with pytest.raises(ShardError) as caught:
            read_shards(input_of(str(path)))
        assert caught.value.kind == "unreadable"


@pytest.mark.parametrize(("count", "seed"), [(16, 1), pytest.param(600, 2, marks=pytest.mark.slow)])
def test_a_flipped_bit_is_refused_or_costs_no_row(tmp_path: Path, count: int, seed: int) -> None:
    table, path = rows_table(300), tmp_path / "a.parquet"
    write(path, table, write_page_checksum=True, row_group_size=100, use_dictionary=["id"])
    content = path.read_bytes()
    pages = int.from_bytes(content[-8:-4], "little") + 8
    rng = random.Random(seed)
    for _ in range(count):
        changed = bytearray(content)
        changed[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            ((shard,), found) = read_shards(input_of(str(path)))[1], pa.concat_tables(read(path, max_rows=70))
        except ShardError:
            continue
        assert len(found) == shard.rows
        if changed[-pages:] == content[-pages:]:
            assert found.equals(table), "a flip before the footer went unnoticed"


def test_small_row_groups_are_read_together(tmp_path: Path) -> None:
    table = rows_table(9000)
    uri = write(tmp_path / "a.parquet", table, row_group_size=10)
    with ParquetSource(uri) as source:
        batches = list(source.batches([0, 1, 2], (100, 900), 32 << 20))
    assert len(batches) <= 4 and pa.Table.from_batches(batches).equals(table.slice(1000, 8000))


@pytest.mark.parametrize("first", [0, 300])
def test_batches_of_heavy_rows_are_small_whatever_the_footer_says(tmp_path: Path, first: int) -> None:
    # A single dictionary value of 100 kB in all 1000 rows: 100 MB of text in a file of a few kB.
    values = pa.array(["small", "x" * 100_000])
    indices = pa.array([0] * first + [1] * (1000 - first), pa.int32())
    text = pa.DictionaryArray.from_arrays(indices, values).cast(pa.string())
    uri = write(tmp_path / "a.parquet", pa.table({"text": text}))
    with ParquetSource(uri) as source:
        sizes = [(b.num_rows, b.nbytes) for b in source.batches([0], None, 1 << 20)]
    assert sum(rows for rows, _ in sizes) == 1000
    assert sum(size > 2 << 20 for _, size in sizes) == 1


def test_limit_and_columns(tmp_path: Path) -> None:
    table = rows_table(100).append_column("a.b", pa.array(range(100)))
    uri = write(tmp_path / "a.parquet", table, row_group_size=30)
    (shard,) = limit_rows(read_shards(input_of(uri))[1], 70)
    columns = SimpleNamespace(needed=["a.b", "triples"])
    found = list(read_windows(shard, lambda schema: columns, max_rows=40, max_bytes=1 << 20))
    assert [len(window) for _, window in found] == [40, 30] and found[0][0] is columns
    assert pa.concat_tables([window for _, window in found]).equals(table.select(["triples", "a.b"]).slice(0, 70))
    twice = write(tmp_path / "b.parquet", table.append_column("id", table["id"]))
    for path, name, says in ((uri, "nope", "has no column 'nope'"), (twice, "id", "has more than one column 'id'")):
        with pytest.raises(ShardError, match=says):
            read(path, [name])


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(st.tuples(st.text(max_size=60), st.lists(st.integers(0, 9), max_size=6)), max_size=40),
    row_group=st.integers(1, 12),
    max_rows=st.integers(1, 15),
    max_bytes=st.integers(1, 500),
)
def test_every_row_comes_back_once_and_in_order(
    tmp_path: Path,
    rows: list[tuple[str, list[int]]],
    row_group: int,
    max_rows: int,
    max_bytes: int,
) -> None:
    kind = pa.schema([("text", pa.string()), ("numbers", pa.list_(pa.int8()))])
    table = pa.table([[t for t, _ in rows], [n for _, n in rows]], schema=kind)
    uri = write(tmp_path / "a.parquet", table, row_group_size=row_group)
    windows = read(uri, max_rows=max_rows, max_bytes=max_bytes)
    assert pa.concat_tables(windows).equals(pq.read_table(uri))
    weights = [8 + len(text.encode()) + len(numbers) for text, numbers in rows]
    if rows:
        assert [len(w) for w in windows] == cut_rows(weights, max_rows, max_bytes)


def test_the_first_windows_of_a_row_range_are_smaller(tmp_path: Path) -> None:
    """A budget of bytes or rows cuts them earlier."""
    uri = write(tmp_path / "a.parquet", pa.table({"n": range(60_000)}), row_group_size=5000)
    _, shards = read_shards(input_of(uri), 50_000)
    assert [(shard.rows, shard.groups) for shard in shards] == [(50_000, (0, 10)), (10_000, (10, 12))]

    def lengths(number: int, max_rows: int, max_bytes: int) -> list[int]:
        columns = SimpleNamespace(needed=["n"])
        found = read_windows(
            shards[number], lambda schema: columns, max_rows=max_rows, max_bytes=max_bytes, first_rows=(1024, 4096)
        )
        tables = [table for _, table in found]
        start = 50_000 * number
        assert pa.concat_tables(tables)["n"].to_pylist() == list(range(start, start + shards[number].rows))
        return [len(table) for table in tables]

    assert lengths(0, 16_384, 1 << 30) == [1024, 4096, 16_384, 16_384, 50_000 - 1024 - 4096 - 2 * 16_384]
    assert lengths(1, 3000, 1 << 30) == [1024, 3000, 3000, 2976]
    assert lengths(1, 16_384, 4000) == [500] * 20


NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
DEEP = pa.struct([("x", pa.list_(pa.string()))])
ARRAYS = {
    "bool": pa.array([True, None, False, True]),
    "timestamp": pa.array([NOW, None, NOW, NOW], pa.timestamp("ns", "Europe/Prague")),
    "string": pa.array(["a", None, "", "é😀\0"]),
    "large_string": pa.array(["a", None, "", "é😀\0"], pa.large_string()),
    "string_view": pa.array(["a", None, "", "longer than twelve bytes"], pa.string_view()),
    "dictionary": pa.array(["x", None, "y", "x"]).dictionary_encode(),
    "list_view": pa.array([["a", None], None, [], ["bc"]], pa.list_view(pa.string())),
    "fixed_list": pa.array([["a", "b"], None, [None, "c"], ["", "d"]], pa.list_(pa.string(), 2)),
    "list_of_dictionary": pa.array([["a"], None, [], ["b", "a"]], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": ""}, {"a": 2, "b": None}]),
    "map": pa.array([[("k", 1)], None, [], [("a", None), ("b", 2)]], pa.map_(pa.string(), pa.int32())),
    "deep": pa.array([[[{"x": ["a"]}]], None, [[]], [[None, {"x": None}]]], pa.list_(pa.list_(DEEP))),
    "null": pa.nulls(4),
    "nulls": pa.array([[{"a": "x", "b": None}], None, [], [{"a": None, "b": None}] * 3]),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([UUID(int=i).bytes for i in range(4)], pa.binary(16))),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_a_column_passes_through_and_weighs_what_the_definition_says(tmp_path: Path, name: str) -> None:
    array = ARRAYS[name]
    uri = write(tmp_path / "a.parquet", pa.table({name: array}), row_group_size=3)
    expected = pq.read_table(uri)
    (window,) = read(uri)
    assert window.schema.equals(expected.schema, check_metadata=True)
    assert window.to_pylist() == expected.to_pylist() == [{name: v} for v in array.to_pylist()]
    assert window[name].num_chunks == 1
    assert write_parquet(tmp_path / "b.parquet", [window]).rows == 4
    again = pq.read_table(tmp_path / "b.parquet")
    assert again.schema.equals(expected.schema) and again.to_pylist() == expected.to_pylist()
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    weights = [weight(value, storage.type) for value in storage.to_pylist()]
    assert row_bytes(array).dtype == np.int64
    for start in range(5):
        assert row_bytes(array.slice(start)).tolist() == weights[start:]
        assert row_bytes(array.slice(0, start)).tolist() == weights[:start]
