"""Read files as lines of text, and mark lines that are not valid text."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InputError

# Replaces the bytes of a line that cannot be read; fields that contain it become null.
UNREADABLE = "\ufffd"
NUL = "\0"

_NOT_TEXT = {
    codecs.BOM_UTF16_LE: "UTF-16 text; save it as UTF-8",
    codecs.BOM_UTF16_BE: "UTF-16 text; save it as UTF-8",
    b"PAR1": "Parquet, which `scorer run` reads directly",
    b"PK\x03\x04": "a spreadsheet or zip archive; save it as CSV or unpack it",
    b"\x1f\x8b": "compressed by gzip; unpack it",
}


@dataclass
class Lines:
    """The lines of a file, without line ends. ``broken``: the error of a line, by its position from 0."""

    text: list[str]
    broken: dict[int, str] = field(default_factory=dict)


def display(path: str | Path) -> str:
    """A path as text that can always be shown and stored, even if its bytes are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "replace")


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file.

    Raises:
        InputError: there is no such file, it cannot be read, it is empty, or it is not a text file.
    """
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {display(path)}: {reason}") from error
    if not content:
        raise InputError(f"{display(path)} is empty")
    for start, what in _NOT_TEXT.items():
        if content.startswith(start):
            raise InputError(f"{display(path)} is {what}")
    return content


def read_lines(path: str | Path) -> Lines:
    """The lines of a UTF-8 file, with or without a byte order mark, that end with LF, CRLF or (throughout) CR.

    Other characters that some programs treat as line ends (U+2028, form feed) are part of the text: they must not add
    lines to a file of one text per line.

    Raises:
        InputError: as :func:`read_bytes`.
    """
    content = read_bytes(path).removeprefix(codecs.BOM_UTF8)
    if b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    pieces = content.split(b"\n")
    if not pieces[-1]:
        pieces.pop()
    lines = Lines([])
    for number, piece in enumerate(pieces):
        piece = piece.removesuffix(b"\r")
        try:
            lines.text.append(piece.decode())
        except UnicodeDecodeError as error:
            lines.broken[number] = f"not UTF-8 (byte 0x{piece[error.start]:02x} at byte {error.start + 1} of the line)"
            lines.text.append(piece.decode(errors="replace"))
        else:
            if b"\0" in piece:
                lines.broken[number] = "a NUL byte"
    return lines
