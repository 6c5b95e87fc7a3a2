"""The files of a conversion: ``FILE`` or ``NAME=FILE``, read as lines of text; malformed lines are reported."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError, UsageError
from ..metric.values import shown
from ..storage.location import local_path

UNREADABLE = "\ufffd"
"""Replaces the bytes of a line that cannot be read; fields that contain it, or NUL, become null."""
_NOT_TEXT = {
    codecs.BOM_UTF16_LE: "UTF-16 text; save it as UTF-8",
    codecs.BOM_UTF16_BE: "UTF-16 text; save it as UTF-8",
    b"PAR1": "Parquet, which `scorer run` reads directly",
    b"PK\x03\x04": "a spreadsheet or zip archive; save it as CSV or unpack it",
    b"\x1f\x8b": "compressed by gzip; unpack it",
}
_MOST_SHOWN = 20


class Problems:
    """The malformed lines of a conversion.

    Args:
        strict: raise the first one; otherwise all are counted.
        say: called with messages about the first ones.
    """

    def __init__(self, strict: bool, say: Callable[[str], None]) -> None:
        self.count = 0
        self.left_out = 0
        """Lexicalisations without a text."""
        self._strict = strict
        self._say = say

    def add(self, file: str, line: int, problem: str, value: str | None = None) -> None:
        """Report one line: its position, its error, and the value found there.

        Raises:
            InputError: with ``strict``.
        """
        quoted = "" if value is None else f": {shown(value)}"
        message = f"{file}:{line}: {problem}{quoted}"
        if self._strict:
            raise InputError(f"{message}; fix the line, or leave out --strict to keep its row without the broken value")
        self.count += 1
        if self.count <= _MOST_SHOWN:
            self._say(message)

    def close(self) -> None:
        """Report the number of malformed lines that were not shown."""
        if self.count > _MOST_SHOWN:
            self._say(f"and {self.count - _MOST_SHOWN:,} more malformed lines, counted but not shown")


class SourceFile(NamedTuple):
    """A file and its name."""

    name: str
    path: Path
    named: bool
    """Whether the user gave the name; otherwise it is the stem of the file's name."""

    @property
    def file(self) -> str:
        """The file's name as written to rows; without folders, so that the result does not depend on the folder."""
        return _display(self.path.name)

    @property
    def shown(self) -> str:
        """The path, for messages."""
        return _display(self.path)


class Line(NamedTuple):
    """A line without its end."""

    text: str
    error: str | None
    """Why it is not valid text."""


def _display(path: str | Path) -> str:
    """A path as text that can always be shown and stored, even if its bytes are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def parse_source(argument: str) -> SourceFile:
    """Read ``FILE`` or ``NAME=FILE``; if a file of the whole name exists, that is meant.

    Raises:
        UsageError: it is empty, or a URI of a store.
    """
    if not argument.strip():
        raise UsageError("a file name is empty; check for an unset variable of the shell")
    name, _, path = argument.partition("=")
    if not name.strip() or not path or os.path.exists(argument):  # noqa: PTH110  (a long name is no error)
        name, path = "", argument
    local = local_path(path, "the input")
    return SourceFile(_display(name.strip() or local.stem), local, bool(name))


def parse_systems(arguments: Sequence[str]) -> list[SourceFile]:
    """Sources that each name a system.

    Raises:
        UsageError: two of them have the same name.
    """
    by_name: dict[str, SourceFile] = {}
    for source in map(parse_source, arguments):
        namesake = by_name.setdefault(source.name, source)
        if namesake is not source:
            raise UsageError(
                f"{namesake.shown} and {source.shown} would both be the system {source.name!r}; name one of them: "
                "NAME=FILE"
            )
    return list(by_name.values())


def read_bytes(source: SourceFile) -> bytes:
    """The bytes of a file.

    Raises:
        InputError: there is no such file, it cannot be read, it is empty, or it is not a text file.
    """
    try:
        content = source.path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {source.shown}: {getattr(error, 'strerror', None) or error}") from error
    kind = next((kind for start, kind in _NOT_TEXT.items() if content.startswith(start)), None)
    if kind is not None or not content:
        raise InputError(f"{source.shown} is {kind or 'empty'}")
    return content


def read_lines(source: SourceFile) -> list[Line]:
    """The lines of a UTF-8 file, with or without a byte order mark, that end with LF, CRLF or (throughout) CR.

    Other characters that some programs treat as line ends (U+2028, form feed) are part of the text: they must not add
    lines to a file of one text per line.

    Raises:
        InputError: as :func:`read_bytes`.
    """
    content = read_bytes(source).removeprefix(codecs.BOM_UTF8)
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    return [_line(piece.removesuffix(b"\r")) for piece in content.removesuffix(b"\n").split(b"\n")]


def _line(piece: bytes) -> Line:
    try:
        return Line(piece.decode(), "a NUL byte" if b"\0" in piece else None)
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 (byte 0x{piece[error.start]:02x} at byte {error.start + 1} of the line)"
        return Line(piece.decode(errors="replace"), problem)


def readable(field: str) -> str | None:
    """A field of a line as text; ``None`` for invalid text."""
    return None if UNREADABLE in field or "\0" in field else field
