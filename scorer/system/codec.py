"""Files of ours as JSON: a :class:`msgspec.Struct` per kind of file.

- A file has an integer ``schema``. Another number than the struct's is a :class:`SchemaError`: such a file is intact.
- Anything else that does not decode is a :class:`DamagedFileError` that names the field by its path.
- Unknown keys are refused by a :class:`Record` and ignored by an :class:`OpenRecord`.
- Names and keys that are not UTF-8 (bytes of a path, which Python holds as lone surrogates) are percent-encoded.
- A number that is not finite is null.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from ..errors import DamagedFileError, SchemaError

_ESCAPE = re.compile(rb"%(?:25|[89A-F][0-9A-F])")
_LITERAL = re.compile(r"%(?=25|[89A-F][0-9A-F])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"%(25|[89A-F][0-9A-F])")

T = TypeVar("T")
Count = Annotated[int, msgspec.Meta(ge=0)]
"""A count: 0 or more."""
Magnitude = Annotated[float, msgspec.Meta(ge=0)]
"""A number that is 0 or more."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of stored structs: immutable, fields by keyword, unknown keys refused."""


class OpenRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Base of documents to which later versions add keys: unknown keys are ignored."""


class _Versioned(msgspec.Struct):
    schema: int | None = None


def program_version() -> str:
    """The version of this program, as files of ours have it."""
    from importlib import metadata

    try:
        return metadata.version("d2t-scorer")
    except metadata.PackageNotFoundError:  # a source tree on the path, never installed
        return "not installed"


def utc_now() -> str:
    """The time as files of ours have it: UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def encode(content: Any, *, indent: int | None = None, canonical: bool = False) -> bytes:
    """A struct, or anything of dicts, lists, strings, paths, numbers, booleans and ``None``, as JSON in UTF-8.

    Args:
        indent: blanks per level; one line for each field.
        canonical: sort the keys, so that equal content gives equal bytes.
    """
    order: Literal["sorted"] | None = "sorted" if canonical else None
    try:
        data = msgspec.json.encode(content, order=order, enc_hook=_as_text)
    except UnicodeEncodeError:
        data = b"%25"  # some string is not UTF-8: all strings are looked at
    if _ESCAPE.search(data):
        data = msgspec.json.encode(_each_string(msgspec.to_builtins(content, enc_hook=_as_text), _escaped), order=order)
    return data if indent is None else msgspec.json.format(data, indent=indent)


def _as_text(content: Any) -> str:
    if isinstance(content, Path):
        return str(content)
    raise TypeError(f"{type(content).__name__} has no form in JSON")


def seal(content: Any) -> bytes:
    """An object as :func:`encode` gives it, one line for each field, with the SHA-256 of all others as ``digest``."""
    data = encode(content, canonical=True)
    closing = b',"digest":"' + hashlib.sha256(data).hexdigest().encode("ascii") + b'"}'
    return msgspec.json.format(data[:-1] + closing, indent=1)


def unseal(data: bytes, kind: type[T], where: str, *, advice: str = "run `scorer run` again") -> T:
    """Decode the result of :func:`seal`, as :func:`decode` does. A wrong digest is damage too, so that a
    :class:`SchemaError` is raised for an intact file only."""
    try:
        content = msgspec.json.decode(data)
        digest = content.pop("digest", None) if isinstance(content, dict) else None
        unsealed = msgspec.json.encode(content, order="sorted")
    except (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError) as error:
        raise _damaged(where, reason_of(error), advice) from error
    if digest != hashlib.sha256(unsealed).hexdigest():
        raise _damaged(where, "its digest is not that of its content", advice)
    return decode(unsealed, kind, where, advice=advice)


def decode(
    data: bytes,
    kind: type[T],
    where: str,
    *,
    advice: str = "run `scorer run` again",
    other_version: str = "use the version that wrote it, or start with a new folder",
) -> T:
    """A value of a struct, or any other type that msgspec decodes to, from JSON.

    Args:
        where: the file, as messages name it.
        advice: how to fix damage.
        other_version: how to fix a file of another version.

    Raises:
        SchemaError: an object with another ``schema`` than the default of the struct's field of that name.
        DamagedFileError: not JSON, or a field is missing, unknown, or has another type.
    """
    fields, defaults = (reversed(getattr(kind, f"__struct_{name}__", ())) for name in ("fields", "defaults"))
    expected = dict(zip(fields, defaults, strict=False)).get("schema")
    try:
        if expected is not None:
            schema = msgspec.json.decode(data, type=_Versioned).schema
            if schema is not None and schema != expected:
                raise SchemaError(
                    f"{where} has schema {schema}, and this version of d2t-scorer reads schema {expected}; "
                    f"{other_version}"
                )
        if _ESCAPE.search(data):
            plain = _each_string(msgspec.json.decode(data), _unescaped)
            return msgspec.convert(plain, type=kind)
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _damaged(where, reason_of(error), advice) from error


def _damaged(where: str, reason: str, advice: str) -> DamagedFileError:
    return DamagedFileError(f"{where} is damaged: {reason}{f'; {advice}' if advice else ''}")


def reason_of(error: Exception) -> str:
    """``rows.in: Expected `int`, got `str``` from msgspec's ``Expected `int`, got `str` - at `$.rows.in```."""
    text, _, path = " ".join(str(error).split()).partition(" - at `$")
    return f"{path.rstrip('`').lstrip('.')}: {text}" if path.rstrip("`") else text


def _each_string(content: Any, change: Any) -> Any:
    """Content with ``change`` applied to each string and each key."""
    if isinstance(content, str):
        return change(content)
    if isinstance(content, dict):
        return {
            change(key) if isinstance(key, str) else key: _each_string(value, change) for key, value in content.items()
        }
    if isinstance(content, (list, tuple)):
        return [_each_string(value, change) for value in content]
    return content


def _escaped(text: str) -> str:
    """Each byte that is not UTF-8 as ``%FF``; a literal ``%FF`` as ``%25FF``, so that the way back is unique."""
    text = _LITERAL.sub("%25", text)
    return _SURROGATE.sub(lambda match: _percent(match[0]), text)


def _percent(surrogate: str) -> str:
    try:
        raw = surrogate.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair, which no path gives
        raw = surrogate.encode("utf-8", "surrogatepass")
    return "".join(f"%{byte:02X}" for byte in raw)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: "%" if match[1] == "25" else chr(0xDC00 + int(match[1], 16)), text)
