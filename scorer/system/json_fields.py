"""A JSON object that was read from a file, field by field and by type, so that what is wrong with it is named once.

A field that is missing, or null, has its default; a field of another type is an error, never a default.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import OutputError

_SHOWN = 80


@dataclass(frozen=True)
class Fields:
    """The fields of an object.

    ``content``: the object. ``where``: the file it was read from, for messages. ``within``: path of the object in the
    file, with a dot at its end (``facts.by_predicate.``); empty for the whole. ``advice``: what to do about damage.
    """

    content: dict[str, object]
    where: str
    within: str = ""
    advice: str = "run `scorer run` again"

    @classmethod
    def of(cls, content: object, where: str) -> Fields:
        """The fields of what a file holds.

        Raises:
            OutputError: it is no object.
        """
        if not isinstance(content, dict):
            raise OutputError(f"{where} is damaged: it holds {_shown(content)}, not an object; {cls.advice}")
        return cls(content, where)

    def only(self, names: Iterable[str]) -> None:
        """Refuse fields with other names.

        Raises:
            OutputError: names the first of them.
        """
        for name in sorted(self.content.keys() - set(names)):
            raise self._damaged(name, "a field that is known")

    def text(self, name: str, default: str = "") -> str:
        """A string."""
        value = self.content.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self._damaged(name, "a string")
        return value

    def optional_text(self, name: str) -> str | None:
        """A string, or ``None``."""
        return None if self.content.get(name) is None else self.text(name)

    def count(self, name: str, default: int = 0) -> int:
        """An integer, 0 or more."""
        found = self.optional_count(name)
        return default if found is None else found

    def required_count(self, name: str) -> int:
        """An integer, 0 or more, that has to be there."""
        found = self.optional_count(name)
        if found is None:
            raise self._damaged(name, "a count")
        return found

    def optional_count(self, name: str) -> int | None:
        """An integer, 0 or more, or ``None``."""
        value = self.content.get(name)
        if value is None:
            return None
        if type(value) is not int or value < 0:
            raise self._damaged(name, "a count")
        return value

    def optional_integer(self, name: str) -> int | None:
        """An integer of any sign, or ``None``."""
        value = self.content.get(name)
        if value is None:
            return None
        if type(value) is not int:
            raise self._damaged(name, "an integer")
        return value

    def flag(self, name: str) -> bool:
        """A truth value; false by default."""
        value = self.content.get(name)
        if value is not None and not isinstance(value, bool):
            raise self._damaged(name, "true or false")
        return bool(value)

    def magnitude(self, name: str) -> float | None:
        """A finite number, 0 or more, as it stands (an integer stays one), or ``None``."""
        value = self.content.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise self._damaged(name, "a number that is 0 or more")
        return value

    def counts(self, name: str) -> dict[str, int]:
        """An object of integers, 0 or more."""
        inner = self.inner(name)
        return {key: inner.required_count(key) for key in inner.content}

    def magnitudes(self, name: str) -> dict[str, float]:
        """An object of finite numbers, 0 or more; those that are null are left out."""
        inner = self.inner(name)
        return {key: value for key in inner.content if (value := inner.magnitude(key)) is not None}

    def texts(self, name: str) -> dict[str, str]:
        """An object of strings."""
        inner = self.inner(name)
        return {key: inner.text(key) for key in inner.content}

    def text_list(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        found = tuple(value for value in self._list(name) if isinstance(value, str))
        if len(found) != len(self._list(name)):
            raise self._damaged(name, "a list of strings")
        return found

    def optional_counts(self, name: str) -> tuple[int, ...] | None:
        """A list of integers, 0 or more, or ``None``."""
        if self.content.get(name) is None:
            return None
        found = tuple(value for value in self._list(name) if type(value) is int and value >= 0)
        if len(found) != len(self._list(name)):
            raise self._damaged(name, "a list of counts")
        return found

    def count_table(self, name: str) -> tuple[tuple[int, ...], ...] | None:
        """A list of lists of integers, 0 or more, or ``None``."""
        if self.content.get(name) is None:
            return None
        found = []
        for row in self._list(name):
            if not isinstance(row, list) or any(type(value) is not int or value < 0 for value in row):
                raise self._damaged(name, "a list of lists of counts")
            found.append(tuple(row))
        return tuple(found)

    def inner(self, name: str) -> Fields:
        """The fields of an object within; empty by default."""
        value = self.content.get(name)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise self._damaged(name, "an object")
        return Fields(value, self.where, f"{self.within}{name}.", self.advice)

    def required_inner(self, name: str) -> Fields:
        """The fields of an object within, which has to be there."""
        if self.content.get(name) is None:
            raise self._damaged(name, "an object")
        return self.inner(name)

    def optional_inner(self, name: str) -> Fields | None:
        """The fields of an object within, or ``None``."""
        return None if self.content.get(name) is None else self.inner(name)

    def each(self, name: str) -> dict[str, Fields]:
        """The fields of every object in an object of objects."""
        inner = self.inner(name)
        return {key: inner.inner(key) for key in inner.content}

    def items(self, name: str) -> list[Fields]:
        """The fields of every object in a list of objects."""
        found = []
        for position, value in enumerate(self._list(name)):
            if not isinstance(value, dict):
                raise self._damaged(name, "a list of objects")
            found.append(Fields(value, self.where, f"{self.within}{name}[{position}].", self.advice))
        return found

    def _list(self, name: str) -> list[object]:
        value = self.content.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._damaged(name, "a list")
        return value

    def _damaged(self, name: str, wanted: str) -> OutputError:
        shown = _shown(self.content.get(name))
        return OutputError(f"{self.where} is damaged: {self.within}{name} is {shown}, not {wanted}; {self.advice}")


def _shown(value: object) -> str:
    return " ".join(str(value).split())[:_SHOWN] or repr(value)
