"""No output holds a string that is not UTF-8: other programs refuse a whole file for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.scoring.valid_strings import REPLACED_BYTES, replace_bytes, with_note
from tests.run.calls import run

pytestmark = pytest.mark.usefixtures("inline_runs")

BYTES = [b"ok", b"a\xff", None, b"Ren\xe9", b"ok", b"\xed\xa0\x80"]
TEXTS = [None if value is None else value.decode(errors="replace") for value in BYTES]
BROKEN = [False, True, False, True, False, True]
STRINGS = pa.array(BYTES, pa.binary()).view(pa.string())
OFFSETS = pa.array([0, 1, 2, 3, 4, 5, 6], pa.int32())
COLUMNS: dict[str, pa.Array] = {
    "strings": STRINGS,
    "large": pa.array(BYTES, pa.large_binary()).view(pa.large_string()),
    "dictionary": STRINGS.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
    "lists": pa.ListArray.from_arrays(OFFSETS, STRINGS),
    "large lists": pa.LargeListArray.from_arrays(OFFSETS.cast(pa.int64()), STRINGS),
    "views": STRINGS.cast(pa.binary()).cast(pa.binary_view()).view(pa.string_view()),
    "lists of views": pa.ListArray.from_arrays(
        OFFSETS, STRINGS.cast(pa.binary()).cast(pa.binary_view()).view(pa.string_view())
    ),
    "list views": pa.ListViewArray.from_arrays(OFFSETS[:-1], pa.array([1] * 6, pa.int32()), STRINGS),
    "fixed": pa.FixedSizeListArray.from_arrays(STRINGS, 1),
    "structs": pa.StructArray.from_arrays([STRINGS, pa.array(range(6))], ["who", "n"]),
    "maps": pa.MapArray.from_arrays(OFFSETS, pa.array(["k"] * 6), STRINGS),
    "deep": pa.StructArray.from_arrays([pa.ListArray.from_arrays(OFFSETS, STRINGS)], ["names"]),
}
PLACES: dict[str, Any] = {
    **dict.fromkeys(("strings", "large", "views", "dictionary"), lambda value: value),
    **dict.fromkeys(("lists", "large lists", "lists of views", "list views", "fixed"), lambda value: value[0]),
    "structs": lambda value: value["who"],
    "maps": lambda value: value[0][1],
    "deep": lambda value: value["names"][0],
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(("start", "rows"), [(0, 6), (1, 4), (2, 1)])
def test_strings_of_any_layout_become_utf8(name: str, start: int, rows: int) -> None:
    table = pa.table({"n": range(6), name: COLUMNS[name]}).slice(start, rows)
    valid, replaced = replace_bytes(table)
    valid.validate(full=True)
    assert valid.schema == table.schema and valid["n"] == table["n"]
    assert [PLACES[name](value) for value in valid[name].to_pylist()] == TEXTS[start : start + rows]
    assert replaced.tolist() == BROKEN[start : start + rows]


def test_a_null_row_stays_null_and_a_valid_table_is_the_same() -> None:
    missing = pa.array([True, False, False, True, False, False])
    structs = pa.StructArray.from_arrays([STRINGS], ["who"], mask=missing)
    valid, replaced = replace_bytes(pa.table({"x": structs}))
    expected = [None if null else {"who": text} for null, text in zip(missing.to_pylist(), TEXTS, strict=True)]
    assert valid["x"].to_pylist() == expected
    assert replaced.tolist() == [False, True, False, False, False, True]
    plain = pa.table({"x": ["é", None], "b": [b"\xff", b""]})
    assert replace_bytes(plain)[0] is plain


def test_the_note_is_of_this_output_and_comes_last() -> None:
    notes = pa.array(["truncated", None, "empty_text+replaced_bytes", "replaced_bytes", None])
    replaced = pa.array([True, True, False, False, False]).to_numpy(zero_copy_only=False)
    expected = ["truncated+replaced_bytes", REPLACED_BYTES, "empty_text", None, None]
    assert with_note(notes, replaced).to_pylist() == expected


PUB = b'"facts": ["The Fox is a pub."], "text": "The Fox is a pub.", "meta": {"who": "'
LINES = b"".join(b"{" + PUB + who + b'"}}\n' for who in (b"Ren\xe9", b"Eve", b"R\xed\xa0\x80"))
LINES += LINES.split(b"\n")[0].replace(b"is a pub.", b"is a caf\xe9.") + b"\n"
CELLS = b'text,facts,who\nThe Fox is a pub.,"[""The Fox is a pub.""]",Ren\xe9\nThe Fox.,"[""A caf\xe9.""]",Ren\xe9\n'


@pytest.mark.parametrize(("name", "content"), [("a.jsonl", LINES), ("a.csv", CELLS)])
def test_a_bad_byte_in_another_column_costs_neither_a_row_nor_the_file(
    name: str, content: bytes, tmp_path: Path, tiny: Path
) -> None:
    data, first, second = tmp_path / name, tmp_path / "first", tmp_path / "second"
    data.write_bytes(content)
    run(data, first, tiny, "--max-error-rate", 1)
    rows = pq.read_table(first / "a.parquet").to_pylist()
    assert polars.read_parquet(first / "a.parquet").height == len(rows)
    counted = duckdb.sql(f"SELECT count(*) FROM '{first}/a.parquet' WHERE error IS NULL").fetchall()
    assert counted == [(len(rows) - 1,)]
    *labelled, broken = rows
    assert all(row["rough"] and row["error"] is None for row in labelled)
    assert (broken["error"], broken["note"]) == ("invalid_utf8", None)
    *kept, last = (row.get("meta") or row["who"] for row in rows)
    replaced = ["\ufffd" in text for text in kept]
    assert replaced[0] and "Ren\ufffd" in last
    assert [row["note"] for row in labelled] == [REPLACED_BYTES if each else None for each in replaced]
    data.write_bytes(content.replace(b"Ren\xe9", b"Rene"))
    summary = run(data, second, tiny, "--max-error-rate", 1, "--reuse", first)
    again = pq.read_table(second / "a.parquet").to_pylist()
    assert [row["reused"] for row in again] == [True] * len(labelled) + [False]
    assert [row["note"] for row in again[: len(labelled)]] == [None, *(row["note"] for row in labelled[1:])]
    assert summary["rows"]["notes"] == ({REPLACED_BYTES: sum(replaced) - 1} if sum(replaced) > 1 else {})
