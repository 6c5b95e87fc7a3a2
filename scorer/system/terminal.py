"""The terminal: data on it shows no control characters, and printing to it never fails.

A text, a column name or a file name may contain a sequence that sets the terminal's title, clears the screen, or
changes the direction of the text after it. Characters that control a terminal, or are invisible, are shown as their
code points: ``<U+001B>``. JSON and Parquet keep them.

The exit code of a command is about the work. A full disk behind ``2>log``, a closed terminal or ``| head`` must change
neither the code nor the output folder, so text that cannot be written is dropped, here and nowhere else.
"""

from __future__ import annotations

import dataclasses
import errno
import io
import os
import re
import select
import sys
from contextlib import suppress
from pathlib import PurePath
from typing import Any, TextIO

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


def json_visible(text: str) -> str:
    """A JSON text with hidden characters as JSON escapes: it is safe to show and has the same meaning."""
    return _HIDDEN_IN_LINES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def all_visible(value: Any) -> Any:
    """The same value with every string in it :func:`visible`: keys, items and fields too."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, PurePath):
        return type(value)(visible(str(value)))
    if isinstance(value, dict):
        return {all_visible(key): all_visible(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(all_visible(inner) for inner in value)
    if hasattr(value, "__struct_fields__"):
        from msgspec.structs import replace  # whoever has a struct has loaded it

        return replace(value, **{name: all_visible(getattr(value, name)) for name in value.__struct_fields__})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {field.name: all_visible(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **changes)
    return value


class LossyFile(io.FileIO):
    """A file to write to. After the first failure everything is dropped; ``failure`` holds the error."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        written = 0
        while self.failure is None and written < len(view):
            try:
                written += os.write(self.fileno(), view[written:])
            except BlockingIOError:  # the parent process made the pipe non-blocking; a slow reader is not a failure
                select.select([], [self], [])
            except OSError as error:
                self.failure = error
        return len(view)


def install() -> tuple[LossyFile, LossyFile]:
    """Replace ``sys.stdout`` and ``sys.stderr`` by such streams, and return the files beneath them.

    Descriptors that were closed at the start are opened on the null device first: else the next file that is opened,
    an output say, would get the number 2, and with it every complaint that a library writes to stderr.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115  (it is stdin)
    out, err = LossyFile(1, "w", closefd=False), LossyFile(2, "w", closefd=False)
    for name, file in (("stdout", out), ("stderr", err)):
        replaced: TextIO | None = getattr(sys, name)
        if replaced is not None:
            with suppress(OSError, ValueError):
                replaced.flush()
        # A character that the encoding of this terminal lacks must not end a run either.
        encoding = replaced.encoding if replaced is not None else "utf-8"
        buffered = io.BufferedWriter(file)
        setattr(sys, name, io.TextIOWrapper(buffered, encoding, errors="backslashreplace", line_buffering=True))
    return out, err


def was_lost(file: LossyFile) -> str | None:
    """Why output is missing; ``None`` if none is, if the reader has left, or if there never was one."""
    failure = file.failure
    return None if failure is None or failure.errno in (errno.EPIPE, errno.EBADF) else failure.strerror
