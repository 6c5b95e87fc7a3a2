"""Check the fields of settings against their annotations: a wrong type is reported at once, in one line.

Otherwise a wrong value fails much later, as an ``AttributeError``, or never: a string in place of a list of strings
is taken as a list of characters, and a dictionary as the list of its keys.
"""

from __future__ import annotations

import functools
import numbers
import reprlib
import types
import typing
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from ..errors import UsageError

_UNIONS = (Union, types.UnionType)
_NUMBERS: dict[Any, type] = {int: numbers.Integral, float: numbers.Real}


def check_fields(instance: Any) -> None:
    """Check the fields of a data class against its annotations; for its ``__post_init__``.

    Raises:
        TypeError: names the field, what was given and what is wanted.
        UsageError: a string that is none of the choices of a ``Literal``.
    """
    kind: Any = type(instance)
    for name, hint in _hints(kind).items():
        _check(name, getattr(instance, name), hint)


def strings(name: str, value: Any) -> list[str]:
    """The items of an iterable of strings; a single string is refused.

    Raises:
        TypeError: not an iterable, a single string, or an item that is not a string; names it.
    """
    _check(name, value, Iterable[str])
    items = list(value)
    for position, item in enumerate(items):
        _check(f"{name}[{position}]", item, str)
    return items


def described(value: Any) -> str:
    """A value and its type, on one short line."""
    shown = " ".join(reprlib.repr(value).split())
    return shown if value is None else f"{shown} ({type(value).__name__})"


@functools.cache
def _hints(what: Any) -> dict[str, Any]:
    found = typing.get_type_hints(what)
    found.pop("return", None)
    return found


def _check(name: str, value: Any, hint: Any) -> None:
    if _matches(value, hint):
        return
    if isinstance(value, list | tuple):  # name the item that is wrong
        for position, item in enumerate(value):
            wanted = [inner for inner in _item_hints(hint) if inner is not ...]
            if wanted and not any(_matches(item, inner) for inner in wanted):
                raise TypeError(f"{name}[{position}] is {described(item)}; give {_in_words(wanted[0])}")
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    if isinstance(value, str) and choices and all(isinstance(choice, str) for choice in choices):
        raise UsageError(f"{name} is {value!r}; write one of {', '.join(choices)}")
    raise TypeError(f"{name} is {described(value)}; give {_in_words(hint)}")


def _matches(value: Any, hint: Any) -> bool:
    origin = get_origin(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin in _UNIONS:
        return any(_matches(value, inner) for inner in get_args(hint))
    if origin is Literal:
        return any(isinstance(value, type(choice)) and value == choice for choice in get_args(hint))
    if typing.is_typeddict(hint):
        return isinstance(value, dict)
    kind = origin or hint
    if kind in _NUMBERS:
        return isinstance(value, _NUMBERS[kind]) and not isinstance(value, bool)
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return True
    if issubclass(kind, Iterable) and kind not in (str, bytes) and isinstance(value, str | bytes):
        return False
    if kind is tuple and isinstance(value, list):  # a list is accepted for a tuple
        kind = list
    if not isinstance(value, kind):
        return False
    wanted = [inner for inner in get_args(hint) if inner is not ...]
    if kind in (dict, types.MappingProxyType) or len(wanted) != 1 or not isinstance(value, Collection):
        return True
    return all(_matches(item, wanted[0]) for item in value)


def _item_hints(hint: Any) -> list[Any]:
    if get_origin(hint) in _UNIONS:
        return [inner for choice in get_args(hint) for inner in _item_hints(choice)]
    origin = get_origin(hint)
    return list(get_args(hint)) if isinstance(origin, type) and issubclass(origin, Iterable) else []


_WORDS: dict[Any, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "True or False",
    Path: "a pathlib.Path",
    type(None): "None",
    None: "None",
}
_PLURALS = {str: "strings", Path: "pathlib.Path objects"}


def _article(name: str) -> str:
    return "an" if name[0] in "aeiou" else "a"


def _in_words(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in _UNIONS:
        return " or ".join(_in_words(inner) for inner in arguments)
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if isinstance(origin, type) and origin is not hint:
        items = [inner for inner in arguments if inner is not ... and not isinstance(inner, list)]
        name = "callable" if origin is Callable else origin.__name__.lower()
        if issubclass(origin, Collection | Iterable) and len(items) == 1:
            return f"{_article(name)} {name} of {_PLURALS.get(items[0], _in_words(items[0]))}"
        return f"{_article(name)} {name}"
    return _WORDS.get(hint) or str(getattr(hint, "__name__", hint))
