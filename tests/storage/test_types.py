"""Columns of every type that Parquet gives pass through unchanged, weighed as defined; broken texts too."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.storage import ShardReader, ShardWriter
from scorer.storage.reading.sizes import check_batch, row_bytes
from tests.storage.tables import TRIPLE, weight, write

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
DEEP = pa.struct([("x", pa.list_(pa.string()))])
ARRAYS = {
    "bool": pa.array([True, None, False, True]),
    "int8": pa.array([1, None, 3, -4], pa.int8()),
    "uint64": pa.array([1, None, 2**64 - 1, 0], pa.uint64()),
    "half": pa.array([1, None, 2, 3], pa.float16()),
    "double": pa.array([1.5, None, float("inf"), -0.0]),
    "decimal": pa.array([Decimal("1.25"), None, Decimal("-3.00"), Decimal("0")], pa.decimal128(20, 2)),
    "decimal256": pa.array([Decimal("1.25"), None, Decimal("-3"), Decimal("0")], pa.decimal256(50, 2)),
    "date": pa.array([date(2026, 1, 1), None, date(1, 1, 1), date(1970, 1, 1)]),
    "time": pa.array([time(1), None, time(23, 59), time(0)], pa.time64("us")),
    "timestamp": pa.array([NOW, None, NOW, NOW], pa.timestamp("ns", "Europe/Prague")),
    "duration": pa.array([timedelta(1), None, timedelta(0), timedelta(2)], pa.duration("ms")),
    "string": pa.array(["a", None, "", "é😀\0"]),
    "large_string": pa.array(["a", None, "", "é😀\0"], pa.large_string()),
    "string_view": pa.array(["a", None, "", "longer than twelve bytes"], pa.string_view()),
    "binary": pa.array([b"\xff", None, b"", b"\0"]),
    "fixed": pa.array([b"abc", None, b"\0\0\0", b"def"], pa.binary(3)),
    "dictionary": pa.array(["x", None, "y", "x"]).dictionary_encode(),
    "small_dictionary": pa.array(["x", None, "y", "x"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
    "list": pa.array([["a", None], None, [], ["bc"]], pa.list_(pa.string())),
    "large_list": pa.array([["a", None], None, [], ["bc"]], pa.large_list(pa.string())),
    "list_view": pa.array([["a", None], None, [], ["bc"]], pa.list_view(pa.string())),
    "fixed_list": pa.array([["a", "b"], None, [None, "c"], ["", "d"]], pa.list_(pa.string(), 2)),
    "list_of_dictionary": pa.array([["a"], None, [], ["b", "a"]], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    "struct": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": ""}, {"a": 2, "b": None}]),
    "map": pa.array([[("k", 1)], None, [], [("a", None), ("b", 2)]], pa.map_(pa.string(), pa.int32())),
    "triples": pa.array([[("s", "p", "o")] * 2, None, [], [("s", None, "ö")]], pa.list_(TRIPLE)),
    "deep": pa.array([[[{"x": ["a"]}]], None, [[]], [[None, {"x": None}]]], pa.list_(pa.list_(DEEP))),
    "null": pa.nulls(4),
    "uuid": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([UUID(int=i).bytes for i in range(4)], pa.binary(16))),
}  # fmt: skip


@pytest.mark.parametrize("name", ARRAYS)
def test_a_column_passes_through_reader_and_writer(reader: ShardReader, tmp_path: Path, name: str) -> None:
    uri = write(tmp_path / "a.parquet", pa.table({name: ARRAYS[name]}), row_group_size=3)
    expected = pq.read_table(uri)
    (window,) = reader.windows(uri, max_rows=10, max_bytes=1 << 20)
    # What a map calls its entries is lost between processes, and means nothing.
    assert window.schema.equals(expected.schema, check_metadata=name != "map")
    assert window.to_pylist() == expected.to_pylist() == [{name: v} for v in ARRAYS[name].to_pylist()]
    assert window[name].num_chunks == 1
    writer = ShardWriter(tmp_path / "b.parquet", window.schema)
    writer.write(window)
    assert writer.commit().rows == 4
    again = pq.read_table(tmp_path / "b.parquet")
    assert again.schema.equals(expected.schema)
    assert again.to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("name", ARRAYS)
def test_rows_weigh_what_the_definition_says_sliced_or_not(name: str) -> None:
    array = ARRAYS[name]
    storage = array.storage if isinstance(array, pa.ExtensionArray) else array
    expected = [weight(value, storage.type) for value in storage.to_pylist()]
    assert row_bytes(array).tolist() == expected
    assert row_bytes(array).dtype == np.int64
    for start in range(5):
        assert row_bytes(array.slice(start)).tolist() == expected[start:]
        assert row_bytes(array.slice(0, start)).tolist() == expected[:start]
        check_batch(pa.record_batch({"x": array.slice(start)}))


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_texts_that_are_not_utf8_pass_through(reader: ShardReader, tmp_path: Path, kind: pa.DataType) -> None:
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}[kind]
    broken = pa.array([b"ok", b"\xff\xfe", b"\xed\xa0\x80", None], binary)
    texts = broken.view(kind)
    nested = pa.ListArray.from_arrays(pa.array([0, 2, 2, 3, 4], pa.int32()), texts)
    struct = pa.StructArray.from_arrays([texts, nested], ["a", "b"])
    uri = write(tmp_path / "a.parquet", pa.table({"text": texts, "list": nested, "struct": struct}))
    (window,) = reader.windows(uri, max_rows=10, max_bytes=1 << 20)
    assert window["text"].chunk(0).view(binary).equals(broken)
    assert window["struct"].chunk(0).field("b").values.view(binary).equals(broken)
    writer = ShardWriter(tmp_path / "b.parquet", window.schema)
    writer.write(window)
    writer.commit()
    assert pq.read_table(tmp_path / "b.parquet")["text"].chunk(0).view(binary).equals(broken)


def offsets_out_of_bounds() -> list[pa.Array]:
    """Arrays that Arrow takes at first sight, because only their first and last offset are looked at then."""
    texts = pa.array(["abc", "de"])
    bad = pa.py_buffer(np.array([0, 9999, 2], np.int32))
    text = pa.Array.from_buffers(pa.string(), 2, [None, bad, texts.buffers()[2]])
    return [
        text,
        pa.Array.from_buffers(pa.list_(pa.string()), 2, [None, bad], children=[texts]),
        pa.Array.from_buffers(pa.list_(pa.int64()), 2, [None, bad], children=[pa.array([1, 2])]),
        pa.StructArray.from_arrays([text], ["x"]),
        pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), pa.StructArray.from_arrays([text], ["x"])),
        pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int32()), texts, safe=False),
        pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), text),
    ]


@pytest.mark.parametrize("array", offsets_out_of_bounds())
def test_offsets_and_indices_out_of_bounds_are_refused(array: pa.Array) -> None:
    with pytest.raises(pa.ArrowInvalid):
        check_batch(pa.record_batch([array], ["x"]))
