"""CSV, TSV and JSON of any lines as tables of text, each row by itself.

Every column is text. A cell of CSV is what is written. A value of JSON is read without regard to other lines: a string
is itself, a number its digits (:func:`scorer.system.numbers.spell_number`), an object or a list stays JSON. A row that
cannot be read is null in all columns, and the column :data:`ROW_INFO` says why; it costs no other. Only what has no
rows any more costs the file: a quote that is never closed, a header that names no columns, an array that never ends.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import msgspec
import pyarrow as pa

from ..system.files import ROW_INFO
from ..system.numbers import parse_json, spell_number

MALFORMED_JSON = "malformed_json"
MALFORMED_ROW = "malformed_row"
INFO = pa.struct(
    [("error", pa.string()), ("detail", pa.string()), ("raw", pa.binary()), ("nested", pa.list_(pa.string()))]
)
"""The type of the column :data:`ROW_INFO`."""
_MOST_SHOWN = 60
_QUOTED = re.compile(rb'"[^"]*"')
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]|,')
_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])


class BrokenTextError(Exception):
    """A text file has no rows any more; the message names the line."""


@dataclass(slots=True)
class Record:
    """A row. ``line``: number of its (last) line, from 1. ``values``: by column, bytes that may not be UTF-8.
    ``nested``: columns that hold an object or a list. ``error``: why it could not be read, ``detail``: the same for
    people, ``raw``: its bytes."""

    line: int
    values: dict[str, bytes | None] = field(default_factory=dict)
    nested: list[str] = field(default_factory=list)
    error: str | None = None
    detail: str | None = None
    raw: bytes | None = None


def read_records(
    form: str, lines: Iterable[bytes], names: dict[str, None], delimiter: str | None = None
) -> Iterator[Record]:
    """The rows of a file in a format, ``csv``, ``tsv`` or ``jsonl``.

    Args:
        names: the columns are added to it as they are found; it is complete when all rows are read.
        delimiter: of CSV and TSV, found from the header by default.

    Raises:
        BrokenTextError: there are no more rows to be had.
    """
    if form == "jsonl":
        yield from _json_records(lines, names)
    else:
        yield from _delimited_records(form, lines, names, delimiter)


def schema_of(names: Sequence[str]) -> pa.Schema:
    """The schema of a file with these columns.

    Raises:
        BrokenTextError: a name is not UTF-8.
    """
    try:
        return pa.schema([*((name, pa.string()) for name in names), (ROW_INFO, INFO)])
    except UnicodeEncodeError as error:
        raise BrokenTextError("has a column whose name is not UTF-8; save it as UTF-8") from error


def to_batch(records: Sequence[Record], schema: pa.Schema) -> pa.RecordBatch:
    """Some columns of some rows. Bytes that are not UTF-8 stay such, and cost their row alone."""
    columns = []
    for name in schema.names:
        if name == ROW_INFO:
            infos = [_info(record) if record.error or record.nested else None for record in records]
            columns.append(pa.array(infos, INFO))
        else:
            values = [record.values.get(name) for record in records]
            columns.append(pa.array(values, pa.binary()).view(pa.string()))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _info(record: Record) -> dict[str, Any]:
    return {"error": record.error, "detail": record.detail, "raw": record.raw, "nested": record.nested}


# --- CSV and TSV ---


def delimiter_of(form: str, header: bytes, given: str | None = None) -> str:
    """The delimiter of a file: the one that is given, else in ``tsv`` a tab, and in ``csv`` a comma, or where its
    header has none a semicolon or a tab."""
    if given is not None or form == "tsv":
        return given or "\t"
    bare = _QUOTED.sub(b"", header)
    return next((one for one in (",", ";", "\t") if one.encode() in bare), ",")


def _delimited_records(
    form: str, lines: Iterable[bytes], names: dict[str, None], delimiter: str | None
) -> Iterator[Record]:
    """CSV or TSV: a header with the names of the columns, then one record per row, quoted as in RFC 4180.

    A record with another number of fields, or with a quote out of place, is an error of its row.
    """
    csv.field_size_limit(1 << 28)
    rest = iter(lines)
    first = list(islice(rest, 1))
    delimiter = delimiter_of(form, first[0] if first else b"", delimiter)
    taken: list[bytes] = []  # of the record that is read: a quoted field may have line ends

    def texts() -> Iterator[str]:
        for line in chain(first, rest):
            taken.append(line)
            yield line.decode("utf-8", "surrogateescape")

    def malformed(detail: str) -> Record:
        where = f"line {reader.line_num}"
        return Record(reader.line_num, error=f"{MALFORMED_ROW}:{where}", detail=f"{where}{detail}", raw=b"".join(taken))

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        taken.clear()
        began = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise BrokenTextError(
                    f"line {began}: a quote that is opened there or behind it is never closed; double the quotes "
                    "in a quoted field"
                ) from error
            if not header:
                raise BrokenTextError(f"line {began}: the names of the columns cannot be read: {error}") from error
            yield malformed(f": {error}; quote a field that has quotes, and double the quotes in it")
            continue
        if not header:
            header = fields
            names.update(dict.fromkeys(header))
            if len(names) < len(header):
                twice = next(name for name in header if header.count(name) > 1)
                raise BrokenTextError(f"line {began}: two columns have the name {twice!r}; rename one")
        elif fields and len(fields) != len(header):
            yield malformed(
                f" has {len(fields)} fields, but the header has {len(header)}: {_shown(b''.join(taken))}; quote fields "
                "that contain the delimiter"
            )
        elif fields:
            values = [text.encode("utf-8", "surrogateescape") for text in fields]
            yield Record(reader.line_num, dict(zip(header, values, strict=True)))
    if not header:
        raise BrokenTextError("is empty; its first line should name the columns")


# --- JSON ---


def _json_records(lines: Iterable[bytes], names: dict[str, None]) -> Iterator[Record]:
    """JSON Lines, one object a line, or an array of objects over any lines."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if not line.isspace())
    start = list(islice(numbered, 2))
    everything = chain(start, numbered)
    first: Record | None = None
    for number, text in _elements(everything) if _begin_array(start) else everything:
        record = _parse(number, text.strip())
        names.update(dict.fromkeys(record.values))
        first = first or record
        yield record
    if not names:
        raise BrokenTextError((first.detail if first else None) or "is empty; write one JSON object per line")


def _begin_array(first: Sequence[tuple[int, bytes]]) -> bool:
    """Whether these are the first two lines of a JSON array; otherwise the first may be a line that is no object."""
    texts = [text.strip() for _, text in first]
    if not texts or texts[0][:1] != b"[":
        return False
    return texts[0] == b"[" or len(texts) == 1 or not (_is_json(texts[0]) or _is_json(texts[1]))


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


def _elements(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The elements of a JSON array over any lines, each with the number of its first line.

    Raises:
        BrokenTextError: it does not end, or something follows.
    """
    depth, began, number, ended = 0, 0, 0, False
    element: list[bytes] = []
    for number, line in lines:
        start = 0
        for token in _TOKEN.finditer(line):
            kind = token[0]
            depth += (kind in (b"[", b"{")) - (kind in (b"]", b"}"))
            if depth == 1 and kind == b"[" and not element and not began and start == 0:
                start = token.end()
            elif depth == 0 or (depth == 1 and kind == b","):
                element.append(line[start : token.start()])
                whole = b"".join(element)
                if whole.strip() or kind == b",":
                    yield began or number, whole
                element, began, start, ended = [], 0, token.end(), depth == 0
                if ended:
                    break
        rest = line[start:]
        if ended and rest.strip():
            raise BrokenTextError(f"line {number}: something follows the end of the array: {_shown(rest)}")
        element.append(rest)
        began = began or (number if rest.strip() else 0)
    if not ended:
        raise BrokenTextError(f"line {number}: the array of objects does not end; complete the file")


def _parse(number: int, text: bytes) -> Record:
    """A line. What msgspec refuses is given to Python's reader, which takes NaN and halves of surrogate pairs."""
    try:
        found = _DECODER.decode(text)
        suspect = any(text.count(b'"%b"' % key.encode()) != 1 for key in found)
        if not suspect or not _has_key_twice(text):
            record = Record(number)
            for key, raw in found.items():
                record.values[key], is_nested = _value(bytes(raw))
                if is_nested:
                    record.nested.append(key)
            return record
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return _parse_slowly(number, text)


def _has_key_twice(text: bytes) -> bool:
    sizes = [(0, 0)]
    json.loads(text, object_pairs_hook=lambda pairs: sizes.append((len(pairs), len(dict(pairs)))))
    return sizes[-1][0] > sizes[-1][1]  # the object around all others is the last to be complete


def _value(raw: bytes) -> tuple[bytes | None, bool]:
    """A value of JSON as text, and whether it is an object or a list."""
    start = raw[:1]
    if start == b'"':
        return (raw[1:-1] if b"\\" not in raw else msgspec.json.decode(raw, type=str).encode()), False
    if start in (b"{", b"["):
        return raw, True
    if start == b"n":
        return None, False
    return (raw if start in (b"t", b"f") else spell_number(raw.decode()).encode()), False


class _Number(str):
    """A number, or the name of one that is none, as it is written."""

    __slots__ = ()


def _parse_slowly(number: int, text: bytes) -> Record:
    try:
        found = parse_json(text.decode("utf-8", "surrogateescape"), _Number, _Number)
        what = None if isinstance(found, dict) else "is a list" if isinstance(found, list) else "is a single value"
        what = what and f"{what}, not an object"
    except ValueError as error:
        what = f"is not JSON ({error})"
    if what is not None:
        where = f"line {number}"
        detail = f"{where} {what}: {_shown(text)}"
        return Record(number, error=f"{MALFORMED_JSON}:{where}", detail=detail, raw=text)
    values = {key: None if (single := _single(value)) is None else _encoded(single) for key, value in found.items()}
    return Record(number, values, [key for key, value in found.items() if isinstance(value, dict | list)])


def _single(value: Any) -> str | None:
    """A value as text; NaN is not a value."""
    if value is None or (isinstance(value, _Number) and value[-1:].isalpha()):
        return None
    return value if type(value) is str else spell_number(_dumped(value))


def _dumped(value: Any) -> str:
    """The JSON of a value, its numbers as they are written."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_dumped(key)}: {_dumped(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_dumped, value)) + "]"
    # Bytes that are not UTF-8 stay in a string, and cost the row that reads it.
    broken = isinstance(value, str) and any("\udc80" <= char <= "\udcff" for char in value)
    return json.dumps(value, ensure_ascii=not broken)


def _encoded(value: str) -> bytes:
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, which JSON can name
        return value.encode("utf-8", "surrogatepass")


def _shown(text: bytes) -> str:
    shown = text.strip().decode(errors="replace")
    return repr(shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 3] + "...")
