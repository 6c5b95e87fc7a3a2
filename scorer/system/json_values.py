"""Objects and lists of JSON in their parts, each part as it is written: numbers keep their digits.

msgspec reads them. Python's reader reads values that msgspec refuses: NaN, half of a surrogate pair, and bytes that are
not UTF-8, which it gets as halves of surrogate pairs.
"""

from __future__ import annotations

import json
import re

import msgspec

from .numbers import spell_number, unique_keys

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_READER = json.JSONDecoder(object_pairs_hook=list, parse_int=str, parse_float=str)
_BLANKS = re.compile(r"[ \t\r\n]*")
POSITION = re.compile(r"[0-9]{1,9}")
_MOST_STEPS = 8
_NO_VALUES = (b"null", b"NaN", b"Infinity", b"-Infinity")


def is_nested(raw: bytes) -> bool:
    """Whether a value is an object or a list."""
    return raw[:1] in (b"{", b"[")


def object_members(text: bytes) -> dict[str, bytes]:
    """The values of a JSON object by key. A :class:`ValueError` if it is no object, or has a key twice."""
    try:
        members = _OBJECT.decode(text)
        values = {key: bytes(raw) for key, raw in members.items()}
        # msgspec keeps the last of two equal keys. Each key has two quotes, so that a key that was dropped, or one that
        # has quotes itself, leaves quotes over.
        if text.count(b'"') == 2 * len(values) + sum(raw.count(b'"') for raw in values.values()):
            return values
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return _members_of_python(text.decode("utf-8", "surrogateescape"))


def list_items(text: bytes) -> list[bytes]:
    """The elements of a JSON list. A :class:`ValueError` if it is no list."""
    try:
        return [bytes(raw) for raw in _LIST.decode(text)]
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    line = _checked(text.decode("utf-8", "surrogateescape"), "[", "a list")
    items, at = [], _next(line, 1)
    while line[at] != "]":
        _, end = _READER.raw_decode(line, at)
        items.append(to_bytes(line[at:end]))
        at = _next(line, end)
    return items


def _members_of_python(line: str) -> dict[str, bytes]:
    line = _checked(line, "{", "an object")
    members, at = list[tuple[str, bytes]](), _next(line, 1)
    while line[at] != "}":
        key, end = _READER.raw_decode(line, at)
        at = _next(line, _next(line, end) + 1)  # behind the colon
        _, end = _READER.raw_decode(line, at)
        members.append((key, to_bytes(line[at:end])))
        at = _next(line, end)
    return unique_keys(members)


def _checked(text: str, bracket: str, expected: str) -> str:
    """A value of JSON without outer blanks, which Python's reader accepts; a :class:`ValueError` if it does not."""
    text = text.strip(" \t\r\n")
    try:
        _READER.decode(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not text.startswith(bracket):
        raise ValueError(f"it is not {expected}")
    return text


def _next(text: str, at: int) -> int:
    """The position of the next value, after blanks and a comma."""
    at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
    return _BLANKS.match(text, at + 1).end() if text[at] == "," else at  # type: ignore[union-attr]


def value_text(raw: bytes) -> bytes | None:
    """A value of JSON as a column of text holds it: strings without quotes, numbers as facts spell them, Booleans,
    objects and lists as they are written; ``None`` for null, NaN and infinities."""
    if raw[:1] == b'"':
        if b"\\" not in raw:
            return raw[1:-1]
        return to_bytes(json.loads(raw.decode("utf-8", "surrogateescape")))
    if is_nested(raw) or raw[:1] in (b"t", b"f"):
        return raw
    return None if raw in _NO_VALUES else spell_number(raw.decode()).encode()


def follow(raw: bytes, steps: tuple[str, ...]) -> bytes | None:
    """The value at a path of keys of objects and positions in lists, ``None`` if there is no such value. An object or a
    list on the path that cannot be read is returned itself."""
    value: bytes | None = raw.strip()
    for step in steps:
        if value is None:
            return None
        try:
            if value[:1] == b"{":
                value = object_members(value).get(step)
            elif value[:1] == b"[" and POSITION.fullmatch(step):
                value = next(iter(list_items(value)[int(step) :]), None)
            else:
                return None
        except ValueError:
            return value
    return value


def steps_below(raw: bytes) -> list[tuple[str, ...]]:
    """The steps from a value to its parts: the first keys of an object, through the first element of a list; empty for
    a single value, and for one that cannot be read."""
    try:
        if raw[:1] == b"{":
            return [(key,) for key in list(object_members(raw))[:_MOST_STEPS]]
        if raw[:1] == b"[" and (items := list_items(raw)):
            return [("0", *steps) for steps in steps_below(items[0])] or [("0",)]
    except ValueError:
        pass
    return []


def to_bytes(text: str) -> bytes:
    """A text of Python's reader as bytes; bytes that are not UTF-8 are restored."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character, which JSON can name
        return text.encode("utf-8", "surrogatepass")
