"""The forms in which tables hold facts, parsed into a :class:`.FactTable`: one function a spelling.

A ``parse_…`` function reads one value, and raises :class:`.FactError`; a ``from_…`` function reads a column by it, each
distinct value once. Attributes are in :mod:`.attributes`. Nothing is guessed: any other value is an error.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from ..system.arguments import described
from ..system.json_values import POSITION
from ..system.numbers import no_value, parse_json
from .facts import (
    INVALID_UTF8,
    MALFORMED,
    NAME,
    FactError,
    FactTable,
    Selection,
    Triple,
    attempt,
    build_facts,
    check_utf8,
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
_ESCAPED = r"\\(?:['\"\\nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U000[0-9a-f]{5}|U0010[0-9a-f]{4})"
_PYTHON_ITEM = rf"'(?:[^'\\\x00-\x1f]|{_ESCAPED})*+'|\"(?:[^\"\\\x00-\x1f]|{_ESCAPED})*+\"|None|nan"
_PYTHON_LIST = re.compile(rf"\s*\[\s*(?:(?:{_PYTHON_ITEM})\s*(?:,\s*|(?=\])))*+\]\s*")
"""A list of texts as Python prints it, and as pandas writes it into CSV."""
_PRINTED = re.compile(r"\s*[\[({]{1,3}'")
"""The start of a value that Python printed: a list, a tuple, a dictionary, an array of numpy."""
_QUOTED = re.compile(r"\s*[\[{]\s*['\"]")
"""The start of a list or an object in JSON or in Python, which no text has."""


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


# --- one value ---


def part_names(names: Iterable[object]) -> tuple[str, str, str] | None:
    """The names of subject, predicate and object; ``None`` unless each part has exactly one name.

    The name of a part is the first of these that occurs:

    - ``subject``, ``predicate`` or ``object`` itself
    - the same in another case
    - ``s``, ``p`` (or ``property``, as in WebNLG) and ``o`` in any case

    Two names of the same rank that differ only in case are ambiguous: the part has no name.
    """
    texts = [name for name in names if isinstance(name, str)]
    chosen_names = []
    for part, aliases in PARTS.items():
        ranks = [[name for name in texts if name.lower() == alias] for alias in (part, *aliases)]
        best = [part] if part in texts else next(filter(None, ranks), [])
        if len(best) != 1:
            return None
        chosen_names.append(best[0])
    return chosen_names[0], chosen_names[1], chosen_names[2]


def triple_parts(element: Any) -> tuple[str, str, str]:
    """Subject, predicate and object of ``subject | predicate | object``, of an object, or of a list of three values:
    as text without outer blanks, which may be empty.

    If the parts of a string contain bars themselves, only bars between blanks separate parts.

    Raises:
        FactError: it has other parts; the message is a predicate without a subject.
        ValueError: an integer of thousands of digits.
    """
    if isinstance(element, str):
        parts: list[Any] = element.split("|")
        if len(parts) != 3:
            parts = re.split(r"\s\|\s", element)
    elif isinstance(element, Mapping):
        names = part_names(element)
        if names is None:
            keys = ", ".join(map(str, element))
            raise FactError(MALFORMED, f"has the keys {keys} and not subject, predicate, object")
        parts = [element[name] for name in names]
    elif isinstance(element, list | tuple):
        parts = list(element)
    else:
        raise FactError(MALFORMED, "is null" if element is None else f"is {described(element)}")
    if len(parts) != 3:
        number = "one part" if len(parts) == 1 else f"{len(parts)} parts"
        raise FactError(MALFORMED, f"has {number} and not three: {shown(element)}")
    subject, predicate, value = (part if isinstance(part, str) else spell(part) for part in parts)
    if subject is None or predicate is None or value is None:
        missing = (subject, predicate, value).index(None)
        name, part = list(PARTS)[missing], parts[missing]
        problem = f"no {name}: {shown(element)}" if part is None else f"{shown(part)} as its {name}"
        raise FactError(MALFORMED, f"has {problem}")
    return subject.strip(), predicate.strip(), value.strip()


def parse_triple(element: Any) -> list[Triple]:
    """Read one triple in a form of :func:`triple_parts`, of three parts that are not blank."""
    parts = triple_parts(element)
    if not is_utf8("".join(parts)):
        raise FactError(INVALID_UTF8, "is not UTF-8")
    if "" in parts:
        raise FactError(MALFORMED, f"has no {list(PARTS)[parts.index('')]}: {shown(element)}")
    return [Triple(*parts)]


def parse_sentence(element: Any) -> list[Triple]:
    """Read one fact that is a sentence."""
    if not isinstance(element, str) or not element.strip():
        raise FactError(MALFORMED, f"is {shown(element)}, not a sentence")
    return check_utf8([Triple("", element.strip(), "")])


def parse_triples(value: str) -> list[Triple]:
    """Read all triples of a row: ``subject | predicate | object ++ subject | ...``, or JSON: a list of triples in the
    forms of :func:`triple_parts`, or one object. A blank string and ``[]`` have no triples."""
    elements = _from_json(value, parse_json) if _JSON.match(value) else _BETWEEN.split(value) if value.strip() else []
    return parse_each([elements] if isinstance(elements, dict) else elements, parse_triple, "triple")


def parse_sentences(value: str) -> list[Triple]:
    """Read all facts of a row from a list of sentences, in JSON or as Python prints it. A blank string has none."""
    elements = _from_json(value, _parse_texts) if value.strip() else []
    if not isinstance(elements, list):
        raise FactError(MALFORMED, "it is not a list")
    return parse_each(elements, parse_sentence, "fact")


def _parse_texts(value: str) -> Any:
    """JSON, or a list of texts as Python prints it. Numbers stay numbers, since they are no texts."""
    try:
        return json.loads(value, parse_constant=no_value)
    except ValueError:
        if _PYTHON_LIST.fullmatch(value) is None:
            raise
    return [literal_eval(item[0]) if item[0] != "nan" else None for item in re.finditer(_PYTHON_ITEM, value)]


def _from_json(value: str, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(value)
    except (ValueError, RecursionError) as error:
        hint = "; Python prints such values, json.dumps writes JSON" if _PRINTED.match(value) else ""
        raise FactError(MALFORMED, f"it is not JSON: {error}{hint}") from error


def parse_each(elements: Iterable[Any], parse: Callable[[Any], list[Triple]], noun: str) -> list[Triple]:
    """The facts of all elements; an error has the number of its element."""
    facts: list[Triple] = []
    for number, element in enumerate(elements):
        try:
            facts += parse(element)
        except FactError as error:
            raise FactError(error.kind, f"{noun} {number} {error}") from error
    return facts


def parse_mr(text: str) -> list[Triple]:
    """Read an E2E meaning representation, also inside a dialogue act, with exactly one name. A name without other slots
    gives no triples."""
    act = _ACT.fullmatch(text.strip())
    slots = _slots(act[1] if act is not None else text)
    if act is not None and slots is None:
        slots = _assignments(act[1])
    names = [value for slot, value in slots or () if slot == NAME]
    if slots is None or len(names) != 1 or not all(slot and value for slot, value in slots):
        raise FactError(MALFORMED, "not a meaning representation like name[...], food[...], with exactly one name")
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


def parse_selection(value: Any) -> Selection:
    """Read the positions of facts that a row selects: a list of whole numbers of any type, or a string of JSON."""
    positions = value
    if isinstance(value, str):
        try:
            positions = parse_json(value) if value.strip() else None  # an empty cell of CSV
        except ValueError:
            return value
    if positions is None:
        return None if value is None or value.strip() in ("", "null") else str(value)
    if not isinstance(positions, list):
        return str(value)
    if not all(isinstance(position, str) and POSITION.fullmatch(position) for position in positions):
        return str(value)
    return [int(position) for position in positions]


# --- columns ---


def from_lists(
    column: pa.Array,
    parse_row: Callable[[str], list[Triple]] = parse_triples,
    parse_element: Callable[[Any], list[Triple]] = parse_triple,
) -> FactTable:
    """Parse a column of lists, or of strings of lists: triples in any of the forms that :func:`holds_triples` takes."""
    if types.is_null(column.type):  # the type that writers give a column of nothing but nulls
        column = column.cast(pa.list_(pa.string()))
    if is_text(column.type):
        codes, values = _distinct(column)
        return build_facts(codes, [attempt(parse_row, value) for value in values], lambda code: _raw(values[code]))
    lengths, flat = flatten(column)
    codes, elements = _distinct(flat)
    if (codes < 0).any():
        codes[codes < 0] = len(elements)
        elements.append(None)
    lengths[pc.is_null(column).to_numpy(zero_copy_only=False)] = -1
    parsed = [attempt(parse_element, element) for element in elements]
    return build_facts(codes, parsed, lambda code: _raw(elements[code]), lengths)


def from_sentences(column: pa.Array) -> FactTable:
    """Parse a column of lists of strings, or of strings of JSON lists, a fact in each; as :func:`from_lists`."""
    return replace(from_lists(column, parse_sentences, parse_sentence), sentences=True)


def from_mr(column: pa.Array) -> FactTable:
    """Parse a column of E2E meaning representations (string-like, nulls allowed)."""
    return from_lists(column, parse_mr)


def from_documents(column: pa.Array) -> FactTable:
    """Parse a column of source texts, or of lists of passages, without null passages: the sentences are the facts."""
    return replace(from_lists(column, _parse_document, _parse_passage), sentences=True)


def _parse_document(document: str) -> list[Triple]:
    """The facts of a document. A list of texts and nulls, in JSON or as Python prints it, is a list of passages, since
    CSV has no lists. Any other list or object is refused: its brackets and quotes are no source text."""
    passages: Any = [document]
    is_list = _QUOTED.match(document) is not None
    if is_list or document.lstrip()[:1] + document.rstrip()[-1:] in ("[]", "{}"):
        try:
            passages = _from_json(document, _parse_texts)
        except FactError:  # it may be a text in brackets
            if is_list:
                raise
    if not isinstance(passages, list) or not all(isinstance(passage, str | None) for passage in passages):
        raise FactError(MALFORMED, f"it is neither a text nor a list of texts: {shown(document)}")
    return [fact for passage in passages for fact in _parse_passage(passage)]


def _parse_passage(passage: str | None) -> list[Triple]:
    return check_utf8([Triple("", sentence, "") for sentence in split_document(passage or "")])


def _raw(value: Any) -> bytes:
    """The bytes that identify a value of :func:`.values.to_python`, or the parts of a struct."""
    if value is None or isinstance(value, tuple):
        return sized(None) if value is None else b"".join(map(_raw, value))
    text = value if isinstance(value, str) else repr(value)
    try:
        return sized(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:  # half of a surrogate pair that JSON names
        return sized(to_bytes(text))


def part_columns(structs: pa.Array) -> dict[str, pa.Array]:
    """The parts of triples in an array of structs, a column each, as text; a null struct has null parts.

    A file may have been read in part, so a part may be missing.
    """
    names = [structs.type.field(i).name for i in range(structs.type.num_fields)]
    children = structs.flatten()  # unlike field(), it hands a null struct's nulls down
    field_names = part_names(names)
    pairs = zip(PARTS, field_names, strict=True) if field_names else ((part, part) for part in PARTS if part in names)
    return {part: as_text(children[names.index(name)]) for part, name in pairs}


def _distinct(column: pa.Array) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Codes of values, int64, *Shape:* (values,), -1 for null; and the distinct values: texts, in which bytes that are
    not UTF-8 are halves of surrogate pairs, the three parts of structs, or objects and lists."""
    if types.is_struct(column.type):
        columns = part_columns(column)
        codes, parts = zip(*(_distinct(columns[part]) for part in PARTS), strict=True)
        # Pair codes step by step, each time squeezed back below the number of elements, so that 64 bits suffice.
        mixed = codes[0] + 1
        for code in codes[1:]:
            mixed = mixed * (int(code.max(initial=-1)) + 2) + code + 1
            _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
            mixed = inverse.reshape(-1)
        texts = []
        for part_values, code in zip(parts, codes, strict=True):
            part_values.append(None)  # where code -1 points
            texts.append([part_values[i] for i in code[first].tolist()])
        return mixed, list(zip(*texts, strict=True))
    if is_list(column.type) or types.is_map(column.type):
        return np.arange(len(column)), to_python(column)
    codes, values = encode(column)
    return codes, [value.decode("utf-8", "surrogateescape") for value in values]
