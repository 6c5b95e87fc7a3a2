"""Arguments of public functions: one of a wrong type is named at once, and not met as an error from inside."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any


def check_type(name: str, value: Any, kinds: type | tuple[type, ...], wanted: str) -> None:
    """Refuse an argument of another type. ``bool`` is no ``int`` here.

    Raises:
        TypeError: names the argument, what was given and what is wanted, in one line.
    """
    allowed = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(value, allowed) and not (isinstance(value, bool) and bool not in allowed):
        return
    raise TypeError(f"{name} is {described(value)}; give {wanted}")


def strings(name: str, value: Any, wanted: str) -> list[str]:
    """The items of an iterable of strings, which a string itself is not.

    Raises:
        TypeError: no iterable, a single string, or an item that is no string; names it.
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{name} is {described(value)}; give {wanted}")
    items = list(value)
    for position, item in enumerate(items):
        check_type(f"{name}[{position}]", item, str, "a string")
    return items


def described(value: Any) -> str:
    """A value and its type, on one short line."""
    shown = " ".join(reprlib.repr(value).split())
    return shown if value is None else f"{shown} ({type(value).__name__})"
