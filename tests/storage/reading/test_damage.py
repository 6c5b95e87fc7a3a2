"""Files that take all memory, files of enormous rows, and files with flipped bits."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from scorer.errors import ShardError
from scorer.storage import ShardReader
from tests.processes import LIMIT_S
from tests.storage.tables import TRIPLE, rows_table, write

pytestmark = pytest.mark.usefixtures("fresh_readers")


@pytest.mark.slow
def test_memory_that_runs_out_costs_the_shard_and_not_the_run(tmp_path: Path) -> None:
    # One row of 2 GiB less a little, which the child may not hold twice within its 2 GiB.
    # Written as indices to one value, and without the Arrow schema that would have them read as such.
    values = pa.DictionaryArray.from_arrays(pa.array([0] * 1900, pa.int32()), ["x" * (1 << 20)])
    lists = pa.ListArray.from_arrays(pa.array([0, 1900], pa.int32()), values)
    good = write(tmp_path / "good.parquet", rows_table(1000))
    uri = write(tmp_path / "big.parquet", pa.table({"x": lists}), store_schema=False)
    with ShardReader(timeout_s=LIMIT_S, memory_bytes=1) as reader:
        with pytest.raises(ShardError, match="needs more memory") as caught:
            list(reader.windows(uri, max_rows=10, max_bytes=1 << 20))
        assert caught.value.kind == "unreadable"
        assert reader.probe(good).rows == 1000


def test_long_rows_cost_a_few_times_their_own_length(tmp_path: Path) -> None:
    text = "x" * (50 << 20)
    triple = {"subject": "s", "predicate": "p", "object": "o"}
    table = pa.table({"text": [text, "short"] * 2, "triples": pa.array([[triple] * 300_000, []] * 2, pa.list_(TRIPLE))})
    uri = write(tmp_path / "a.parquet", table)
    del table
    with ShardReader(timeout_s=LIMIT_S) as reader:
        windows = [len(t) for t in reader.windows(uri, max_rows=1000, max_bytes=8 << 20)]
        status = Path(f"/proc/{reader._child.pid}/status").read_text()
    assert windows == [1] * 4
    assert int(status.partition("VmHWM:")[2].split()[0]) < 800_000  # kB


def test_a_file_cut_at_any_byte_is_refused(reader: ShardReader, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write(path, rows_table(10), write_page_checksum=True, row_group_size=5)
    content = path.read_bytes()
    for length in {*range(0, len(content), 9), *range(len(content) - 40, len(content))}:
        path.write_bytes(content[:length])
        with pytest.raises(ShardError) as caught:
            reader.probe(str(path))
        assert caught.value.kind == "unreadable"


@pytest.mark.parametrize(("count", "seed"), [(16, 1), pytest.param(600, 2, marks=pytest.mark.slow)])
def test_a_flipped_bit_is_refused_or_costs_no_row(tmp_path: Path, count: int, seed: int) -> None:
    table, path = rows_table(300), tmp_path / "a.parquet"
    write(path, table, write_page_checksum=True, row_group_size=100, use_dictionary=["id"])
    content = path.read_bytes()
    pages = int.from_bytes(content[-8:-4], "little") + 8
    rng = random.Random(seed)
    with ShardReader(timeout_s=LIMIT_S) as reader:
        for _ in range(count):
            changed = bytearray(content)
            changed[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            path.write_bytes(changed)
            try:
                rows = reader.probe(str(path)).rows
                found = pa.concat_tables(reader.windows(str(path), max_rows=70, max_bytes=1 << 20))
            except ShardError:
                continue
            assert len(found) == rows
            if changed[-pages:] == content[-pages:]:
                assert found.equals(table), "a flip before the footer went unnoticed"
