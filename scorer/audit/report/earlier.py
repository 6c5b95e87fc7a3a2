"""Documents of earlier versions: what they lack is filled in where its type allows that there is nothing.

Keys are added to a document under one number of its schema (:mod:`..document`), so a document of an earlier version
lacks some. A key whose type has null, or is a list, has a value for "nothing".
"""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from ... import __version__
from ...errors import UsageError
from ...system.formats import AUDIT_SCHEMA
from ..document import Document


def completed(document: Document) -> Document:
    """The document with the keys that it lacks and that can be filled in; the one given is not changed.

    Raises:
        UsageError: it has another schema, is no audit, or lacks a key that every audit has.
    """
    schema = document.get("schema")
    if schema != AUDIT_SCHEMA:
        raise UsageError(
            f"the document has schema {schema!r}, and this version ({__version__}) shows schema {AUDIT_SCHEMA}; give "
            "what scorer.audit.audit or `audit --json` made, or use the version that made it"
        )
    found = cast(Document, _filled(document, Document))
    if missing := sorted(Document.__required_keys__ - found.keys()):
        raise lacking(document, missing[0])
    return found


def lacking(document: Document, key: str) -> UsageError:
    """The error of a document that lacks a key for which there is no other value."""
    versions = document.get("versions")
    scored = versions.get("d2t-scorer") if isinstance(versions, dict) else None
    whose = f" Its run was scored with version {scored}; this is {__version__}." if scored else ""
    return UsageError(
        f"the document has no {key!r}; give what scorer.audit.audit or `audit --json` made.{whose} If another version "
        "made it, audit the output again, or use that version"
    )


def _filled(value: Any, kind: Any) -> Any:
    """A value with the keys of its type that can be filled in."""
    origin, arguments = get_origin(kind), get_args(kind)
    if is_typeddict(kind) and isinstance(value, dict):
        keys = _keys(kind)
        absent: dict[str, Any] = {
            key: [] if get_origin(inner) is list else None for key, inner in keys.items() if _may_lack(inner)
        }
        return {**absent, **{key: _filled(one, keys.get(key)) for key, one in value.items()}}
    if origin is list and isinstance(value, list):
        return [_filled(one, arguments[0]) for one in value]
    if origin is dict and isinstance(value, dict):
        return {key: _filled(one, arguments[1]) for key, one in value.items()}
    if origin in (Union, UnionType) and value is not None:
        others = [one for one in arguments if one is not NoneType]
        return _filled(value, others[0]) if len(others) == 1 else value
    return value


def _may_lack(kind: Any) -> bool:
    """Whether a value of a type may say that there is nothing."""
    return get_origin(kind) is list or (get_origin(kind) in (Union, UnionType) and NoneType in get_args(kind))


@cache
def _keys(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
