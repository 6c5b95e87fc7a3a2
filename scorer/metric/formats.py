"""Every form in which tables and programs hold facts, parsed into a :class:`.FactTable`.

Triples: ``list<struct<subject, predicate, object>>``, lists of three values, maps, strings with bars, JSON. Attributes
of a subject: structs, maps, strings of JSON objects. E2E meaning representations: ``name[...], food[...]``. Sentences,
and documents whose sentences are the facts. Single values are spelled by :mod:`.values` in all of them. Nothing is
guessed: what is in none of the forms gives its row an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ..system.arguments import described, strings
from .facts import (
    INVALID_UTF8,
    MALFORMED,
    NO_TRIPLES,
    NULL,
    FactTable,
    Rows,
    Selection,
    Triple,
    counted,
    decode,
    encode,
    from_arrow,
    is_utf8,
    sized,
    to_bytes,
)
from .sentences import split_document
from .values import is_scalar, parse_json, shown, spell, spell_column

PARTS = ("subject", "predicate", "object")
_OTHER_NAMES = {"subject": ("s",), "predicate": ("p", "property"), "object": ("o",)}
NO_SUBJECT = "no_subject"
MALFORMED_ATTRIBUTES = "malformed_attributes"
NAME = "name"
MOST_DEPTH = 64
_UNITS = (("value", "unit"), ("amount", "currency"))
"""Keys of an object that is one value."""

Part = str | int | float
"""A part of a triple; a number or Boolean is spelled as text. Dates, times and decimals will do."""
TripleLike = tuple[Part, Part, Part] | Sequence[Part] | Mapping[str, Part] | str
"""A :class:`scorer.Triple` is a tuple of three strings."""

_FORMS = (
    "a Triple, three strings, a dictionary with the keys subject, predicate and object, "
    "or a string 'subject | predicate | object'"
)
# Blanks are stripped in code: a pattern that also matched them would backtrack over every split of a long run of
# blanks.
_SLOT = re.compile(r"([^\[\],]+)\[([^\[\]]*)\](?:\s*,|\s*$)")
_ACT = re.compile(r"\??[A-Za-z_][\w ]*\((.*)\)", re.DOTALL)
"""A dialogue act around slots, as in ViGGO and RNNLG: ``inform(name[X], food[Y])``, ``inform(name='X';food=Y)``."""
_JSON = re.compile(r"\s*(\[\s*[\]\[{\"']|\{\s*[\"'}])")
"""The start of a JSON value, or of a list that Python printed (which is refused, not read as a subject)."""
_BETWEEN = re.compile(r"\s\+\+(?=\s)")
_POSITION = re.compile(r"[0-9]{1,9}")

Parsed = list[Triple] | str
"""The facts of a value, or the error of its row."""
# Valid elements of lists are interned to ids >= 0; these two mark the others.
_BAD, _BAD_UTF8 = -1, -2
# Distinct triples, int64 ids of the elements in order, and where one is bad the bytes of every element.
_Interned = tuple[list[Triple], npt.NDArray[np.int64], list[bytes] | None]


# --- Types ---


def is_text(kind: pa.DataType | None) -> bool:
    """Whether a type holds strings, in any layout; so does the type of nothing but nulls."""
    if kind is None:
        return False
    if types.is_dictionary(kind):
        kind = kind.value_type
    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view, types.is_null))


def is_list(kind: pa.DataType) -> bool:
    """Whether a type holds lists, in any layout."""
    tests = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)
    return any(test(kind) for test in tests)


def is_part(kind: pa.DataType) -> bool:
    """Whether a part of a triple may have a type: text, or a number, Boolean, date or time, which is spelled."""
    return is_text(kind) or is_scalar(kind.value_type if types.is_dictionary(kind) else kind)


def holds_triples(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold triples."""
    if is_text(kind):
        return True
    if not is_list(kind):
        return False
    value = kind.value_type
    if types.is_struct(value):
        fields = {value.field(i).name: value.field(i).type for i in range(value.num_fields)}
        names = part_names(fields) if len(fields) == value.num_fields else None
        return names is not None and all(is_part(fields[name]) for name in names)
    if types.is_map(value):
        return is_text(value.key_type) and is_part(value.item_type)
    return is_text(value) or (is_list(value) and is_part(value.value_type))


def holds_attributes(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold attributes."""
    return is_text(kind) or types.is_struct(kind) or (types.is_map(kind) and is_text(kind.key_type))


def holds_documents(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold documents."""
    return is_text(kind) or (is_list(kind) and is_text(kind.value_type))


# --- Single values, triples and rows of text ---


def part_name(part: str, names: Iterable[object]) -> str | None:
    """The name that holds a part: ``subject``, ``predicate`` or ``object`` itself, else in another case, else ``s``,
    ``p`` (or ``property``, as in WebNLG) and ``o`` in any case.

    ``None`` where there is no such name, and where two names of the same rank differ only in case.
    """
    known = [name for name in names if isinstance(name, str)]
    if part in known:
        return part
    for wanted in (part, *_OTHER_NAMES[part]):
        found = [name for name in known if name.lower() == wanted]
        if found:
            return found[0] if len(found) == 1 else None
    return None


def part_names(names: Iterable[object]) -> tuple[str, str, str] | None:
    """The names of subject, predicate and object; ``None`` unless all three are there, under different names."""
    known = list(names)
    found = [part_name(part, known) for part in PARTS]
    subject, predicate, value = found
    return None if subject is None or predicate is None or value is None else (subject, predicate, value)


def split_bars(text: str) -> list[str]:
    """The stripped parts of ``subject | predicate | object``; there may be more or fewer than three.

    If the parts contain bars themselves, only bars between blanks separate parts.
    """
    parts = text.split("|")
    if len(parts) != 3:
        parts = re.split(r"\s\|\s", text)
    return [part.strip() for part in parts]


def parse_triple(text: str) -> Triple | None:
    """Read ``subject | predicate | object``; ``None`` unless it has exactly three parts, none of them blank."""
    parts = split_bars(text)
    return Triple(*parts) if len(parts) == 3 and all(parts) else None


def split_triples(text: str) -> list[Any]:
    """The elements of a string of triples: of JSON as Python has them, numbers as text, else one string each.

    Raises:
        ValueError: it begins as JSON does and is none.
    """
    if not text.strip():
        return []
    if not _JSON.match(text):
        return list(_BETWEEN.split(text))
    found = parse_json(text)
    return [found] if isinstance(found, dict) else found


def parse_triples(text: str) -> list[Triple] | None:
    """Read all triples of a row from a string: JSON, or ``subject | predicate | object ++ subject | ...``.

    JSON is an array of objects (keys as in :func:`part_names`), of arrays of three values, or of strings with bars; or
    one such object. A blank string and ``[]`` have no triples. ``None`` if one is malformed.
    """
    found = _parse_triples(text)
    return None if isinstance(found, str) else found


def _parse_triples(text: str) -> Parsed:
    try:
        parts = [_parts_of(element) for element in split_triples(text)]
    except ValueError:
        return MALFORMED
    triples = [Triple(*(part.strip() for part in found)) for found in parts if found is not None]
    if len(triples) < len(parts) or not all(all(triple) for triple in triples):
        return MALFORMED
    # JSON can name half a character, which no UTF-8 has.
    return triples if all(is_utf8(part) for triple in triples for part in triple) else INVALID_UTF8


def _parts_of(element: Any) -> list[str] | None:
    """The three parts of an element of JSON; ``None`` if it has others."""
    if isinstance(element, str):
        values: list[Any] = list(split_bars(element))
    elif isinstance(element, dict):
        names = part_names(element)
        values = [element[name] for name in names] if names is not None else []
    else:
        values = element if isinstance(element, list) else []
    written = [_spelled(value) for value in values]
    return [value for value in written if value is not None] if None not in written and len(written) == 3 else None


def _spelled(value: Any) -> str | None:
    try:
        return spell(value)
    except ValueError:  # an integer of thousands of digits
        return None


def parse_mr(text: str) -> list[Triple] | None:
    """Read an E2E meaning representation, also inside a dialogue act; ``None`` if it is not one, or does not have
    exactly one name. A name without other slots gives an empty list."""
    act = _ACT.fullmatch(text.strip())
    slots = _slots(act[1] if act is not None else text)
    if act is not None and slots is None:
        slots = _assignments(act[1])
    names = [value for slot, value in slots or () if slot == NAME]
    if slots is None or len(names) != 1 or not all(slot and value for slot, value in slots):
        return None
    return [Triple(names[0], slot, value) for slot, value in slots if slot != NAME]


def _slots(text: str) -> list[tuple[str, str]] | None:
    """The slots of ``name[X], food[Y]``."""
    slots: list[tuple[str, str]] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _SLOT.match(text, position)
        if match is None:
            return None
        slots.append((match[1].strip(), match[2].strip()))
        position = match.end()
    return slots


def _assignments(text: str) -> list[tuple[str, str]] | None:
    """The slots of ``name=X,food=Y`` and of ``name='X';food=Y``."""
    parts = [part.partition("=") for part in text.split(";" if ";" in text else ",")]
    if not all(equals for _, equals, _ in parts):
        return None
    return [(slot.strip(), value.strip().strip("'\"").strip()) for slot, _, value in parts]


def _parse_sentences(text: str) -> Parsed:
    """Read all facts of a row from a string of a JSON list of sentences."""
    try:
        found = json.loads(text) if text.strip() else []
    except (ValueError, RecursionError):
        return MALFORMED
    if not isinstance(found, list) or not all(isinstance(fact, str) and fact.strip() for fact in found):
        return MALFORMED
    facts = [Triple("", fact.strip(), "") for fact in found]
    return facts if all(is_utf8(fact.predicate) for fact in facts) else INVALID_UTF8


def _build(codes: npt.NDArray[np.int64], parsed: Sequence[Parsed], raws: Sequence[bytes]) -> FactTable:
    """The facts of rows from those of distinct values, each interned once.

    Args:
        codes: int64, *Shape:* (rows,), the value of each row, -1 for null.
        parsed: the facts of each value.
        raws: the bytes that identify a row whose value has no facts.
    """
    interner: dict[Triple, int] = {}
    parts = []
    for found in parsed:
        numbers = [] if isinstance(found, str) else [interner.setdefault(fact, len(interner)) for fact in found]
        parts.append(np.array(numbers, np.int64))
    sizes = np.array([*map(len, parts), 0], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.int64)
    lengths = sizes[codes]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.arange(offsets[-1]) + np.repeat(starts[codes] - offsets[:-1], lengths)
    errors, raw = {}, {}
    failed = np.array([*(isinstance(found, str) for found in parsed), True], bool)
    for row in np.flatnonzero(failed[codes]).tolist():
        code = int(codes[row])
        errors[row], raw[row] = (str(parsed[code]), raws[code]) if code >= 0 else (NO_TRIPLES, NULL)
    ids = np.concatenate([np.empty(0, np.int64), *parts])[places]
    return FactTable(list(interner), offsets, ids.astype(np.int32), errors, raw)


def _from_texts(column: pa.Array, parse: Callable[[str], Parsed]) -> FactTable:
    codes, values = encode(column)
    texts = [decode(value) for value in values]
    parsed = [INVALID_UTF8 if text is None else parse(text) for text in texts]
    return _build(codes, parsed, [sized(value) for value in values])


def from_mr(column: pa.Array) -> FactTable:
    """Parse a column of E2E meaning representations (string-like, nulls allowed)."""

    def parse(text: str) -> Parsed:
        found = parse_mr(text)
        return MALFORMED if found is None else found

    return _from_texts(column, parse)


def from_lists(column: pa.Array) -> FactTable:
    """Parse a column of triples in any of the forms that :func:`holds_triples` takes.

    Works on slices and on any list layout; a null list is ``no_triples``, a null or blank part ``malformed_triples``.
    """
    if is_text(column.type) and not types.is_null(column.type):
        return _from_texts(column, _parse_triples)
    return _from_elements(column, parse_triple)


def from_sentences(column: pa.Array) -> FactTable:
    """Parse a column of lists of strings, or of strings of JSON lists, a fact in each.

    Works on slices and on any list layout; a null list is ``no_triples``, a null or blank fact ``malformed_triples``.
    """
    if is_text(column.type) and not types.is_null(column.type):
        return replace(_from_texts(column, _parse_sentences), sentences=True)

    def parse(text: str) -> Triple | None:
        return Triple("", text.strip(), "") if text.strip() else None

    return replace(_from_elements(column, parse), sentences=True)


# --- Lists of triples, element by element ---


def _from_elements(column: pa.Array, parse: Callable[[str], Triple | None]) -> FactTable:
    if types.is_null(column.type):  # the type that writers give a column of nothing but nulls
        column = column.cast(pa.list_(pa.string()))
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = as_elements(pc.list_flatten(column))
    distinct, ids, raws = _intern_structs(flat) if types.is_struct(flat.type) else _intern_strings(flat, parse)
    result = _drop_bad_rows(distinct, offsets, ids, raws)
    for row in np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False)).tolist() if column.null_count else ():
        result.errors[row], result.raw[row] = NO_TRIPLES, NULL
    return result


def as_elements(flat: pa.Array) -> pa.Array:
    """The elements of a column of triples: lists of three values and maps as structs of subject, predicate and object,
    strings and structs as they are.

    A list of another length, and a map without the three keys, become a struct without a predicate and an object. Its
    subject is a copy of what was there, which identifies the row.
    """
    if not (types.is_map(flat.type) or is_list(flat.type)):
        return flat
    found: list[tuple[bytes | None, bytes | None, bytes | None]] = []
    is_map = types.is_map(flat.type)
    starts, ends, values = _children(flat)
    children = [_bytes_of(child) for child in values]
    for start, end in zip(starts, ends, strict=True):
        held = [child[start:end] for child in children]
        parts = _map_parts(*held) if is_map else held[0]
        good = parts is not None and len(parts) == 3
        found.append((parts[0], parts[1], parts[2]) if good and parts else (repr(held).encode(), None, None))
    columns = [pa.array([parts[i] for parts in found], pa.large_binary()) for i in range(3)]
    return pa.StructArray.from_arrays(columns, names=list(PARTS))


def _map_parts(keys: list[bytes | None], items: list[bytes | None]) -> list[bytes | None] | None:
    held = {(key or b"").decode(errors="replace"): item for key, item in zip(keys, items, strict=True)}
    names = part_names(held) if len(held) == len(keys) else None
    return [held[name] for name in names] if names is not None else None


def _children(column: pa.Array) -> tuple[list[int], list[int], list[pa.Array]]:
    """Where the values of each list or map of a column begin and end, null ones empty, and the values: of a map keys
    and items."""
    kind, valid = column.type, column.is_valid().to_numpy(zero_copy_only=False)
    if types.is_fixed_size_list(kind):
        starts = (np.arange(len(column)) + column.offset) * kind.list_size
        ends = starts + kind.list_size
    else:
        offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
        views = types.is_list_view(kind) or types.is_large_list_view(kind)
        starts = offsets if views else offsets[:-1]
        ends = starts + column.sizes.to_numpy(zero_copy_only=False) if views else offsets[1:]
    ends = np.where(valid, ends, starts)
    low, high = int(starts.min(initial=1 << 62)), int(ends.max(initial=0))
    low = min(low, high)
    children = (column.keys, column.items) if types.is_map(kind) else (column.values,)
    return (starts - low).tolist(), (ends - low).tolist(), [child.slice(low, high - low) for child in children]


def part_columns(structs: pa.Array) -> dict[str, pa.Array]:
    """The columns of those parts of triples that an array of structs has, as text; a null struct has null parts.

    A file may have been read in part, so a part may be missing.
    """
    names = [structs.type.field(i).name for i in range(structs.type.num_fields)]
    children = structs.flatten()  # unlike field(), it hands a null struct's nulls down
    found = part_names(names)
    pairs = zip(PARTS, found, strict=True) if found else ((part, part) for part in PARTS if part in names)
    return {part: as_text(children[names.index(name)]) for part, name in pairs}


def as_text(column: pa.Array) -> pa.Array:
    """A column of strings or bytes as it is, and of any other scalars as :mod:`.values` spells them."""
    if is_text(column.type) or types.is_large_binary(column.type):
        return column
    return pa.array(spell_column(column)[0], pa.string())


def _bytes_of(column: pa.Array) -> list[bytes | None]:
    found = as_text(column)
    if types.is_dictionary(found.type):
        found = found.dictionary_decode()
    values: list[bytes | None] = found.cast(pa.large_binary()).to_pylist()
    return values


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
        texts = [part[code] for part, code in zip(parts, chosen, strict=True)]
        if any(text is None for text in texts):
            ids_of_key[k] = _BAD_UTF8
            continue
        triple = Triple(*(text.strip() for text in texts if text is not None))
        ids_of_key[k] = interner.setdefault(triple, len(interner)) if all(triple) else _BAD
    ids = ids_of_key[inverse]
    raws = None
    if (ids < 0).any():
        column_bytes = [[values[c][code] if code >= 0 else None for code in codes[c].tolist()] for c in range(3)]
        raws = [b"".join(sized(part) for part in parts) for parts in zip(*column_bytes, strict=True)]
    return list(interner), ids, raws


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
) -> FactTable:
    if raws is None:
        return FactTable(distinct, offsets, ids.astype(np.int32))
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
    return FactTable(distinct, kept, ids[keep].astype(np.int32), errors, raw)


# --- Documents ---


def from_documents(column: pa.Array) -> FactTable:
    """Parse a column of strings, or of lists of strings in any layout: the sentences are the facts.

    A string of a JSON list of strings and nulls is a list too, since CSV and JSON Lines have no other. Null passages
    are left out; a document without a sentence gives the error ``no_triples``.
    """
    if is_text(column.type):
        codes, values = encode(column)
        documents = [[value] if (found := _passages(value)) is None else found for value in values]
    else:
        starts, ends, (values,) = _children(column)
        passages = _bytes_of(values)
        documents = [passages[start:end] for start, end in zip(starts, ends, strict=True)]
        codes = np.where(column.is_valid().to_numpy(zero_copy_only=False), np.arange(len(column)), -1)
    sentences: dict[bytes, list[Triple]] = {}
    parsed: list[Parsed] = []
    for document in documents:
        texts = [decode(passage) for passage in document if passage is not None]
        if None in texts:
            parsed.append(INVALID_UTF8)
            continue
        for passage, text in zip((p for p in document if p is not None), texts, strict=True):
            if passage not in sentences:
                sentences[passage] = [Triple("", sentence, "") for sentence in split_document(text or "")]
        facts = [fact for passage in document if passage is not None for fact in sentences[passage]]
        parsed.append(facts or NO_TRIPLES)
    raws = [counted(len(held)) + b"".join(map(sized, held)) for held in documents]
    return replace(_build(codes, parsed, raws), sentences=True)


def _passages(value: bytes) -> list[bytes | None] | None:
    """The passages of a JSON list of strings and nulls; ``None`` for any other text."""
    text = decode(value) if value.lstrip()[:1] == b"[" and value.rstrip()[-1:] == b"]" else None
    try:
        found = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(one, str | None) for one in found):
        return None
    return [None if one is None else to_bytes(one) for one in found]


# --- Attributes ---


@dataclass
class Attributes:
    """What one object gives. ``skipped``: how many of its attributes are null."""

    triples: list[Triple] = field(default_factory=list)
    skipped: int = 0


class BadAttributesError(ValueError):
    """Why an object gives no triples: ``kind`` is the error of the row, the message says where and what to change."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Unreadable:
    """A value that cannot be written as text."""

    def __repr__(self) -> str:
        return "a value that cannot be written"


def read_attributes(value: Any, subject: str | None, key: str = NAME, within: Sequence[str] = ()) -> Attributes:
    """The triples of one object, depth first.

    A single value is one triple, (subject, key, value); a list gives one triple an element. A nested object is a
    subject of its own: its ``name``, which also gives the triple that links it to its parent, otherwise ``<key> of
    <parent>``. An object of ``value`` and ``unit`` alone (or ``amount`` and ``currency``) is one value. What is null,
    blank or not a number is left out and counted.

    Args:
        value: an object, or a string of a JSON object; ``None`` has no triples.
        subject: what the attributes are about, where it stands in a column of its own.
        key: the attribute that names the subject otherwise.
        within: the keys that lead to ``subject`` where it stands in ``value`` itself; it gives no triple there.

    Raises:
        BadAttributesError: it is not an object, has no subject, or a key is blank.
    """
    if value is None:
        return Attributes()
    if isinstance(value, str):
        value = _from_json(value)
    if not isinstance(value, Mapping):
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"is {shown(value)}, not an object like {{'name': 'The Lamb'}}")
    named = subject.strip() if subject is not None else _written(value.get(key))
    if not named:
        raise BadAttributesError(
            NO_SUBJECT, f"no {key!r} names its subject; name its key or a column with --subject-column"
        )
    found = Attributes()
    rest = {one: item for one, item in value.items() if one != key or (subject is not None and _written(item) != named)}
    _walk(_without(rest, within), named, found, 0)
    return found


def _without(value: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    """An object without what stands at a path of keys in it."""
    if not path or path[0] not in value:
        return value
    rest = {key: item for key, item in value.items() if key != path[0]}
    inner = value[path[0]]
    if len(path) > 1 and isinstance(inner, Mapping):
        return {key: _without(inner, path[1:]) if key == path[0] else item for key, item in value.items()}
    return rest


def _from_json(text: str) -> Any:
    if not text.strip():
        raise BadAttributesError(MALFORMED_ATTRIBUTES, "is blank; write a JSON object")
    try:
        return parse_json(text, constant=lambda name: None)  # "NaN" is not a JSON value
    except ValueError as error:
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"is not a JSON object ({error}): {shown(text)}") from error


def _walk(attributes: Mapping[str, Any], subject: str, found: Attributes, depth: int) -> None:
    if depth > MOST_DEPTH:
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"has objects nested deeper than {MOST_DEPTH}")
    for key, value in attributes.items():
        predicate = key.strip() if isinstance(key, str) else ""
        if not predicate:
            raise BadAttributesError(MALFORMED_ATTRIBUTES, f"an attribute of {subject!r} has a blank key")
        for element in _elements(value):
            if isinstance(element, Mapping) and not _is_quantity(element):
                name = _written(element.get(NAME))
                if name:
                    found.triples.append(Triple(subject, predicate, name))
                rest = {one: item for one, item in element.items() if one != NAME or not (name or item is None)}
                _walk(rest, name or f"{predicate} of {subject}", found, depth + 1)
            elif text := _written(element):
                found.triples.append(Triple(subject, predicate, text))
            else:
                found.skipped += 1


def _elements(value: Any) -> Iterator[Any]:
    """The elements of a list, and of the lists in it; any other value itself."""
    if not isinstance(value, list | tuple | np.ndarray):
        yield value
        return
    stack = [iter(value)]
    while stack:
        for element in stack[-1]:
            if isinstance(element, list | tuple | np.ndarray):
                stack.append(iter(element))
                break
            yield element
        else:
            stack.pop()


def _is_quantity(value: Mapping[Any, Any]) -> bool:
    """Whether an object is a number with its unit."""
    return set(value) in map(set, _UNITS) and not any(isinstance(one, Mapping | list | tuple) for one in value.values())


def _written(value: Any) -> str:
    """A single value as text, without outer blanks; blank for null, for what is not a number, and for objects."""
    if isinstance(value, Mapping) and _is_quantity(value):
        number, unit = (_written(value[key]) for keys in _UNITS if set(value) == set(keys) for key in keys)
        return f"{number} {unit}".strip() if number else ""
    if isinstance(value, bytes | _Unreadable):
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"has {shown(value)}; write text")
    try:
        return (spell(value) or "").strip()
    except ValueError as error:
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"has a number that is too long ({error})") from error


def from_attributes(
    values: Sequence[Any],
    subjects: Sequence[Any] | None = None,
    key: str = NAME,
    *,
    within: Sequence[str] = (),
    plain: str | None = None,
) -> FactTable:
    """Parse attributes.

    Args:
        values: objects or strings of JSON objects, as :func:`to_python` gives them; ``None`` gives ``no_triples``.
        subjects: the subject of each row; a null or blank one gives ``no_subject``.
        key: the attribute that names the subject, without ``subjects``.
        within: see :func:`read_attributes`.
        plain: the name of the one attribute that ``values`` hold where they are not objects.

    Returns rows with the errors ``no_triples``, ``no_subject``, ``malformed_attributes`` or ``invalid_utf8``.
    """
    names = subjects if subjects is not None else [None] * len(values)
    parsed: list[Parsed] = []
    raws: list[bytes] = []
    skipped = 0
    for value, name in zip(values, names, strict=True):
        if plain is not None and value is not None and not _looks_like_object(value):
            value = {plain: value}
        try:
            subject = _written(name) if subjects is not None else None
            if value is not None and subject == "":
                raise BadAttributesError(NO_SUBJECT, "the column of subjects is null")
            found = read_attributes(value, subject, key, within)
            if not all(part.isascii() or is_utf8(part) for triple in found.triples for part in triple):
                raise BadAttributesError(INVALID_UTF8, "is not UTF-8")
            skipped += found.skipped
            parsed.append(found.triples or NO_TRIPLES)
        except BadAttributesError as error:
            parsed.append(error.kind)
        raw = value if isinstance(value, str) or value is None else repr(value)
        raws.append(sized(None if raw is None else to_bytes(raw)) + (sized(to_bytes(str(name))) if name else b""))
    return replace(_build(np.arange(len(values)), parsed, raws), skipped=skipped)


def _looks_like_object(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, str) and value.lstrip()[:1] == "{")


def to_python(column: pa.Array) -> list[Any]:
    """The values of a column as Python objects whose single values are text.

    Bytes that are not UTF-8 become halves of surrogate pairs. What cannot be written, and a struct or a map with a key
    twice, is an object that :func:`read_attributes` refuses.
    """
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if is_text(kind):
        raw = column.cast(pa.large_binary()).to_pylist() if not types.is_null(kind) else [None] * len(column)
        return [None if value is None else value.decode("utf-8", "surrogateescape") for value in raw]
    valid = column.is_valid().to_pylist()
    if types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        children = [to_python(child) for child in column.flatten()]
        if len(set(names)) < len(names):
            return [_Unreadable() if there else None for there in valid]
        rows = zip(*children, strict=True) if children else ([()] * len(column))
        return [dict(zip(names, row, strict=True)) if there else None for row, there in zip(rows, valid, strict=True)]
    if types.is_map(kind) or is_list(kind):
        starts, ends, values = _children(column)
        children = [to_python(child) for child in values]
        found: list[Any] = []
        for start, end, there in zip(starts, ends, valid, strict=True):
            held: Any = children[0][start:end]
            if types.is_map(kind):
                unique = len(set(held)) == len(held)
                held = dict(zip(held, children[1][start:end], strict=True)) if unique else _Unreadable()
            found.append(held if there else None)
        return found
    if is_scalar(kind):
        return [_Unreadable() if bad else text for text, bad in zip(*spell_column(column), strict=True)]
    return [_Unreadable() if there else None for there in valid]


# --- Selections ---


def read_selections(column: pa.Array) -> list[Selection]:
    """The positions of facts that rows select: lists of whole numbers of any type, or strings of JSON lists."""
    return [_selection(value) for value in to_python(column)]


def _selection(value: Any) -> Selection:
    found = value
    if isinstance(value, str):
        if not value.strip():
            return None  # an empty cell of CSV
        try:
            found = parse_json(value)
        except ValueError:
            return value
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(one, str) and _POSITION.fullmatch(one) for one in found):
        return str(value)
    return [int(one) for one in found]


# --- Objects of Python ---


def parts_of_row(triples: Iterable[TripleLike]) -> list[Sequence[str]]:
    """The three parts of each triple of a row, blank ones included.

    Any other iterable is refused: a dictionary of three other keys, or a string of three characters, has three parts
    too, and the label of such a fact would be meaningless.

    Raises:
        TypeError: not an ordered iterable, or an element that is not a triple; names the element and its position.
    """
    if isinstance(triples, str | bytes | Mapping | Set) or not isinstance(triples, Iterable):
        raise TypeError(f"triples is {described(triples)}; give a list of triples")
    if isinstance(triples, tuple) and hasattr(triples, "_fields"):
        raise TypeError(f"triples is a single triple, {described(triples)}; put it into a list")
    return [_parts(position, triple) for position, triple in enumerate(triples)]


def _parts(position: int, triple: Any) -> Sequence[str]:
    parts: Sequence[Any]
    if isinstance(triple, str):
        parts = split_bars(triple)
    elif isinstance(triple, Mapping):
        names = part_names(triple) if len(triple) == 3 else None
        parts = [triple[name] for name in names] if names is not None else ()
    else:
        parts = triple if isinstance(triple, list | tuple) else ()
    if len(parts) != 3:
        raise TypeError(f"triples[{position}] is {described(triple)}; give {_FORMS}")
    written = [_spelled(part) for part in parts]
    for name, part, text in zip(PARTS, parts, written, strict=True):
        if text is None:
            raise TypeError(f"triples[{position}]: the {name} is {described(part)}; give a string or a number")
    return [text for text in written if text is not None]


def from_python(rows: Iterable[Iterable[TripleLike]]) -> FactTable:
    """Intern triples given as Python objects; blank parts make a row malformed, half a character ``invalid_utf8``.

    Raises:
        TypeError: an element that is not a triple in any of the forms of :data:`TripleLike`.
    """
    parsed: list[Parsed] = []
    raws: list[bytes] = []
    for row in rows:
        triples = [Triple(*(part.strip() for part in parts)) for parts in parts_of_row(row)]
        readable = all(is_utf8(part) for triple in triples for part in triple)
        parsed.append(INVALID_UTF8 if not readable else triples if all(map(all, triples)) else MALFORMED)
        raws.append(counted(len(triples)) + b"".join(sized(to_bytes(part)) for triple in triples for part in triple))
    return _build(np.arange(len(parsed)), parsed, raws)


def from_python_sentences(rows: Iterable[Iterable[str]]) -> FactTable:
    """Intern facts given as Python strings; see :func:`from_sentences`.

    Raises:
        TypeError: facts that are not a list of strings; names the position.
    """
    given = [[to_bytes(fact) for fact in strings("facts", row)] for row in rows]
    return from_sentences(pa.array(given, pa.list_(pa.large_binary())))


def from_python_attributes(rows: Iterable[Mapping[str, Any]]) -> FactTable:
    """The triples of objects of Python; see :func:`read_attributes`.

    Raises:
        TypeError: not a mapping.
    """
    parsed: list[Parsed] = []
    raws: list[bytes] = []
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(f"attributes is {described(row)}; give a dictionary of attributes")
        try:
            found = read_attributes(row, None).triples
            parsed.append(found if all(is_utf8(part) for t in found for part in t) and found else NO_TRIPLES)
        except BadAttributesError as error:
            parsed.append(error.kind)
        raws.append(sized(to_bytes(repr(row))))
    return _build(np.arange(len(parsed)), parsed, raws)


def from_pairs(pairs: Sequence[tuple[Iterable[TripleLike], str | None]]) -> Rows:
    """Put (triples, text) pairs of Python objects together.

    Raises:
        TypeError: a text or a triple of another type.
    """
    return from_arrow(from_python([triples for triples, _ in pairs]), _texts([text for _, text in pairs]))


def from_fact_pairs(pairs: Sequence[tuple[Iterable[str], str | None]]) -> Rows:
    """Put (facts, text) pairs of Python objects together; each fact is a sentence.

    Raises:
        TypeError: a text or a fact of another type.
    """
    return from_arrow(from_python_sentences([facts for facts, _ in pairs]), _texts([text for _, text in pairs]))


def from_attribute_pairs(pairs: Sequence[tuple[Mapping[str, Any], str | None]]) -> Rows:
    """Put (attributes, text) pairs of Python objects together.

    Raises:
        TypeError: a text or attributes of another type.
    """
    text = _texts([text for _, text in pairs])
    return from_arrow(from_python_attributes([attributes for attributes, _ in pairs]), text)


def _texts(given: Sequence[str | None]) -> pa.Array:
    for text in given:
        if not (text is None or isinstance(text, str)):
            raise TypeError(f"text is {described(text)}; give a string, or None for a text that is missing")
    return pa.array([None if text is None else to_bytes(text) for text in given], pa.binary())
