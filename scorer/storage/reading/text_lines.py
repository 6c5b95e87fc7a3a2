"""The lines of a text file in the reader's child process, hashed as they are read."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable, Iterator

from .opened import OpenedFile, RefusedError

CHUNK_BYTES = 1 << 20
MOST_LINE_BYTES = 64 << 20
_NOT_TEXT = {
    codecs.BOM_UTF16_LE: "UTF-16 text; save it as UTF-8",
    codecs.BOM_UTF16_BE: "UTF-16 text; save it as UTF-8",
    b"PAR1": "Parquet; give it a suffix .parquet, or pass --format parquet",
    b"PK\x03\x04": "a spreadsheet or zip archive; save it as CSV or unpack it",
    b"\x1f\x8b": "compressed by gzip; unpack it",
}


class TextLines:
    """The lines of an opened file from its start, each with its line end. ``bytes``: read so far."""

    def __init__(self, opened: OpenedFile, tick: Callable[[], None]) -> None:
        self._opened, self._tick = opened, tick
        self._digest = hashlib.sha256()
        self.bytes = 0

    @property
    def digest(self) -> str:
        """SHA-256 of what was read, in hexadecimal."""
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        """
        Raises:
            RefusedError: the file is not text, or a line is longer than :data:`MOST_LINE_BYTES`.
        """
        self._opened.file.seek(0)
        rest, number = b"", 0
        while chunk := bytes(self._opened.file.read(CHUNK_BYTES)):
            if not self.bytes:
                for start, what in _NOT_TEXT.items():
                    if chunk.startswith(start):
                        raise RefusedError(f"is {what}")
                chunk_text = chunk.removeprefix(codecs.BOM_UTF8)
            else:
                chunk_text = chunk
            self._digest.update(chunk)
            self.bytes += len(chunk)
            self._tick()
            *complete, rest = (rest + chunk_text).split(b"\n")
            for line in complete:
                number += 1
                yield line + b"\n"
            if len(rest) > MOST_LINE_BYTES:
                raise RefusedError(f"line {number + 1} is longer than {MOST_LINE_BYTES >> 20} MiB; is this text?")
        if rest:
            yield rest
