"""Rows of (subject, predicate, object) triples in any of the formats, as columns of small integers.

A window of rows repeats the same triples many times (one input, twenty systems), so triples are interned: each
distinct one is a Python object once, and a row is a slice of an integer array. The three formats are

- ``list<struct<subject, predicate, object>>``, and the lists and maps of :mod:`.triple_forms`,
- ``list<string>`` with ``subject | predicate | object`` in each string (WebNLG),
- a string of all triples of the row, as JSON or with bars and ``++`` (:func:`.triple_forms.parse_text`),
- a string of E2E slots, ``name[...], food[...]``, where the name is the subject of the other slots.

Facts may also be given as sentences, ``list<string>``, which need no template. Such a fact is the predicate of a triple
without subject and object, so that counts by predicate are counts by fact.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..system.arguments import strings
from .part_names import PARTS
from .python_rows import TripleLike, parts_of_row, split_bars
from .triple_forms import as_elements, is_text, parse_text, part_columns
from .values import parse_json

NO_TRIPLES = "no_triples"
MALFORMED = "malformed_triples"
INVALID_UTF8 = "invalid_utf8"

# Blanks are stripped in code: a pattern that also matched them would backtrack over every split of a long run of
# blanks.
_SLOT = re.compile(r"([^\[\],]+)\[([^\[\]]*)\](?:\s*,|\s*$)")
NULL_LENGTH = 0xFFFFFFFF


class Triple(NamedTuple):
    """One fact of the input. Each part is without outer blanks and never empty; a fact that was given as a sentence
    has a predicate alone."""

    subject: str
    predicate: str
    object: str

    @property
    def sentence(self) -> str | None:
        """The fact as it was given, if it was a sentence."""
        return None if self.subject else self.predicate


@dataclass
class RowTriples:
    """The triples of a window of rows.

    ``distinct``: every triple that occurs, once. ``ids``: int32, *Shape:* (facts,), positions in ``distinct``.
    ``offsets``: int64, *Shape:* (rows + 1,); row *r* owns ``ids[offsets[r]:offsets[r + 1]]``. Rows with an error
    own nothing; ``errors`` has the reason by row, and ``raw`` the bytes that identify them. ``sentences``: whether the
    facts are sentences. ``skipped``: attributes that are null.
    """

    distinct: list[Triple]
    offsets: npt.NDArray[np.int64]
    ids: npt.NDArray[np.int32]
    errors: dict[int, str] = field(default_factory=dict)
    raw: dict[int, bytes] = field(default_factory=dict)
    sentences: bool = False
    skipped: int = 0

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of facts of each row. int64, *Shape:* (rows,)."""
        return np.diff(self.offsets)


def parse_triple(text: str) -> Triple | None:
    """Read ``subject | predicate | object``; ``None`` unless it has exactly three parts, none of them blank.

    If the parts contain bars themselves, only bars between blanks separate parts.
    """
    parts = split_bars(text)
    return Triple(*parts) if len(parts) == 3 and all(parts) else None


def parse_mr(text: str) -> list[Triple] | None:
    """Read an E2E meaning representation; ``None`` if it is not one, or does not have exactly one name.

    A name without other slots gives an empty list.
    """
    slots: list[tuple[str, str]] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _SLOT.match(text, position)
        if match is None:
            return None
        slots.append((match[1].strip(), match[2].strip()))
        position = match.end()
    names = [value for slot, value in slots if slot == "name"]
    if len(names) != 1 or not all(slot and value for slot, value in slots):
        return None
    return [Triple(names[0], slot, value) for slot, value in slots if slot != "name"]


def parse_triples(text: str) -> list[Triple] | None:
    """Read all triples of a row from one string, see :func:`.triple_forms.parse_text`; ``None`` if one is malformed.

    A blank string and an empty array give an empty list.
    """
    found = parse_text(text)
    if found is None:
        return None
    triples = [Triple(*(part.strip() for part in parts)) for parts in found if len(parts) == 3]
    good = len(triples) == len(found) and all(all(triple) for triple in triples)
    # JSON can name half a character, which no UTF-8 has.
    return triples if good and all(is_utf8(part) for t in triples for part in t) else None


def parse_sentences(text: str) -> list[Triple] | None:
    """Read all facts of a row from a string of a JSON list; ``None`` if it is not a list, or an item is not a
    sentence."""
    try:
        found = parse_json(text) if text.strip() else []
    except ValueError:
        return None
    if not isinstance(found, list) or not all(isinstance(fact, str) and fact.strip() for fact in found):
        return None
    facts = [Triple("", fact.strip(), "") for fact in found]
    return facts if all(is_utf8(fact.predicate) for fact in facts) else None


def from_python(rows: Iterable[Iterable[TripleLike]]) -> RowTriples:
    """Intern triples given as Python objects; blank parts make a row malformed, half a character ``invalid_utf8``.

    Raises:
        TypeError: an element that is not a triple in any of the forms of :mod:`.python_rows`.
    """
    cleaned: list[tuple[list[Triple] | None, bytes]] = []
    invalid = []
    for number, row in enumerate(rows):
        triples = [Triple(*(part.strip() for part in parts)) for parts in parts_of_row(row)]
        written = all(is_utf8(part) for triple in triples for part in triple)
        if not written:
            invalid.append(number)
        good = written and all(all(triple) for triple in triples)
        cleaned.append((triples if good else None, b"" if good else _raw_triples(triples)))
    result = assemble(cleaned)
    result.errors.update(dict.fromkeys(invalid, INVALID_UTF8))
    return result


def from_mr(column: pa.Array) -> RowTriples:
    """Parse a column of E2E meaning representations (string-like, nulls allowed)."""
    return _from_texts(column, parse_mr)


def _from_texts(column: pa.Array, parse: Callable[[str], list[Triple] | None]) -> RowTriples:
    codes, values = encode(column)
    texts = [decode(value) for value in values]
    parsed = [parse(text) if text is not None else None for text in texts]
    nothing: tuple[None, bytes] = (None, _length(None))
    rows = [(parsed[code], sized(values[code])) if code >= 0 else nothing for code in codes.tolist()]
    result = assemble(rows)
    _mark_invalid(result, codes, values)
    _mark_null(result, codes < 0)
    return result


def from_lists(column: pa.Array) -> RowTriples:
    """Parse a column of triples in any of the forms of :mod:`.triple_forms`, E2E slots apart.

    Works on slices and on any list layout; a null list is ``no_triples``, a null or blank part ``malformed_triples``.
    """
    if is_text(column.type) and not pa.types.is_null(column.type):
        return _from_texts(column, parse_triples)
    return _from_elements(column, lambda flat: _intern_strings(flat, parse_triple))


def _from_elements(column: pa.Array, intern: Callable[[pa.Array], _Interned]) -> RowTriples:
    if pa.types.is_null(column.type):  # the type that writers give a column of nothing but nulls
        column = column.cast(pa.list_(pa.string()))
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = as_elements(pc.list_flatten(column))
    distinct, ids, raws = _intern_structs(flat) if pa.types.is_struct(flat.type) else intern(flat)
    result = _drop_bad_rows(distinct, offsets, ids, raws)
    if column.null_count:
        _mark_null(result, pc.is_null(column).to_numpy(zero_copy_only=False))
    return result


def from_sentences(column: pa.Array) -> RowTriples:
    """Parse a column of lists of strings, or of strings of JSON lists, a fact in each.

    Works on slices and on any list layout; a null list is ``no_triples``, a null or blank fact ``malformed_triples``.
    """
    if is_text(column.type) and not pa.types.is_null(column.type):
        return replace(_from_texts(column, parse_sentences), sentences=True)
    return replace(_from_elements(column, _intern_sentences), sentences=True)


def from_python_sentences(rows: Iterable[Iterable[str]]) -> RowTriples:
    """Intern facts given as Python strings; see :func:`from_sentences`.

    Raises:
        TypeError: facts that are not a list of strings; names the position.
    """
    given = [[to_bytes(fact) for fact in strings("facts", row)] for row in rows]
    return from_sentences(pa.array(given, pa.list_(pa.binary())))


def encode(column: pa.Array) -> tuple[npt.NDArray[np.int64], list[bytes]]:
    """Dictionary-encode a string-like column as bytes: codes (int64, -1 for null) and the distinct values.

    Bytes, because strings are not validated when Parquet is read: an invalid one must fail its row, not the run.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, np.int64), []
    encoded = pc.dictionary_encode(column.cast(pa.large_binary()))
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, encoded.dictionary.to_pylist()


def to_bytes(text: str) -> bytes:
    """A text as UTF-8; halves of surrogate pairs, which Python's strings may hold, give bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def decode(value: bytes) -> str | None:
    """UTF-8 to text; ``None`` when it is not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    return decode(to_bytes(text)) is not None


# Valid elements are interned to ids >= 0; these two mark the others.
_BAD, _BAD_UTF8 = -1, -2


# Distinct triples, int64 ids of the elements in order, and where one is bad the bytes of every element.
_Interned = tuple[list[Triple], npt.NDArray[np.int64], list[bytes] | None]


def _intern_structs(flat: pa.Array) -> _Interned:
    columns = part_columns(flat)
    codes, values = zip(*(encode(columns[part]) for part in PARTS), strict=True)
    # Pair codes step by step, each time squeezed back below the number of elements, so that 64 bits suffice.
    pairs = _compact(codes[0], codes[1])
    keys, inverse = np.unique(_compact(pairs, codes[2]), return_index=True, return_inverse=True)[1:]
    parts = [[decode(value) for value in column] for column in values]
    interner: dict[Triple, int] = {}
    ids_of_key = np.empty(len(keys), np.int64)
    for k, element in enumerate(keys.tolist()):
        chosen = [column[element] for column in codes]
        if any(code < 0 for code in chosen):
            ids_of_key[k] = _BAD
            continue
        strings = [part[code] for part, code in zip(parts, chosen, strict=True)]
        if any(string is None for string in strings):
            ids_of_key[k] = _BAD_UTF8
            continue
        triple = Triple(*(string.strip() for string in strings if string is not None))
        ids_of_key[k] = interner.setdefault(triple, len(interner)) if all(triple) else _BAD
    ids = ids_of_key[inverse]
    raws = None
    if (ids < 0).any():
        column_bytes = [[values[c][code] if code >= 0 else None for code in codes[c].tolist()] for c in range(3)]
        raws = [b"".join(sized(part) for part in parts) for parts in zip(*column_bytes, strict=True)]
    return list(interner), ids, raws


def _intern_sentences(flat: pa.Array) -> _Interned:
    def as_triple(text: str) -> Triple | None:
        return Triple("", text.strip(), "") if text.strip() else None

    return _intern_strings(flat, as_triple)


def _intern_strings(flat: pa.Array, parse: Callable[[str], Triple | None]) -> _Interned:
    codes, values = encode(flat)
    interner: dict[Triple, int] = {}
    ids_of_value = np.empty(len(values) + 1, np.int64)
    ids_of_value[-1] = _BAD  # where code -1, null, points
    for v, value in enumerate(values):
        text = decode(value)
        triple = parse(text) if text is not None else None
        bad = _BAD_UTF8 if text is None else _BAD
        ids_of_value[v] = bad if triple is None else interner.setdefault(triple, len(interner))
    ids = ids_of_value[codes]
    raws = None
    if (ids < 0).any():
        raws = [sized(values[code] if code >= 0 else None) for code in codes.tolist()]
    return list(interner), ids, raws


def _compact(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    width = int(right.max(initial=-1)) + 2
    mixed = (left + 1) * width + (right + 1)
    return np.asarray(np.unique(mixed, return_inverse=True)[1], np.int64).reshape(-1)


def _drop_bad_rows(
    distinct: list[Triple],
    offsets: npt.NDArray[np.int64],
    ids: npt.NDArray[np.int64],
    raws: list[bytes] | None,
) -> RowTriples:
    if raws is None:
        return RowTriples(distinct, offsets, ids.astype(np.int32))
    errors: dict[int, str] = {}
    raw: dict[int, bytes] = {}
    bad = np.flatnonzero(ids < 0)
    rows = np.searchsorted(offsets, bad, side="right") - 1
    keep = np.ones(len(ids), bool)
    for element, row in zip(bad.tolist(), rows.tolist(), strict=True):
        if row not in errors:
            start, end = int(offsets[row]), int(offsets[row + 1])
            keep[start:end] = False
            raw[row] = counted(end - start) + b"".join(raws[start:end])
        if ids[element] == _BAD_UTF8:
            errors[row] = INVALID_UTF8
        else:
            errors.setdefault(row, MALFORMED)
    lengths = np.diff(offsets)
    lengths[list(errors)] = 0
    kept = np.concatenate([[0], np.cumsum(lengths)])
    return RowTriples(distinct, kept, ids[keep].astype(np.int32), errors, raw)


def assemble(rows: list[tuple[list[Triple] | None, bytes]]) -> RowTriples:
    """Intern the triples of rows; a row without is malformed, and identified by the bytes given."""
    interner: dict[Triple, int] = {}
    ids: list[int] = []
    offsets = [0]
    errors: dict[int, str] = {}
    raw: dict[int, bytes] = {}
    for r, (triples, original) in enumerate(rows):
        if triples is None:
            errors[r], raw[r] = MALFORMED, original
        else:
            ids.extend(interner.setdefault(triple, len(interner)) for triple in triples)
        offsets.append(len(ids))
    return RowTriples(list(interner), np.array(offsets, np.int64), np.array(ids, np.int32), errors, raw)


def _mark_invalid(result: RowTriples, codes: npt.NDArray[np.int64], values: list[bytes]) -> None:
    broken = {code for code, value in enumerate(values) if decode(value) is None}
    if broken:
        result.errors.update({r: INVALID_UTF8 for r, code in enumerate(codes.tolist()) if code in broken})


def _mark_null(result: RowTriples, null: npt.NDArray[np.bool_]) -> None:
    for r in np.flatnonzero(null).tolist():
        result.errors[r], result.raw[r] = NO_TRIPLES, _length(None)


def _raw_triples(triples: list[Triple]) -> bytes:
    return counted(len(triples)) + b"".join(sized(to_bytes(part)) for triple in triples for part in triple)


def counted(n: int) -> bytes:
    """The number of parts that follow, as row keys have it."""
    return struct.pack("<I", n)


def _length(value: bytes | None) -> bytes:
    return struct.pack("<I", NULL_LENGTH if value is None else len(value))


def sized(value: bytes | None) -> bytes:
    """Bytes after their length, as row keys have them."""
    return _length(value) + (value or b"")


def iterate(rows: RowTriples) -> Iterator[list[Triple]]:
    """The rows as lists of triples, for display; rows with an error are empty."""
    for start, end in zip(rows.offsets[:-1].tolist(), rows.offsets[1:].tolist(), strict=True):
        yield [rows.distinct[i] for i in rows.ids[start:end].tolist()]
