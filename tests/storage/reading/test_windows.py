"""Windows are a pure function of the rows and two budgets."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.errors import ShardError
from scorer.storage import ShardReader
from scorer.storage.reading.windows import cut
from tests.processes import kill_and_wait
from tests.storage.reading.test_reader import child_of
from tests.storage.tables import cut_rows, rows_table, weight, write

pytestmark = pytest.mark.usefixtures("fresh_readers")


def weights(table: pa.Table) -> list[int]:
    columns = [[weight(v, field.type) for v in table[field.name].to_pylist()] for field in table.schema]
    return [sum(row) for row in zip(*columns, strict=True)]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    lengths=st.lists(st.integers(0, 300), min_size=1, max_size=60),
    cuts=st.lists(st.integers(1, 20), min_size=1, max_size=20),
    max_rows=st.integers(1, 20),
    max_bytes=st.integers(1, 700),
)
def test_bounds_are_those_of_the_definition_however_batches_fall(
    lengths: list[int], cuts: list[int], max_rows: int, max_bytes: int
) -> None:
    table = pa.table({"text": ["x" * n for n in lengths], "n": lengths})
    batches, at = [], 0
    while at < len(table):
        size = cuts[len(batches) % len(cuts)]
        batches += table.slice(at, size).to_batches()
        at += size
    windows = list(cut(batches, table.schema, max_rows=max_rows, max_bytes=max_bytes))
    assert [len(w) for w in windows] == cut_rows(weights(table), max_rows, max_bytes)
    assert pa.concat_tables(windows).equals(table)
    assert all(column.num_chunks == 1 for w in windows for column in w.columns)


@pytest.mark.parametrize("first", [0, 500])
def test_batches_of_heavy_rows_are_small_whatever_the_footer_says(tmp_path: Path, first: int) -> None:
    from scorer.storage.reading.source import Source

    # A single dictionary value of 100 kB in all 3000 rows: 300 MB of text in a file of a few kB.
    values = pa.array(["small", "x" * 100_000])
    indices = pa.array([0] * first + [1] * (3000 - first), pa.int32())
    uri = write(
        tmp_path / "a.parquet", pa.table({"text": pa.DictionaryArray.from_arrays(indices, values).cast(pa.string())})
    )
    with Source(uri) as source:
        sizes = [(b.num_rows, b.nbytes) for b in source.batches(None, 0, source.rows, 1000, 1 << 20, lambda: None)]
    assert sum(rows for rows, _ in sizes) == 3000
    assert sum(size > 2 << 20 for _, size in sizes) <= (first > 0)


def test_limit_and_columns(reader: ShardReader, tmp_path: Path) -> None:
    table = rows_table(100).append_column("a.b", pa.array(range(100)))
    uri = write(tmp_path / "a.parquet", table, row_group_size=30)
    windows = list(reader.windows(uri, max_rows=40, max_bytes=1 << 20, limit=70, columns=["a.b", "triples"]))
    assert [len(w) for w in windows] == [40, 30]
    assert pa.concat_tables(windows).equals(table.select(["triples", "a.b"]).slice(0, 70))
    plain = write(tmp_path / "b.parquet", table.drop_columns("a.b"), row_group_size=30)
    windows = list(reader.windows(plain, max_rows=400, max_bytes=1 << 20, columns=["triples", "id"]))
    assert windows[0].schema.names == ["id", "triples"]
    assert len(windows[0]) == 100
    with pytest.raises(ShardError, match="has no column 'nope'"):
        list(reader.windows(uri, max_rows=4, max_bytes=100, columns=["nope"]))
    with pytest.raises(ValueError, match="name at least one column"):
        list(reader.windows(uri, max_rows=4, max_bytes=100, columns=[]))


@pytest.mark.parametrize("limit", [None, 0, 5])
def test_a_shard_without_rows_gives_one_empty_table(reader: ShardReader, tmp_path: Path, limit: int | None) -> None:
    table = rows_table(0)
    uri = write(tmp_path / "a.parquet", table)
    assert reader.probe(uri).rows == 0
    (window,) = reader.windows(uri, max_rows=4, max_bytes=100, limit=limit)
    assert window.equals(table) and window.schema.equals(table.schema)
    assert all(column.num_chunks == 1 for column in window.columns)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(st.tuples(st.text(max_size=60), st.lists(st.integers(0, 9), max_size=6)), max_size=40),
    row_group=st.integers(1, 12),
    max_rows=st.integers(1, 15),
    max_bytes=st.integers(1, 500),
)
def test_every_row_comes_back_once_and_in_order(
    reader: ShardReader,
    tmp_path: Path,
    rows: list[tuple[str, list[int]]],
    row_group: int,
    max_rows: int,
    max_bytes: int,
) -> None:
    kind = pa.schema([("text", pa.string()), ("numbers", pa.list_(pa.int8()))])
    table = pa.table([[t for t, _ in rows], [n for _, n in rows]], schema=kind)
    uri = write(tmp_path / "a.parquet", table, row_group_size=row_group)
    windows = list(reader.windows(uri, max_rows=max_rows, max_bytes=max_bytes, identity=reader.probe(uri).identity))
    assert pa.concat_tables(windows).equals(pq.read_table(uri))
    if rows:
        assert [len(w) for w in windows] == cut_rows(weights(table), max_rows, max_bytes)


@pytest.mark.parametrize("restarted", [False, True])
def test_the_first_windows_of_a_shard_or_piece_are_smaller(tmp_path: Path, restarted: bool) -> None:
    """Also where another child goes on after the second window; a budget of bytes or rows cuts them earlier."""
    uri = write(tmp_path / "a.parquet", pa.table({"n": range(60_000)}), row_group_size=7000)
    with ShardReader() as reader:
        windows = reader.windows(
            uri, max_rows=16_384, max_bytes=1 << 30, first=700, limit=50_000, first_rows=(1024, 4096)
        )
        found = [next(windows), next(windows)]
        if restarted:
            kill_and_wait(child_of(reader).pid)
        found += windows
        assert [len(table) for table in found] == [1024, 4096, 16_384, 16_384, 50_000 - 1024 - 4096 - 2 * 16_384]
        assert pa.concat_tables(found)["n"].to_pylist() == list(range(700, 50_700))
        few = reader.windows(uri, max_rows=3000, max_bytes=1 << 30, limit=9000, first_rows=(1024, 4096))
        assert [len(table) for table in few] == [1024, 3000, 3000, 1976]
        narrow = reader.windows(uri, max_rows=16_384, max_bytes=4000, limit=6000, first_rows=(1024, 4096))
        assert [len(table) for table in narrow] == [500] * 12
