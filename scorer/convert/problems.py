"""Malformed lines: reported one by one, counted, or fatal."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import InputError

SHOWN = 20
VALUE_LENGTH = 80


class Problems:
    """Collects the malformed lines of a conversion.

    With ``strict``, the first one ends the conversion; otherwise the first ``SHOWN`` are passed to ``say``, and all are
    counted.

    ``left_out``: lexicalisations without a text.
    """

    def __init__(self, strict: bool, say: Callable[[str], None]) -> None:
        self.count = 0
        self.left_out = 0
        self._strict = strict
        self._say = say

    def add(self, file: str, line: int, what: str, value: str | None = None) -> None:
        """Report one line: its position, its error, and the value found there.

        Raises:
            InputError: with ``strict``.
        """
        found = "" if value is None else f": {shorten(value)}"
        message = f"{file}:{line}: {what}{found}"
        if self._strict:
            raise InputError(f"{message}; fix the line, or leave out --strict to keep its row without the broken value")
        self.count += 1
        if self.count <= SHOWN:
            self._say(message)

    def close(self) -> None:
        """Report the number of malformed lines that were not shown."""
        if self.count > SHOWN:
            self._say(f"and {self.count - SHOWN:,} more malformed lines, counted but not shown")


def shorten(value: str) -> str:
    """A value as shown in a message: on one line, control characters escaped, shortened."""
    cut = value if len(value) <= VALUE_LENGTH else value[: VALUE_LENGTH - 3] + "..."
    return repr(cut)
