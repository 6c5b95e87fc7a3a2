"""CSV, TSV and JSON Lines, compressed or not, are read as Parquet of the same rows would be; what is wrong is said with
its line."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scorer.errors import ShardError
from scorer.metric import ColumnNames
from scorer.metric.columns import row_keys
from scorer.metric.inputs import find_columns
from scorer.storage import text_files
from scorer.storage.input_files import find_files
from scorer.storage.input_tables import read_tables
from scorer.storage.opened_file import OpenedFile, RefusedError
from scorer.storage.shards import read_shards
from scorer.storage.text_files import TextLines
from scorer.system.files import ROW_INFO, Format, format_of
from tests.storage.tables import input_of

ROWS: list[dict[str, Any]] = [
    {"id": 1, "text": 'He said "no",\nthen left.\t', "score": 0.5, "zip": "0123", "none": None},
    {"id": 2, "text": "", "score": None, "zip": "9", "none": None},
    {"id": -3, "text": "Größe | 日本", "score": 1e3, "zip": "10", "none": None},
]


def read(path: Path, content: bytes, delimiter: str | None = None, columns: list[str] | None = None) -> pa.Table:
    """A file of this content, in windows of two rows."""
    path.write_bytes(content)
    file = input_of(path, format_of(path.name, "auto"), delimiter)
    tables = list(read_tables(file, lambda schema: columns, max_rows=2, max_bytes=1 << 20))
    found = pa.concat_tables(tables)
    (shard,) = read_shards(file)[1]
    assert len(found) == shard.rows and all(len(table) <= 2 for table in tables)
    return found


def values(table: pa.Table) -> list[dict[str, Any]]:
    """The columns of the file itself."""
    return table.select([name for name in table.column_names if name != ROW_INFO]).to_pylist()


@pytest.mark.parametrize(
    ("name", "delimiter", "given"),
    [("a.csv", ",", None), ("a.tsv", "\t", None), ("a.csv", ";", None), ("a.tsv", "|", "|")],
)
def test_a_cell_is_what_is_written(tmp_path: Path, name: str, delimiter: str, given: str | None) -> None:
    with (tmp_path / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ROWS[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(ROWS)
    content = (tmp_path / name).read_bytes()
    written = [{key: "" if value is None else str(value) for key, value in row.items()} for row in ROWS]
    assert values(read(tmp_path / name, content, given)) == written
    assert values(read(tmp_path / name, content, given, ["text"]))[0] == {"text": ROWS[0]["text"]}


@pytest.mark.parametrize("layout", [{}, {"indent": 2}, {"separators": (",\n", ":")}, {"separators": ("\n,", ":")}])
@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.json.gz"])
def test_an_array_of_objects_is_read(tmp_path: Path, name: str, layout: dict[str, Any]) -> None:
    rows = [{"text": 'a ] , " b', "n": [1, {"x": "}"}]}, {"text": "b", "n": None}]
    content = json.dumps(rows, **layout).encode()
    found = values(read(tmp_path / name, gzip.compress(content) if name.endswith("gz") else content))
    assert [row["text"] for row in found] == ['a ] , " b', "b"]
    assert json.loads(found[0]["n"]) == rows[0]["n"] and found[1]["n"] is None


ROW = b'{"text": "b"}'


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (b"[" + ROW + b",\n" + ROW + b"\n]", ["b", "b"]),
        (b"[\n" + ROW + b"\n,\n" + ROW + b"\n]\n", ["b", "b"]),
        (b"\n\n[" + ROW + b"\n," + ROW + b"]", ["b", "b"]),
        (b"[" + ROW + b"," + ROW + b",\n" + ROW + b"]", ["b", "b", "b"]),
        (b'["a", "b"]\n' + ROW, [None, "b"]),
        (b"[1,\n" + ROW + b"\n" + ROW, [None, "b", "b"]),
        (b"[broken\n" + ROW, [None, "b"]),
        (b"\n" + ROW + b"\n\n" + ROW, ["b", "b"]),
    ],
)
@pytest.mark.parametrize("chunk", [9, 1 << 20])
def test_arrays_and_lines_are_told_apart(
    tmp_path: Path, content: bytes, texts: list[str | None], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content.startswith(b"[") and None in texts and chunk < 100:
        return  # a row that is a list longer than a piece is taken for an array
    monkeypatch.setattr(text_files, "CHUNK_BYTES", chunk)
    monkeypatch.setattr(text_files, "MOST_LINE_BYTES", 40)
    assert read(tmp_path / "a.jsonl", content)["text"].to_pylist() == texts


@pytest.mark.parametrize(
    ("line", "header", "given"),
    [(b"sep=;\r\n", b"a;text\r\n", None), (b"SEP=|\n", b"a|text\n", None), (b"sep=;\n", b"a,text\n", ",")],
)
def test_the_line_by_which_excel_names_the_delimiter(
    tmp_path: Path, line: bytes, header: bytes, given: str | None
) -> None:
    mark = header[1:2]
    content = line + header + b"1" + mark + b"x, y\n" * (mark != b",") + b"x\n" * (mark == b",") + b"2\n"
    table = read(tmp_path / "a.csv", content, given)
    assert values(table)[0] == {"a": "1", "text": "x" if mark == b"," else "x, y"}
    info = table[ROW_INFO].to_pylist()[1]
    assert (info["error"], info["line"]) == ("malformed_row", 4)


@pytest.mark.parametrize(
    ("name", "content", "bad"),
    [
        ("a.csv", b"text,n\nok,1\nb\xffd,2\n", b"b\xffd"),
        ("a.jsonl", b'{"text": "ok"}\n{"text": "b\xffd"}', b"b\xffd"),
        ("a.jsonl", b'{"text": "ok"}\n{"text": "\\ud800", "n": NaN}', b"\xed\xa0\x80"),
    ],
)
def test_bytes_that_are_not_utf8_stay_in_their_row(tmp_path: Path, name: str, content: bytes, bad: bytes) -> None:
    assert read(tmp_path / name, content)["text"].cast(pa.binary()).to_pylist() == [b"ok", bad]


@pytest.mark.parametrize(
    ("name", "content", "error", "detail"),
    [
        ("a.csv", b"a,text\n1,2\n\n1,2,3\n4,5\n", "malformed_row", "line 4 has 3 fields, .* header has 2: '1,2,3'"),
        ("a.csv", b'a,text\n1,2\n1,"x"y\n4,5\n', "malformed_row", "line 3: .*double the quotes"),
        ("a.jsonl", b'{"text": "1"}\n{"a": 1\n{"text": "2"}', "malformed_json", "line 2 is not a JSON .*: '{\"a\": 1'"),
        ("a.jsonl", b'{"text": "1"}\n["a"]\n{"text": "2"}', "malformed_json", "line 2 is not a JSON object"),
        ("a.jsonl", b'{"text": "1"}\n{"a": 1, "a": 3}\n{"text": "2"}', "malformed_json", "line 2 .*'a' occurs twice"),
        ("a.jsonl", b'{"text": "1"}\n' + b"[" * 100_000 + b'\n{"text": "2"}', "malformed_json", "line 2 is not a JSON"),
        (
            "a.jsonl",
            b'{"text": "1"}\n{"text": "3", "te\\u0078t": "4"}\n{"text": "2"}',
            "malformed_json",
            "'text' occurs",
        ),
        (
            "a.csv",
            b"a,text\n1,2\n1,x\ry\n4,5\n",
            "malformed_row",
            "line 3: a carriage return in a field",
        ),
        ("a.json", b'[{"text": "1"}, {"a" 1}, {"text": "2"}]', "malformed_json", "line 1 is not a JSON object"),
    ],
    ids=["fields", "quote", "cut", "list", "twice", "deep", "escape", "return", "array"],
)
def test_a_row_that_cannot_be_read_costs_itself_alone(
    tmp_path: Path, name: str, content: bytes, error: str, detail: str
) -> None:
    table = read(tmp_path / name, content).append_column("triples", pa.array([["x | y | z"]] * 3))
    columns = find_columns(table.schema, ColumnNames())
    rows = columns.rows(table)
    assert {row: found.kind for row, found in rows.errors.items()} == {1: error}
    why = columns.why_none(table.slice(1, 1))
    assert re.search(detail, why) and str(rows.errors[1].line) == re.findall("line ([0-9]+)", why)[0]
    assert ROW_INFO not in columns.passed and table["text"].to_pylist()[1] is None
    assert len(set(row_keys(rows).to_pylist())) == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", b'a\tb\n1\t"x\n', r"line 2: a quote that is opened there or behind it is never closed"),
        ("a.csv", b"", "is empty; its first line"),
        ("a.csv", b'"a"b,c\n', "line 1: the names of the columns"),
        ("a.csv", b"a,b,a\n1,2,3\n", "line 1: two columns have the name 'a'"),
        ("a.csv", b"\xff,b\n1,2\n", "a column whose name is not UTF-8"),
        ("a.csv", b"\xff\xfea\0", "UTF-16"),
        ("a.csv", b"a,text\r1,x\r2,y\r", "carriage returns alone, as old Macs did"),
        ("a.jsonl", b'{"text": "1"}\r{"text": "2"}\r', "carriage returns alone, as old Macs did"),
        ("a.csv", b"version https://git-lfs.github.com/spec/v1\noid x\n", "pointer of Git LFS .* `git lfs pull`"),
        ("a.parquet", b"version https://git-lfs.github.com/spec/v1\noid x\n", "pointer of Git LFS .* `git lfs pull`"),
        ("a.csv", b"PK\x03\x04", "is an Excel workbook"),
        ("a.jsonl", b'{\n "text": "1"\n}\n{\n "text": "2"\n}', "line 1: an object takes .*`jq -c . FILE`"),
        ("a.json", b'\n{"n": 1,\n"data": [{"text": "1"},\n{"text": "2"}]}', "line 1: .*`jq -c '.data\\[\\]' FILE`"),
        ("a.jsonl", b"", "is empty"),
        ("a.jsonl", b"no json", "line 1 is not a JSON object"),
        ("a.json", b'[{"a": 1},\n{"a": 2},\n{"a": 3}', "line 3: the array of objects does not end"),
        ("a.json", b'[\n{"a": 1}]\nx', "line 3: something follows the end"),
    ],
)
def test_what_has_no_rows_any_more_is_said_with_its_line(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(ShardError, match=message):
        read(tmp_path / name, content)


def test_windows_do_not_depend_on_batches_and_many_rows_are_all_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"n": i, "text": "x" * (i % 500)}) + "\n" for i in range(9000)))
    file = input_of(path, "jsonl")
    tables, small = (list(read_tables(file, max_rows=5000, max_bytes=most)) for most in (1 << 30, 100_000))
    assert [len(table) for table in tables] == [5000, 4000]
    for found in (tables, small):
        assert pa.concat_tables(found)["n"].to_pylist() == list(map(str, range(9000)))


def test_a_folder_gives_parquet_first_and_outputs_are_parquet(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()

    def outputs(given: str = "", form: Format = "auto") -> list[str]:
        return [file.relative for file in find_files([f"{tmp_path}/{given}"], form)]

    for name in ("a.csv", "b.jsonl", "deep/c.tsv", "d.json", "_e.csv"):
        (tmp_path / name).touch()
    assert outputs() == ["a.parquet", "b.parquet", "deep/c.parquet"]
    assert outputs(form="jsonl") == ["b.parquet", "d.parquet"] and outputs("*.csv") == ["a.parquet"]
    for name in ("f.parquet", "g.CSV.gz", "h.gz"):
        (tmp_path / name).touch()
    assert outputs("g.*") == ["g.parquet"] and outputs("h.gz", "csv") == ["h.parquet"]
    assert outputs() == ["f.parquet"]


TEXT = b"".join(b"%d %s\n" % (i, b"x" * (i % 90)) for i in range(2000))
PACKED = gzip.compress(TEXT, mtime=0)
MARK = b"\xef\xbb\xbf"


def lines_of(path: Path, content: bytes) -> list[bytes]:
    """The lines, after what the file itself must say was checked."""
    path.write_bytes(content)
    with OpenedFile(str(path)) as opened:
        lines = TextLines(opened)
        found = list(lines)
    assert (lines.file.count, lines.file.sha256.hexdigest()) == (len(content), hashlib.sha256(content).hexdigest())
    return found


@pytest.mark.parametrize("chunk", [7, 1 << 20])
def test_the_lines_do_not_depend_on_compression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(text_files, "CHUNK_BYTES", chunk)
    members = [gzip.compress(part, mtime=0) for part in (TEXT[:700], b"", TEXT[700:])]
    for content in (TEXT, MARK + TEXT, PACKED, b"".join(members), PACKED + bytes(512), gzip.compress(MARK + TEXT)):
        assert lines_of(tmp_path / "named by nobody", content) == TEXT.splitlines(keepends=True)


def test_what_cannot_be_unpacked_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "MOST_LINE_BYTES", 2 << 20)
    for content, message in (
        (PACKED[:1000], r"cut off or damaged behind line \d+ .*end-of-stream"),
        (PACKED[:-8] + bytes(8), r"damaged behind line \d+ .*check"),
        (PACKED + b"more", "damaged behind line 2000 "),
        (gzip.compress(PACKED), "compressed by gzip twice"),
        (gzip.compress(b"x\n" + bytes(3 << 20), 1), "line 2 is longer than 2 MiB"),
    ):
        with pytest.raises(RefusedError, match=message):
            lines_of(tmp_path / "a.jsonl.gz", content)
