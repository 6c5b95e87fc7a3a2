"""Fields of data classes: checked against their annotations, and declared as options of commands. A value of a wrong
type is reported at once, in one line; otherwise a string is taken as a list of characters, much later."""

from __future__ import annotations

import numbers
import reprlib
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from inspect import Parameter, Signature, signature
from types import UnionType
from typing import Any, Literal, Self, TypeVar, Union, get_args, get_origin

from ..errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])
_NUMBERS: dict[Any, type] = {int: numbers.Integral, float: numbers.Real}


def option(help: str, metavar: str | None = None, default: Any = MISSING, **metadata: Any) -> Any:
    """Declare a field that a command offers as an option: ``gold_fine`` as ``--gold-fine``. The help text documents the
    field for users of Python too. ``metadata``: of ``typer.Option``; ``name`` where the option has another one, and
    ``variable=True`` where an environment variable of its name sets it too."""
    return field(default=default, metadata={"help": help, "metavar": metavar, **metadata})


def option_name(name: str, metadata: Mapping[str, Any]) -> str:
    """The option of a field that :func:`option` declares, ``--gold-fine``."""
    return str(metadata.get("name", f"--{name.replace('_', '-')}"))


class CheckedFields:
    """Base of data classes that check their fields when they are created.

    Raises:
        TypeError: a field that the class does not have, with the names of all; a value of another type than the
            annotation, with the field, the value and the annotation.
        UsageError: a value that is not one of the choices of a ``Literal``; names the choices.
    """

    def __new__(cls, *_: Any, **values: Any) -> Self:
        check_names(values, [field.name for field in fields(cls)], cls.__name__)  # type: ignore[arg-type]  # data classes
        return super().__new__(cls)

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for checked in fields(self):  # type: ignore[arg-type]  # subclasses are data classes
            value, hint = getattr(self, checked.name), hints[checked.name]
            if _matches(value, hint):
                continue
            is_choice = get_origin(hint) is Literal
            choices = ", ".join(map(str, get_args(hint))) if is_choice else checked.metadata.get("choices")
            if isinstance(value, str) and is_choice:
                raise UsageError(f"{checked.name} is {value!r}; write one of {choices}")
            needed = f"write one of {choices}" if choices else f"its type is {checked.type}"
            raise TypeError(f"{checked.name} is {described(value)}; {needed}")


def check_names(names: Iterable[str], allowed: Sequence[str], owner: str) -> None:
    """Refuse a keyword argument that is not known.

    Args:
        owner: of the arguments, in the message.

    Raises:
        TypeError: names the argument, the one most like it, and all.
    """
    for name in names:
        if name not in allowed:
            from difflib import get_close_matches

            similar = "".join(f"; did you mean {word}" for word in get_close_matches(name, allowed, 1))
            possessive = "? Its" if similar else "; its"
            raise TypeError(f"{owner} has no option {name!r}{similar}{possessive} options are {', '.join(allowed)}")


def shows_fields(kind: type) -> Callable[[Function], Function]:
    """Decorator for a function with ``**options`` that are fields of a data class: ``help()`` and notebooks show each
    with its type and default."""

    def decorated(function: Function) -> Function:
        keyword = Parameter.KEYWORD_ONLY
        parameters = [part for part in signature(function).parameters.values() if part.kind != Parameter.VAR_KEYWORD]
        positional = [parameter for parameter in parameters if parameter.kind != keyword]
        options = [
            Parameter(option.name, keyword, annotation=option.type, default=_default(option))
            for option in fields(kind)
            if _default(option) is not Parameter.empty
        ]
        shown = [*positional, *options, *parameters[len(positional) :]]
        function.__signature__ = Signature(shown)  # type: ignore[attr-defined]  # inspect reads it
        return function

    return decorated


def _default(option: Field[Any]) -> Any:
    """The default of a field, ``inspect.Parameter.empty`` if it has none."""
    if option.default_factory is not MISSING:
        return option.default_factory()
    return Parameter.empty if option.default is MISSING else option.default


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
