"""Shards: row ranges, limits, and files that are damaged, cut, or of enormous rows."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scorer.errors import ShardError
from scorer.storage.shards import InputFile, group_ranges, limit_rows, read_shards, read_tables
from tests.storage.tables import TRIPLE, input_of, rows_table, write


def read(path: Path, **more: Any) -> list[pa.Table]:
    return list(read_tables(input_of(str(path)), **{"max_rows": 70, "max_bytes": 1 << 20, **more}))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "its 0 bytes do not begin and end as Parquet"),
        (b"PAR1" + b"x" * 100 + (1 << 30).to_bytes(4, "little") + b"PAR1", "its footer claims 1073741824 bytes"),
        (b"PAR1" + b"\xff" * 100 + (90).to_bytes(4, "little") + b"PAR1", "cannot be read"),
    ],
)
def test_what_is_not_parquet_is_unreadable(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.parquet"
    path.write_bytes(content)
    with pytest.raises(ShardError, match=says) as caught:
        read_shards(input_of(str(path)))
    assert caught.value.kind == "unreadable"
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.parquet")
    for name, says in (("fifo.parquet", "not a regular file"), ("none", "No such file"), (".", "not a regular file")):
        with pytest.raises(ShardError, match=says):
            read_shards(InputFile(uri=str(tmp_path / name), relative="a.parquet"))


@pytest.mark.parametrize(
    ("groups", "most", "rows"),
    [
        ([10, 10, 10, 10], 20, [20, 20]),
        ([10, 10, 10, 10], 40, [40]),
        ([10, 10, 10, 10], 1, [10, 10, 10, 10]),  # a row group is never divided
        ([50, 5, 5, 50], 20, [50, 10, 50]),
        ([0, 10, 0, 0, 10, 0], 10, [10, 10]),
        ([0, 0], 1, [0]),
        ([], 1, [0]),
    ],
)
def test_row_groups_are_put_together_up_to_the_limit(groups: list[int], most: int, rows: list[int]) -> None:
    found = group_ranges(groups, most)
    assert [sum(groups[start:end]) for start, end in found] == rows
    assert [start for start, _ in found] == [0, *(end for _, end in found)][:-1] and found[-1][1] == len(groups)


def test_a_limit_takes_shards_up_to_its_rows(tmp_path: Path) -> None:
    found = []
    for name, rows in (("a", 3), ("b", 0), ("d", 5)):
        write(tmp_path / f"{name}.parquet", rows_table(rows))
        found += read_shards(input_of(str(tmp_path / f"{name}.parquet")))[1]
    for limit, taken in ((1, [1]), (3, [3]), (4, [3, 0, 1]), (99, [3, 0, 5]), (None, [3, 0, 5])):
        limited = limit_rows(found, limit)
        assert [shard.rows for shard in limited] == taken
        assert [shard.limit for shard in limited if shard.limit is not None] == [
            rows for rows, shard in zip(taken, found, strict=False) if rows < shard.rows
        ]


def test_long_rows_cost_a_few_times_their_own_length(tmp_path: Path) -> None:
    text = "x" * (50 << 20)
    triple = {"subject": "s", "predicate": "p", "object": "o"}
    table = pa.table({"text": [text, "short"] * 2, "triples": pa.array([[triple] * 300_000, []] * 2, pa.list_(TRIPLE))})
    uri = write(tmp_path / "a.parquet", table)
    del table
    before = pa.total_allocated_bytes()
    most, windows = 0, []
    for window in read(Path(uri), max_rows=1000, max_bytes=8 << 20):
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
            ((shard,), found) = read_shards(input_of(str(path)))[1], pa.concat_tables(read(path))
        except ShardError:
            continue
        assert len(found) == shard.rows
        if changed[-pages:] == content[-pages:]:
            assert found.equals(table), "a flip before the footer went unnoticed"
