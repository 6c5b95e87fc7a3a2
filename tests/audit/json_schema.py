"""The part of JSON Schema (2020-12) that the schemas of OpenLineage use; an unknown keyword is an error of the test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
}  # fmt: skip
FORMATS: dict[str, Any] = {
    "uuid": uuid.UUID,
    "date-time": lambda value: datetime.fromisoformat(value).utcoffset() or datetime.fromisoformat(value).tzinfo.utc,
    "uri": lambda value: urlsplit(value).scheme or 1 / 0,
}
SILENT = {"description", "example", "$schema", "$id", "$defs", "title"}


def errors(value: Any, schema: Any, base: str, known: Mapping[str, Any], at: str = "$") -> Iterator[str]:
    """What is wrong with a value. ``known``: schemas by their ``$id``; ``base``: the one that ``schema`` is of."""
    if isinstance(schema, bool):
        if not schema:
            yield f"{at}: not allowed"
        return
    for key, wanted in schema.items():
        if key == "$ref":
            where, _, path = wanted.partition("#")
            found: Any = known[where or base]
            for part in path.split("/")[1:]:
                found = found[part]
            yield from errors(value, found, where or base, known, at)
        elif key == "type":
            right = isinstance(value, TYPES[wanted])
            if not right or (isinstance(value, bool) and wanted != "boolean"):
                yield f"{at}: {value!r} is no {wanted}"
        elif key == "enum":
            if value not in wanted:
                yield f"{at}: {value!r} is none of {wanted}"
        elif key == "required":
            if isinstance(value, dict):
                yield from (f"{at}: no {name}" for name in wanted if name not in value)
        elif key == "properties":
            for name, inner in wanted.items() if isinstance(value, dict) else ():
                if name in value:
                    yield from errors(value[name], inner, base, known, f"{at}.{name}")
        elif key == "additionalProperties":
            for name in (value.keys() - schema.get("properties", {}).keys()) if isinstance(value, dict) else ():
                yield from errors(value[name], wanted, base, known, f"{at}.{name}")
        elif key == "items":
            for i, item in enumerate(value) if isinstance(value, list) else ():
                yield from errors(item, wanted, base, known, f"{at}[{i}]")
        elif key == "allOf":
            for inner in wanted:
                yield from errors(value, inner, base, known, at)
        elif key == "anyOf":
            tried = [list(errors(value, inner, base, known, at)) for inner in wanted]
            if all(tried):
                yield from tried[0]
        elif key == "not":
            if not list(errors(value, wanted, base, known, at)):
                yield f"{at}: has what it must not have"
        elif key == "format":
            try:
                FORMATS[wanted](value)
            except (ValueError, AttributeError, ZeroDivisionError):
                yield f"{at}: {value!r} is no {wanted}"
        elif key not in SILENT:
            raise AssertionError(f"the keyword {key} is not known here")
