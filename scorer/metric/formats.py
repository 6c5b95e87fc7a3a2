"""The forms in which tables hold facts, parsed into a :class:`.FactTable`: one function a spelling.

A ``parse_…`` function reads the value of one row, a ``from_…`` function a column by it, each distinct value once.
Attributes are in :mod:`.attributes`. Nothing is guessed: what is in none of the forms gives its row an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ..system.arguments import described
from ..system.numbers import parse_json
from .facts import (
    INVALID_UTF8,
    MALFORMED,
    NAME,
    NO_TRIPLES,
    NULL,
    FactError,
    FactTable,
    Parsed,
    Selection,
    Triple,
    attempt,
    build_facts,
    check_utf8,
    counted,
    decode,
    encode,
    is_utf8,
    sized,
    to_bytes,
)
from .sentences import split_document
from .values import as_text, flatten, is_list, is_part, is_text, shown, spell, to_python

PARTS = {"subject": ("s",), "predicate": ("p", "property"), "object": ("o",)}
"""The parts of a triple, and other names for them."""
# Blanks are stripped in code: a pattern that also matched them would backtrack over every split of a long run of
# blanks.
_SLOT = re.compile(r"([^\[\],]+)\[([^\[\]]*)\](?:\s*,|\s*$)")
_ACT = re.compile(r"\??[A-Za-z_][\w ]*\((.*)\)", re.DOTALL)
"""A dialogue act around slots, as in ViGGO and RNNLG: ``inform(name[X], food[Y])``, ``inform(name='X';food=Y)``."""
_JSON = re.compile(r"\s*(\[\s*[\]\[{\"']|\{\s*[\"'}])")
"""The start of a JSON value, or of a list that Python printed (which is refused, not read as a subject)."""
_BETWEEN = re.compile(r"\s\+\+(?=\s)")
_POSITION = re.compile(r"[0-9]{1,9}")


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


def holds_sentences(kind: pa.DataType) -> bool:
    """Whether a column of a type may hold sentences, or documents."""
    return is_text(kind) or (is_list(kind) and is_text(kind.value_type))


# --- the value of one row ---


def part_names(names: Iterable[object]) -> tuple[str, str, str] | None:
    """The names of subject, predicate and object; ``None`` unless all three are there.

    A part is named by ``subject``, ``predicate`` or ``object`` itself, else in another case, else by ``s``, ``p`` (or
    ``property``, as in WebNLG) and ``o`` in any case. Two names of the same rank that differ only in case are none.
    """
    known = [name for name in names if isinstance(name, str)]
    found = []
    for part, others in PARTS.items():
        ranks = [[name for name in known if name.lower() == wanted] for wanted in (part, *others)]
        first = [part] if part in known else next(filter(None, ranks), [])
        if len(first) != 1:
            return None
        found.append(first[0])
    return found[0], found[1], found[2]


def triple_parts(element: Any) -> tuple[str, str, str]:
    """Subject, predicate and object of ``subject | predicate | object``, of an object, or of a list of three values:
    as text without outer blanks, which may be empty.

    If the parts of a string contain bars themselves, only bars between blanks separate parts.

    Raises:
        ValueError: it has others, or an integer of thousands of digits; says why, without a subject.
    """
    if isinstance(element, str):
        parts: list[Any] = element.split("|")
        if len(parts) != 3:
            parts = re.split(r"\s\|\s", element)
    elif isinstance(element, Mapping):
        names = part_names(element)
        if names is None:
            raise ValueError(f"has the keys {', '.join(map(str, element))} and not subject, predicate, object")
        parts = [element[name] for name in names]
    elif isinstance(element, list | tuple):
        parts = list(element)
    else:
        raise ValueError("is null" if element is None else f"is {described(element)}")
    if len(parts) != 3:
        number = "one part" if len(parts) == 1 else f"{len(parts)} parts"
        raise ValueError(f"has {number} and not three: {shown(element)}")
    texts: list[Any] = parts if isinstance(element, str) else [spell(part) for part in parts]
    for name, part, text in zip(PARTS, parts, texts, strict=True):
        if text is None:
            raise ValueError(f"has no {name}: {shown(element)}" if part is None else f"has {shown(part)} as its {name}")
    subject, predicate, value = texts
    return subject.strip(), predicate.strip(), value.strip()


def parse_triples(value: str | list[Any]) -> list[Triple]:
    """Read all triples of a row: a list of them, JSON, or ``subject | predicate | object ++ subject | ...``.

    JSON is an array of triples in the forms of :func:`triple_parts`, or one object. A blank string and ``[]`` have no
    triples.

    Raises:
        FactError: one is malformed, or not UTF-8, since JSON can name half a character.
    """
    elements: Any = value
    if isinstance(value, str):
        try:
            elements = parse_json(value) if _JSON.match(value) else _BETWEEN.split(value) if value.strip() else []
        except ValueError as error:
            raise FactError(MALFORMED, f"it is not JSON: {error}") from error
    found = []
    for number, element in enumerate([elements] if isinstance(elements, dict) else elements):
        try:
            found.append(_whole(element))
        except ValueError as error:
            raise FactError(MALFORMED, f"triple {number} {error}") from error
    return check_utf8(found)


def parse_triple(element: Any) -> Triple | None:
    """Read one triple in a form of :func:`triple_parts`; ``None`` unless it has three parts, none of them blank."""
    try:
        return _whole(element)
    except ValueError:
        return None


def _whole(element: Any) -> Triple:
    parts = triple_parts(element)
    if not all(parts):
        raise ValueError(f"has no {list(PARTS)[parts.index('')]}: {shown(element)}")
    return Triple(*parts)


def parse_sentences(value: str | list[Any]) -> list[Triple]:
    """Read all facts of a row from a list of sentences, or from a string of such a list in JSON.

    Raises:
        FactError: it is none, or not UTF-8.
    """
    found: Any = value
    if isinstance(value, str):
        try:
            found = json.loads(value) if value.strip() else []
        except (ValueError, RecursionError) as error:
            raise FactError(MALFORMED, f"it is not JSON: {error}") from error
    if not isinstance(found, list):
        raise FactError(MALFORMED, "it is not a list")
    for number, fact in enumerate(found):
        if not isinstance(fact, str) or not fact.strip():
            raise FactError(MALFORMED, f"fact {number} is {shown(fact)}, not a sentence")
    return check_utf8([Triple("", fact.strip(), "") for fact in found])


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


# --- columns ---


def from_lists(
    column: pa.Array,
    parse_row: Callable[[str], list[Triple]] = parse_triples,
    parse_element: Callable[[str], Triple | None] = parse_triple,
) -> FactTable:
    """Parse a column of triples in any of the forms that :func:`holds_triples` takes.

    A null list is ``no_triples``, a null or blank part ``malformed_triples``.

    Args:
        parse_row: reads the value of a column of strings.
        parse_element: reads a string of a column of lists.
    """
    if types.is_null(column.type):  # the type that writers give a column of nothing but nulls
        column = column.cast(pa.list_(pa.string()))
    if is_text(column.type):
        return _from_texts(column, parse_row)
    lengths, flat = flatten(column)
    if types.is_struct(flat.type):
        codes, elements = _distinct_structs(flat)
    elif not (is_list(flat.type) or types.is_map(flat.type)):
        codes, values = encode(flat)
        elements = _texts(values, np.arange(len(values) + 1))[np.newaxis]
    else:
        rows = to_python(column)
        codes = np.array([-1 if row is None else number for number, row in enumerate(rows)], np.int64)
        parsed = [attempt(parse_triples, row or []) for row in rows]
        return build_facts(codes, parsed, [_raw_list(row) for row in rows])
    result = _build_rows(lengths, codes, elements, parse_element)
    for row in np.flatnonzero(pc.is_null(column).to_numpy(zero_copy_only=False)).tolist() if column.null_count else ():
        result.errors[row], result.raw[row] = NO_TRIPLES, NULL
    return result


def from_sentences(column: pa.Array) -> FactTable:
    """Parse a column of lists of strings, or of strings of JSON lists, a fact in each; as :func:`from_lists`."""

    def parse(text: str) -> Triple | None:
        return Triple("", text.strip(), "") if text.strip() else None

    return replace(from_lists(column, parse_sentences, parse), sentences=True)


def from_mr(column: pa.Array) -> FactTable:
    """Parse a column of E2E meaning representations (string-like, nulls allowed)."""
    return _from_texts(column, read_mr)


def read_mr(text: str) -> list[Triple]:
    """As :func:`parse_mr`, but raises :class:`.FactError`."""
    found = parse_mr(text)
    if found is None:
        raise FactError(MALFORMED, "it is not a list of slots with exactly one name")
    return found


def from_documents(column: pa.Array) -> FactTable:
    """Parse a column of strings, or of lists of strings in any layout: the sentences are the facts.

    A string of a JSON list of strings and nulls is a list too, since CSV and JSON Lines have no other. Null passages
    are left out; a document without a sentence gives the error ``no_triples``.
    """
    documents = [_passages(value) for value in to_python(column)]
    sentences: dict[str, list[Triple]] = {}
    parsed: list[Parsed] = []
    for document in documents:
        passages = [passage for passage in document if passage is not None]
        if not all(passage.isascii() or is_utf8(passage) for passage in passages):
            parsed.append(INVALID_UTF8)
            continue
        for passage in passages:
            if passage not in sentences:
                sentences[passage] = [Triple("", one, "") for one in split_document(passage)]
        parsed.append([fact for passage in passages for fact in sentences[passage]] or NO_TRIPLES)
    codes = np.where(column.is_valid().to_numpy(zero_copy_only=False), np.arange(len(column)), -1)
    return replace(build_facts(codes, parsed, [_raw_list(held) for held in documents]), sentences=True)


def _passages(value: str | list[str | None] | None) -> list[str | None]:
    """The passages of a document: those of a list, or of a JSON list of strings and nulls; any other text is one."""
    if not isinstance(value, str):
        return value or []
    try:
        found = json.loads(value) if value.lstrip()[:1] == "[" and value.rstrip()[-1:] == "]" else None
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and all(isinstance(one, str | None) for one in found):
        return found
    return [value]


def _raw_list(values: Sequence[Any] | None) -> bytes:
    """The bytes that identify a list of :func:`.values.to_python`."""
    parts = [value if value is None or isinstance(value, str) else repr(value) for value in values or ()]
    return counted(len(parts)) + b"".join(sized(None if part is None else _raw(part)) for part in parts)


def _raw(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair that JSON names
        return to_bytes(text)


def _from_texts(column: pa.Array, parse: Callable[[str], list[Triple]]) -> FactTable:
    codes, values = encode(column)
    texts = [decode(value) for value in values]
    parsed = [INVALID_UTF8 if text is None else attempt(parse, text) for text in texts]
    return build_facts(codes, parsed, [sized(value) for value in values])


def part_columns(structs: pa.Array) -> dict[str, pa.Array]:
    """The columns of those parts of triples that an array of structs has, as text; a null struct has null parts.

    A file may have been read in part, so a part may be missing.
    """
    names = [structs.type.field(i).name for i in range(structs.type.num_fields)]
    children = structs.flatten()  # unlike field(), it hands a null struct's nulls down
    found = part_names(names)
    pairs = zip(PARTS, found, strict=True) if found else ((part, part) for part in PARTS if part in names)
    return {part: as_text(children[names.index(name)]) for part, name in pairs}


_Texts = npt.NDArray[np.object_]
"""Parts of an element by column: text, bytes that are not UTF-8, or ``None``. *Shape:* (columns, elements)."""


def _distinct_structs(flat: pa.Array) -> tuple[npt.NDArray[np.int64], _Texts]:
    """Codes of triples, int64, *Shape:* (elements,), and the parts of each distinct one."""
    columns = part_columns(flat)
    codes, values = zip(*(encode(columns[part]) for part in PARTS), strict=True)
    # Pair codes step by step, each time squeezed back below the number of elements, so that 64 bits suffice.
    mixed = codes[0] + 1
    for code in codes[1:]:
        mixed = mixed * (int(code.max(initial=-1)) + 2) + code + 1
        _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
        mixed = inverse.reshape(-1)
    return mixed, np.stack([_texts(of, part[first]) for of, part in zip(values, codes, strict=True)])


def _texts(values: list[bytes], codes: npt.NDArray[np.int64]) -> _Texts:
    known = np.empty(len(values) + 1, object)  # the last one, where code -1 points, is None
    known[:-1] = [value if (text := decode(value)) is None else text for value in values]
    return np.asarray(known[codes], object)


def _build_rows(
    lengths: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int64],
    elements: _Texts,
    parse: Callable[[str], Triple | None],
) -> FactTable:
    """The facts of rows of elements; a row with a bad element has none.

    Args:
        lengths: int64, *Shape:* (rows,), elements of each row.
        codes: int64, *Shape:* (all elements of the rows,), positions in ``elements``.
        parse: reads elements of a single text; others have the parts of a triple.
    """
    parsed: list[Triple | str] = []  # of each distinct element, or its error
    for parts in zip(*elements.tolist(), strict=True):
        stripped = [part.strip() for part in parts if isinstance(part, str)]
        if len(stripped) < len(parts):
            parsed.append(MALFORMED if None in parts else INVALID_UTF8)
        elif len(parts) == 1:
            parsed.append(parse(parts[0]) or MALFORMED)
        else:
            parsed.append(Triple(*stripped) if all(stripped) else MALFORMED)
    interner: dict[Triple, int] = {}
    known = [-1 if isinstance(one, str) else interner.setdefault(one, len(interner)) for one in parsed]
    numbers = np.array(known, np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = numbers[codes]
    table = FactTable(list(interner), offsets, ids.astype(np.int32))
    bad = np.flatnonzero(ids < 0)
    for element, row in zip(bad.tolist(), (np.searchsorted(offsets, bad, side="right") - 1).tolist(), strict=True):
        error = str(parsed[int(codes[element])])
        if row not in table.errors:
            held = elements[:, codes[offsets[row] : offsets[row + 1]]].T.ravel().tolist()
            raw = (part.encode() if isinstance(part, str) else part for part in held)
            table.raw[row] = counted(int(lengths[row])) + b"".join(map(sized, raw))
            table.errors[row] = error
        elif error == INVALID_UTF8:
            table.errors[row] = error
    kept = lengths.copy()
    kept[list(table.errors)] = 0
    table.ids = table.ids[np.repeat(kept > 0, lengths)]
    table.offsets = np.concatenate([[0], np.cumsum(kept)])
    return table


def parse_selection(value: Any) -> Selection:
    """Read the positions of facts that a row selects: a list of whole numbers of any type, or a string of JSON."""
    found = value
    if isinstance(value, str):
        try:
            found = parse_json(value) if value.strip() else None  # an empty cell of CSV
        except ValueError:
            return value
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(one, str) and _POSITION.fullmatch(one) for one in found):
        return str(value)
    return [int(one) for one in found]
