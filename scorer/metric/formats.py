"""The forms in which tables hold triples, sentences and documents, parsed into a :class:`.FactTable`.

Triples: ``list<struct<subject, predicate, object>>``, lists of three values, maps, strings with bars, JSON. E2E meaning
representations: ``name[...], food[...]``. Sentences, and documents whose sentences are the facts. Single values are
spelled by :mod:`.values` in all of them. Nothing is guessed: what is in none of the forms gives its row an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from .facts import (
    INVALID_UTF8,
    MALFORMED,
    NAME,
    NO_TRIPLES,
    NULL,
    FactTable,
    Parsed,
    Selection,
    Triple,
    build_facts,
    counted,
    decode,
    encode,
    is_utf8,
    sized,
    to_bytes,
)
from .sentences import split_document
from .values import (
    as_text,
    is_list,
    is_part,
    is_text,
    list_values,
    parse_json,
    spell_or_none,
    to_python,
    to_texts,
)

PARTS = ("subject", "predicate", "object")
_OTHER_NAMES = {"subject": ("s",), "predicate": ("p", "property"), "object": ("o",)}
# Blanks are stripped in code: a pattern that also matched them would backtrack over every split of a long run of
# blanks.
_SLOT = re.compile(r"([^\[\],]+)\[([^\[\]]*)\](?:\s*,|\s*$)")
_ACT = re.compile(r"\??[A-Za-z_][\w ]*\((.*)\)", re.DOTALL)
"""A dialogue act around slots, as in ViGGO and RNNLG: ``inform(name[X], food[Y])``, ``inform(name='X';food=Y)``."""
_JSON = re.compile(r"\s*(\[\s*[\]\[{\"']|\{\s*[\"'}])")
"""The start of a JSON value, or of a list that Python printed (which is refused, not read as a subject)."""
_BETWEEN = re.compile(r"\s\+\+(?=\s)")
_POSITION = re.compile(r"[0-9]{1,9}")
# Valid elements of lists are interned to ids >= 0; these two mark the others.
_BAD, _BAD_UTF8 = -1, -2
# Distinct triples, int64 ids of the elements in order, and where one is bad the bytes of every element.
_Interned = tuple[list[Triple], npt.NDArray[np.int64], list[bytes] | None]


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


def holds_documents(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold documents."""
    return is_text(kind) or (is_list(kind) and is_text(kind.value_type))


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
    written = [spell_or_none(value) for value in values]
    return [value for value in written if value is not None] if None not in written and len(written) == 3 else None


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


def _from_texts(column: pa.Array, parse: Callable[[str], Parsed]) -> FactTable:
    codes, values = encode(column)
    texts = [decode(value) for value in values]
    parsed = [INVALID_UTF8 if text is None else parse(text) for text in texts]
    return build_facts(codes, parsed, [sized(value) for value in values])


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
    starts, ends, values = list_values(flat)
    children = [to_texts(child) for child in values]
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


def part_columns(structs: pa.Array) -> dict[str, pa.Array]:
    """The columns of those parts of triples that an array of structs has, as text; a null struct has null parts.

    A file may have been read in part, so a part may be missing.
    """
    names = [structs.type.field(i).name for i in range(structs.type.num_fields)]
    children = structs.flatten()  # unlike field(), it hands a null struct's nulls down
    found = part_names(names)
    pairs = zip(PARTS, found, strict=True) if found else ((part, part) for part in PARTS if part in names)
    return {part: as_text(children[names.index(name)]) for part, name in pairs}


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


def from_documents(column: pa.Array) -> FactTable:
    """Parse a column of strings, or of lists of strings in any layout: the sentences are the facts.

    A string of a JSON list of strings and nulls is a list too, since CSV and JSON Lines have no other. Null passages
    are left out; a document without a sentence gives the error ``no_triples``.
    """
    if is_text(column.type):
        codes, values = encode(column)
        documents = [[value] if (found := _passages(value)) is None else found for value in values]
    else:
        starts, ends, (values,) = list_values(column)
        passages = to_texts(values)
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
    return replace(build_facts(codes, parsed, raws), sentences=True)


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
