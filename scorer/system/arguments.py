"""Fields of data classes: checked against their annotations, and declared as options of commands. A value of a wrong
type is reported at once, in one line; otherwise a string is taken as a list of characters, much later."""

from __future__ import annotations

import numbers
import reprlib
import typing
from collections.abc import Iterable
from dataclasses import MISSING, field, fields
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from ..errors import UsageError

_NUMBERS: dict[Any, type] = {int: numbers.Integral, float: numbers.Real}


def option(help: str, metavar: str | None = None, default: Any = MISSING, **more: Any) -> Any:
    """Declare a field that a command offers as an option: ``gold_fine`` as ``--gold-fine``. The help text documents the
    field for users of Python too. ``more``: of ``typer.Option``; ``name`` where the option has another one, and
    ``variable=True`` where an environment variable of its name sets it too."""
    return field(default=default, metadata={"help": help, "metavar": metavar, **more})


class CheckedFields:
    """Base of data classes that check their fields when they are created.

    Raises:
        TypeError: a value of another type than the annotation; names the field, the value and the annotation.
        UsageError: a value that is not one of the choices of a ``Literal``; names the choices.
    """

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for checked in fields(self):  # type: ignore[arg-type]  # subclasses are data classes
            value, hint = getattr(self, checked.name), hints[checked.name]
            if _matches(value, hint):
                continue
            if isinstance(value, str) and get_origin(hint) is Literal:
                raise UsageError(f"{checked.name} is {value!r}; write one of {', '.join(get_args(hint))}")
            raise TypeError(f"{checked.name} is {described(value)}; its type is {checked.type}")


def strings(name: str, value: Any) -> list[str]:
    """The items of an iterable of strings; a :class:`TypeError` for a single string and for any other value."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{name} is {described(value)}; give a list of strings")
    items = list(value)
    for position, item in enumerate(items):
        if not isinstance(item, str):
            raise TypeError(f"{name}[{position}] is {described(item)}; give a string")
    return items


def described(value: Any) -> str:
    """A value and its type, on one short line."""
    shown = " ".join(reprlib.repr(value).split())
    return shown if value is None else f"{shown} ({type(value).__name__})"


def _matches(value: Any, hint: Any) -> bool:
    """Whether a value is of a type. Lists are tuples too, and their items are looked at."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_matches(value, alternative) for alternative in inner)
    if origin is Literal:
        return any(isinstance(value, type(literal)) and value == literal for literal in inner)
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and not isinstance(value, bool)
    if origin is None or (len(inner) == 2 and inner[1] is not ...):  # a class, or a mapping
        return isinstance(value, origin or hint)
    kinds = (origin, list) if origin is tuple else origin
    return isinstance(value, kinds) and not isinstance(value, str | bytes) and all(_matches(x, inner[0]) for x in value)
