"""Every form in which tables and programs hold facts, parsed into a :class:`.FactTable`.

Triples: ``list<struct<subject, predicate, object>>``, lists of three values, maps, strings with bars, JSON. Attributes
of a subject: structs, maps, strings of JSON objects. E2E meaning representations: ``name[...], food[...]``. Sentences,
and documents whose sentences are the facts. Nothing is guessed: what is in none of the forms gives its row an error.
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
    FactTable,
    Rows,
    Triple,
    _length,
    assemble,
    counted,
    decode,
    encode,
    from_arrow,
    is_utf8,
    sized,
    to_bytes,
)
from .sentences import split_document
from .values import parse_json, scalar, shown

PARTS = ("subject", "predicate", "object")
_OTHERS = {"subject": ("s",), "predicate": ("p", "property"), "object": ("o",)}


def part_name(part: str, names: Iterable[object]) -> str | None:
    """The name that holds a part: ``subject``, ``predicate`` or ``object`` itself, else in another case, else ``s``,
    ``p`` (or ``property``, as in WebNLG) and ``o`` in any case.

    ``None`` where there is no such name, and where two names of the same rank differ only in case.
    """
    known = [name for name in names if isinstance(name, str)]
    if part in known:
        return part
    for wanted in (part, *_OTHERS[part]):
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


Part = str | int | float
"""A part of a triple; a number or Boolean is the text that JSON writes for it. Dates, times and decimals will do."""
TripleLike = tuple[Part, Part, Part] | Sequence[Part] | Mapping[str, Part] | str
"""A :class:`scorer.Triple` is a tuple of three strings."""

_FORMS = (
    "a Triple, three strings, a dictionary with the keys subject, predicate and object, "
    "or a string 'subject | predicate | object'"
)


def split_bars(text: str) -> list[str]:
    """The stripped parts of ``subject | predicate | object``; there may be more or fewer than three.

    If the parts contain bars themselves, only bars between blanks separate parts.
    """
    parts = text.split("|")
    if len(parts) != 3:
        parts = re.split(r"\s\|\s", text)
    return [part.strip() for part in parts]


def parts_of_row(triples: Iterable[TripleLike]) -> list[Sequence[str]]:
    """The three parts of each triple of a row, blank ones included.

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
    elif isinstance(triple, list | tuple):
        parts = triple
    else:
        parts = ()
    if len(parts) != 3:
        raise TypeError(f"triples[{position}] is {described(triple)}; give {_FORMS}")
    written = [scalar(part) for part in parts]
    for name, part, text in zip(PARTS, parts, written, strict=True):
        if text is None:
            raise TypeError(f"triples[{position}]: the {name} is {described(part)}; give a string or a number")
    return [text for text in written if text is not None]


# Blanks are stripped in code: a pattern that also matched them would backtrack over every split of a long run of
# blanks.
_SLOT = re.compile(r"([^\[\],]+)\[([^\[\]]*)\](?:\s*,|\s*$)")


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
    """Read all triples of a row from one string, see :func:`parse_text`; ``None`` if one is malformed.

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


def from_python(rows: Iterable[Iterable[TripleLike]]) -> FactTable:
    """Intern triples given as Python objects; blank parts make a row malformed, half a character ``invalid_utf8``.

    Raises:
        TypeError: an element that is not a triple in any of the forms of :data:`TripleLike`.
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


def from_mr(column: pa.Array) -> FactTable:
    """Parse a column of E2E meaning representations (string-like, nulls allowed)."""
    return _from_texts(column, parse_mr)


def _from_texts(column: pa.Array, parse: Callable[[str], list[Triple] | None]) -> FactTable:
    codes, values = encode(column)
    texts = [decode(value) for value in values]
    parsed = [parse(text) if text is not None else None for text in texts]
    nothing: tuple[None, bytes] = (None, _length(None))
    rows = [(parsed[code], sized(values[code])) if code >= 0 else nothing for code in codes.tolist()]
    result = assemble(rows)
    _mark_invalid(result, codes, values)
    _mark_null(result, codes < 0)
    return result


def from_lists(column: pa.Array) -> FactTable:
    """Parse a column of triples in any of the forms of this module, E2E slots apart.

    Works on slices and on any list layout; a null list is ``no_triples``, a null or blank part ``malformed_triples``.
    """
    if is_text(column.type) and not pa.types.is_null(column.type):
        return _from_texts(column, parse_triples)
    return _from_elements(column, lambda flat: _intern_strings(flat, parse_triple))


def _from_elements(column: pa.Array, intern: Callable[[pa.Array], _Interned]) -> FactTable:
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


def from_sentences(column: pa.Array) -> FactTable:
    """Parse a column of lists of strings, or of strings of JSON lists, a fact in each.

    Works on slices and on any list layout; a null list is ``no_triples``, a null or blank fact ``malformed_triples``.
    """
    if is_text(column.type) and not pa.types.is_null(column.type):
        return replace(_from_texts(column, parse_sentences), sentences=True)
    return replace(_from_elements(column, _intern_sentences), sentences=True)


def from_python_sentences(rows: Iterable[Iterable[str]]) -> FactTable:
    """Intern facts given as Python strings; see :func:`from_sentences`.

    Raises:
        TypeError: facts that are not a list of strings; names the position.
    """
    given = [[to_bytes(fact) for fact in strings("facts", row)] for row in rows]
    return from_sentences(pa.array(given, pa.list_(pa.binary())))


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


def _mark_invalid(result: FactTable, codes: npt.NDArray[np.int64], values: list[bytes]) -> None:
    broken = {code for code, value in enumerate(values) if decode(value) is None}
    if broken:
        result.errors.update({r: INVALID_UTF8 for r, code in enumerate(codes.tolist()) if code in broken})


def _mark_null(result: FactTable, null: npt.NDArray[np.bool_]) -> None:
    for r in np.flatnonzero(null).tolist():
        result.errors[r], result.raw[r] = NO_TRIPLES, _length(None)


def _raw_triples(triples: list[Triple]) -> bytes:
    return counted(len(triples)) + b"".join(sized(to_bytes(part)) for triple in triples for part in triple)


def from_pairs(pairs: Sequence[tuple[Iterable[TripleLike], str | None]]) -> Rows:
    """Put (triples, text) pairs of Python objects together.

    Raises:
        TypeError: a text or a triple of another type.
    """
    text = _texts([text for _, text in pairs])
    return from_arrow(from_python([triples for triples, _ in pairs]), text)


def from_fact_pairs(pairs: Sequence[tuple[Iterable[str], str | None]]) -> Rows:
    """Put (facts, text) pairs of Python objects together; each fact is a sentence.

    Raises:
        TypeError: a text or a fact of another type.
    """
    text = _texts([text for _, text in pairs])
    return from_arrow(from_python_sentences([facts for facts, _ in pairs]), text)


def _texts(given: Sequence[str | None]) -> pa.Array:
    for text in given:
        if not (text is None or isinstance(text, str)):
            raise TypeError(f"text is {described(text)}; give a string, or None for a text that is missing")
    return pa.array([None if text is None else to_bytes(text) for text in given], pa.binary())


_JSON = re.compile(r"\s*(\[\s*[\]\[{\"']|\{\s*[\"'}])")
"""The start of a JSON value, or of a list that Python printed (which is refused, not read as a subject)."""
_BETWEEN = re.compile(r"\s\+\+(?=\s)")
_STRUCT = pa.struct([(part, pa.large_binary()) for part in PARTS])
_SCALARS: tuple[Callable[[pa.DataType], bool], ...] = (
    types.is_integer,
    types.is_floating,
    types.is_boolean,
    types.is_decimal,
    types.is_date,
    types.is_time,
    types.is_timestamp,
)


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
    """Whether a part of a triple may have a type: text, or a number, Boolean, date or time, which is taken as text."""
    value = kind.value_type if types.is_dictionary(kind) else kind
    return is_text(kind) or any(test(value) for test in _SCALARS)


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
    """A column of strings as it is, and any other as the text that Arrow writes for its values."""
    if is_text(column.type):
        return column
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.string())


def as_elements(flat: pa.Array) -> pa.Array:
    """The elements of a column of triples: lists of three values and maps as structs of subject, predicate and object
    (as bytes, since text may not be UTF-8), strings and structs as they are.

    A list of another length, and a map without the three keys, become a struct without a predicate and an object. Its
    subject is a copy of what was there, which identifies the row.
    """
    if types.is_map(flat.type):
        return _from_maps(flat)
    return _from_lists(flat) if is_list(flat.type) else flat


def _from_lists(flat: pa.Array) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(flat), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    values = as_text(pc.list_flatten(flat))
    values = _bytes(values)
    good = lengths == 3
    parts = [values.take(pa.array(starts + i, mask=~good)) for i in range(3)]
    return _with_copies(parts, good, lambda row: values.slice(int(starts[row]), int(lengths[row])).to_pylist())


def _from_maps(flat: pa.Array) -> pa.Array:
    found: list[list[bytes | None]] = [[], [], []]
    good = np.ones(len(flat), bool)
    keys, items = _bytes(flat.keys), _bytes(as_text(flat.items))
    offsets = flat.offsets.to_pylist()
    valid = flat.is_valid().to_pylist()

    def entries(row: int) -> list[tuple[bytes, bytes | None]]:
        start, end = (offsets[row], offsets[row + 1]) if valid[row] else (0, 0)
        return list(
            zip(keys.slice(start, end - start).to_pylist(), items.slice(start, end - start).to_pylist(), strict=True)
        )

    for row in range(len(flat)):
        pairs = [(key.decode(errors="replace"), item) for key, item in entries(row)]
        held = dict(pairs)
        names = part_names(held) if len(held) == len(pairs) else None
        good[row] = names is not None
        for i in range(3):
            found[i].append(held[names[i]] if names is not None else None)
    return _with_copies([pa.array(one, pa.large_binary()) for one in found], good, entries)


def _with_copies(parts: list[pa.Array], good: Any, original: Callable[[int], Any]) -> pa.Array:
    bad = np.flatnonzero(~good)
    if len(bad):
        copies = pa.array([repr(original(row)).encode() for row in bad.tolist()], pa.large_binary())
        parts[0] = pc.replace_with_mask(parts[0], pa.array(~good), copies)
    return pa.StructArray.from_arrays(parts, fields=list(_STRUCT))


def _bytes(column: pa.Array) -> pa.Array:
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column.cast(pa.large_binary())


def parse_text(text: str) -> list[list[str]] | None:
    """Read the triples of a row from a string: JSON, or ``subject | predicate | object ++ subject | ...``.

    JSON is an array of objects (keys as in :func:`part_names`), of arrays of three values, or of strings with bars;
    or one such object. Numbers and Booleans are taken as they are written. A blank string and ``[]`` have no triples.

    Returns the three parts of each triple; ``None`` if the string is neither. Parts may be blank.
    """
    try:
        parts = [_json_parts(element) for element in split_text(text)]
    except ValueError:
        return None
    good = [part for part in parts if part is not None]
    return good if len(good) == len(parts) else None


def split_text(text: str) -> list[Any]:
    """The elements of a string of triples: of JSON as Python has them, else one string each.

    Numbers are strings, as they are written.

    Raises:
        ValueError: it begins as JSON does and is none.
    """
    if not text.strip():
        return []
    if not _JSON.match(text):
        return list(_BETWEEN.split(text))
    found = parse_json(text)
    return [found] if isinstance(found, dict) else found


def _json_parts(element: Any) -> list[str] | None:
    if isinstance(element, str):
        return split_bars(element)
    if isinstance(element, dict):
        names = part_names(element)
        values = [element[name] for name in names] if names is not None else []
    else:
        values = element if isinstance(element, list) else []
    written = [scalar(value) for value in values]
    strings = [value for value in written if value is not None]
    return strings if len(strings) == len(written) == 3 else None


_PASSAGE_LISTS = pa.list_(pa.large_binary())


def holds_documents(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold documents."""
    return is_text(kind) or (is_list(kind) and is_text(kind.value_type))


def from_documents(column: pa.Array) -> FactTable:
    """Parse a column of strings, or of lists of strings in any layout.

    A string of a JSON list of strings and nulls is a list too: CSV has no other, and JSON Lines with lists and strings
    in one column are read as such.

    Returns rows with the errors ``no_triples`` or ``invalid_utf8``.
    """
    if is_text(column.type):
        codes, values = encode(column)
        lists = {code: found for code, value in enumerate(values) if (found := _passages(value)) is not None}
        if lists:
            given = [lists.get(code, [values[code]]) if code >= 0 else None for code in codes.tolist()]
            return from_documents(pa.array(given, _PASSAGE_LISTS))
        owner = np.arange(len(column))
    else:
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        codes, values = encode(pc.list_flatten(column))
        owner = np.repeat(np.arange(len(column)), lengths)
    codes, owner = codes[codes >= 0], owner[codes >= 0]
    texts = [decode(value) for value in values]
    interner: dict[Triple, int] = {}
    parts = [
        np.array([interner.setdefault(Triple("", one, ""), len(interner)) for one in split_document(text or "")], int)
        for text in texts
    ]
    n = len(column)
    broken = np.bincount(owner, np.array([text is None for text in texts], bool)[codes], minlength=n) > 0
    sizes = np.array([len(part) for part in parts], np.int64)[codes]
    counts = np.bincount(owner, sizes, minlength=n).astype(np.int64)
    errors = {
        row: INVALID_UTF8 if broken[row] else NO_TRIPLES for row in np.flatnonzero(broken | (counts == 0)).tolist()
    }
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n))]).tolist()
    raw = {
        row: counted(ends[row + 1] - ends[row]) + b"".join(sized(values[i]) for i in codes[ends[row] : ends[row + 1]])
        for row in errors
    }
    counts[broken] = 0
    ids = [parts[code] for code, row in zip(codes.tolist(), owner.tolist(), strict=True) if not broken[row]]
    return FactTable(
        list(interner),
        np.concatenate([[0], np.cumsum(counts)]),
        np.concatenate([np.empty(0, int), *ids]).astype(np.int32),
        errors,
        raw,
        sentences=True,
    )


def _passages(value: bytes) -> list[bytes | None] | None:
    """The passages of a JSON list of strings and nulls; ``None`` for any other text."""
    text = decode(value) if value.lstrip()[:1] == b"[" and value.rstrip()[-1:] == b"]" else None
    try:
        found = json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not all(isinstance(one, str | None) for one in found):
        return None
    return [None if one is None else one.encode("utf-8", "surrogatepass") for one in found]


NO_SUBJECT = "no_subject"
MALFORMED_ATTRIBUTES = "malformed_attributes"
NAME = "name"
MOST_DEPTH = 64


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


def holds_attributes(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold attributes."""
    return is_text(kind) or types.is_struct(kind) or (types.is_map(kind) and is_text(kind.key_type))


def read_attributes(value: Any, subject: str | None, key: str = NAME) -> Attributes:
    """The triples of one object.

    Args:
        value: an object, or a string of a JSON object; ``None`` has no triples.
        subject: what the attributes are about, where it stands in a column of its own.
        key: the attribute that names the subject otherwise.

    Raises:
        BadAttributesError: it is not an object, has no subject, or a key is blank.
    """
    if value is None:
        return Attributes()
    if isinstance(value, str):
        value = _from_json(value)
    if not isinstance(value, Mapping):
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"is {shown(value)}, not an object like {{'name': 'The Lamb'}}")
    named = subject.strip() if subject is not None else written(value.get(key))
    if not named:
        raise BadAttributesError(
            NO_SUBJECT, f"no {key!r} names its subject; name its key or a column with --subject-column"
        )
    found = Attributes()
    rest = {one: item for one, item in value.items() if one != key or (subject is not None and written(item) != named)}
    _walk(rest, named, found, 0)
    return found


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
            if isinstance(element, Mapping):
                name = written(element.get(NAME))
                rest = {one: item for one, item in element.items() if one != NAME or not (name or item is None)}
                _walk(rest, name or f"{predicate} of {subject}", found, depth + 1)
            elif text := written(element):
                found.triples.append(Triple(subject, predicate, text))
            else:
                found.skipped += 1


def _elements(value: Any) -> Iterator[Any]:
    """The elements of a list, and of the lists in it; any other value itself."""
    if not isinstance(value, list | tuple):
        yield value
        return
    stack = [iter(value)]
    while stack:
        for element in stack[-1]:
            if isinstance(element, list | tuple):
                stack.append(iter(element))
                break
            yield element
        else:
            stack.pop()


def written(value: Any) -> str:
    """A scalar as JSON writes it, without outer blanks; blank for null, for what is not a number, and for objects."""
    if isinstance(value, bytes):
        raise BadAttributesError(MALFORMED_ATTRIBUTES, f"has bytes, {shown(value)}; write text")
    return (scalar(value) or "").strip()


def from_attributes(column: pa.Array, subjects: pa.Array | None = None, key: str = NAME) -> FactTable:
    """Parse a column of attributes.

    Args:
        column: structs, maps with strings as keys, or strings of JSON objects; nulls give ``no_triples``.
        subjects: the subject of each row; a null or blank one gives ``no_subject``.
        key: the attribute that names the subject, without ``subjects``.

    Returns rows with the errors ``no_triples``, ``no_subject``, ``malformed_attributes`` or ``invalid_utf8``.
    """
    rows: list[tuple[list[Triple] | None, bytes]] = []
    errors: dict[int, str] = {}
    skipped = 0
    for row, (raw, value, subject) in enumerate(_attribute_values(column, subjects)):
        try:
            if value is not None and subjects is not None and subject is None:
                raise BadAttributesError(NO_SUBJECT, "the column of subjects is null")
            found = read_attributes(value, subject, key)
            if not all(part.isascii() or is_utf8(part) for triple in found.triples for part in triple):
                raise BadAttributesError(INVALID_UTF8, "is not UTF-8")
        except BadAttributesError as error:
            errors[row] = error.kind
            rows.append((None, raw))
            continue
        skipped += found.skipped
        if not found.triples:
            errors[row] = NO_TRIPLES
        rows.append((found.triples or None, raw))
    result = assemble(rows)
    result.errors.update(errors)
    result.skipped = skipped
    return result


def _attribute_values(column: pa.Array, subjects: pa.Array | None) -> Iterator[tuple[bytes, Any, str | None]]:
    """Of each row the bytes that identify it if it does not parse, the value, and the subject.

    Bytes that are not UTF-8 become halves of surrogate pairs.
    """
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    names = subjects.cast(pa.large_binary()) if subjects is not None and is_text(subjects.type) else subjects
    plain = column.cast(_with_bytes(kind))
    for row in range(len(column)):
        value = _decoded(plain[row].as_py(maps_as_pydicts="strict") if _unique(plain, row) else "a key occurs twice")
        subject = written(_decoded(names[row].as_py())) or None if names is not None else None
        raw = value if isinstance(value, str) else repr(value)
        yield (
            sized(None if value is None else to_bytes(raw))
            + (sized(to_bytes(subject)) if subject is not None else b""),
            value,
            subject,
        )


def _unique(column: pa.Array, row: int) -> bool:
    """Whether the keys of a map are different; Arrow does not see to it."""
    if not types.is_map(column.type) or not column[row].is_valid:
        return True
    keys = [key.as_py() for key in column[row].values.field(0)]
    return len(set(keys)) == len(keys)


def _decoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, Mapping):
        return {_decoded(key): _decoded(item) for key, item in value.items()}
    return [_decoded(item) for item in value] if isinstance(value, list) else value


def _with_bytes(kind: pa.DataType) -> pa.DataType:
    """A type with bytes in place of strings, since strings are not validated when Parquet is read."""
    if types.is_struct(kind):
        return pa.struct([one.with_type(_with_bytes(one.type)) for one in kind])
    if types.is_map(kind):
        return pa.map_(_with_bytes(kind.key_type), _with_bytes(kind.item_type))
    if is_list(kind):
        return pa.large_list(_with_bytes(kind.value_type))
    if types.is_dictionary(kind):
        return _with_bytes(kind.value_type)
    return pa.large_binary() if is_text(kind) and not types.is_null(kind) else kind
