"""Single values of data as text, JSON with its numbers as they are written, and values on one line for messages."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

MOST_CHARACTERS = 120


def scalar(value: Any) -> str | None:
    """A string as it is, and a number, Boolean, date or time as JSON writes it.

    ``None`` for what is not a number, for null, bytes, lists, objects and whatever else is not a single value.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Integral | Decimal | timedelta):
        return str(value)
    if isinstance(value, Real):
        return repr(float(value)) if math.isfinite(value) else None
    return str(value.isoformat()) if hasattr(value, "isoformat") else None


def parse_json(text: str, constant: Callable[[str], Any] = str) -> Any:
    """JSON with numbers as strings, as they are written.

    Args:
        constant: what becomes of the names ``NaN``, ``Infinity`` and ``-Infinity``.

    Raises:
        ValueError: it is none, is nested too deeply, or has a key twice.
    """
    try:
        return json.loads(text, object_pairs_hook=unique_keys, parse_int=str, parse_float=str, parse_constant=constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, where Python's reader would keep the last of two values.

    Raises:
        ValueError: a key occurs twice.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        times = Counter(name for name, _ in pairs)
        raise ValueError(f"the key {next(name for name in times if times[name] > 1)!r} occurs twice")
    return found


def shown(value: Any) -> str:
    """A value on one line of bounded length."""
    text = repr(dict(value) if isinstance(value, Mapping) else value)
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."
