"""Data on a terminal: characters that control a terminal, or are invisible, are shown as their code points.

A text, a column name or a file name may contain a sequence that sets the terminal's title, clears the screen, or
changes the direction of the text after it. Such a character is shown as ``<U+001B>``. JSON and Parquet keep it.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import PurePath
from typing import Any, TypeVar

T = TypeVar("T")

HIDDEN = (
    "\x00-\x1f\x7f-\x9f"  # C0 with newline and tab, DEL, C1
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # direction, line and paragraph separators
    "\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb"  # no width, and no part of any script; joiners stay
    "\ud800-\udfff"  # half a character: in names of files that are not UTF-8, and in JSON
)
"""The characters that are shown as code points, as ranges of a set in a regular expression."""

_HIDDEN = re.compile(f"[{HIDDEN}]")
_HIDDEN_IN_LINES = re.compile(f"(?!\n)[{HIDDEN}]")


def visible(text: str, *, lines: bool = False) -> str:
    """A text in which each hidden character is replaced by its code point; with ``lines``, newlines are kept."""
    return (_HIDDEN_IN_LINES if lines else _HIDDEN).sub(lambda match: f"<U+{ord(match[0]):04X}>", text)


def all_visible(value: T) -> T:
    """The same value with every string in it :func:`visible`: keys, items and fields too."""
    result: T = _all_visible(value)
    return result


def json_visible(text: str) -> str:
    """A JSON text with hidden characters as JSON escapes: it is safe to show and has the same meaning."""
    return _HIDDEN_IN_LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _all_visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, PurePath):
        return type(value)(visible(str(value)))
    if isinstance(value, dict):
        return {_all_visible(key): _all_visible(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(_all_visible(inner) for inner in value)
    if hasattr(value, "__struct_fields__"):
        from msgspec.structs import replace  # whoever has a struct has loaded it

        return replace(value, **{name: _all_visible(getattr(value, name)) for name in value.__struct_fields__})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {field.name: _all_visible(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **named)
    return value
