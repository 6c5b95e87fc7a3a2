"""The lines of a text file, unpacked if gzip compressed it, hashed as they are read."""

from __future__ import annotations

import codecs
import hashlib
import zlib
from collections.abc import Callable, Iterator
from itertools import chain

from .shards import OpenedFile, RefusedError

CHUNK_BYTES = 1 << 20
MOST_LINE_BYTES = 64 << 20
GZIP = b"\x1f\x8b"
_PART_BYTES = 4096
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # zlib's way to say: with the header and the check sum of gzip
_NOT_TEXT = {
    codecs.BOM_UTF16_LE: "UTF-16 text; save it as UTF-8",
    codecs.BOM_UTF16_BE: "UTF-16 text; save it as UTF-8",
    b"PAR1": "Parquet; give it a suffix .parquet, or pass --format parquet",
    b"PK\x03\x04": "a spreadsheet or zip archive; save it as CSV or unpack it",
    GZIP: "compressed by gzip twice; unpack it once",
}


class TextLines:
    """The lines of an opened file from its start, each with its line end. A file that begins as gzip does is unpacked,
    whatever its name is. ``joins_blank``: many blank lines may come together, as gzip makes millions of them from a few
    kilobytes.

    ``file_bytes``: of the file, read so far. ``bytes``: of its text, which is longer where it is compressed.
    """

    def __init__(self, opened: OpenedFile, tick: Callable[[], None], *, joins_blank: bool = False) -> None:
        self._opened, self._tick, self._joins_blank = opened, tick, joins_blank
        self._digest = hashlib.sha256()
        self._lines = 0
        self.file_bytes = 0
        self.bytes = 0

    @property
    def digest(self) -> str:
        """SHA-256 of what was read of the file, in hexadecimal."""
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        """
        Raises:
            RefusedError: the file is not text, its compressed data is damaged or cut off, or a line is longer than
                :data:`MOST_LINE_BYTES`.
        """
        self._opened.file.seek(0)
        rest: list[bytes] = []  # of a line whose end has not come yet
        length = 0
        for chunk in self._text():
            if not self.bytes:
                for start, what in _NOT_TEXT.items():
                    if chunk.startswith(start):
                        raise RefusedError(f"is {what}")
            text = chunk if self.bytes else chunk.removeprefix(codecs.BOM_UTF8)
            self.bytes += len(chunk)
            self._tick()
            if self._joins_blank and text.isspace() and b"\n" in text and not b"".join(rest).strip():
                blank, end, text = b"".join([*rest, text]).rpartition(b"\n")
                rest, length = [], 0
                self._lines += blank.count(b"\n") + 1
                yield blank + end
            elif b"\n" in text:
                *complete, text = b"".join([*rest, text]).split(b"\n")
                rest, length = [], 0
                for line in complete:
                    self._lines += 1
                    yield line + b"\n"
            rest.append(text)
            length += len(text)
            if length > MOST_LINE_BYTES:
                raise RefusedError(
                    f"line {self._lines + 1} is longer than {MOST_LINE_BYTES >> 20} MiB; check that the file is text"
                )
        if length:
            yield b"".join(rest)

    def _text(self) -> Iterator[bytes]:
        """The text in chunks of bounded size, never empty."""
        chunks = self._chunks()
        first = next(chunks, b"")
        if first.startswith(GZIP):
            yield from self._unpacked(first, chunks)
        elif first:
            yield first
            yield from chunks

    def _chunks(self) -> Iterator[bytes]:
        while chunk := bytes(self._opened.file.read(CHUNK_BYTES)):
            self._digest.update(chunk)
            self.file_bytes += len(chunk)
            yield chunk

    def _unpacked(self, first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
        """The text of compressed data, which may have several members after each other and zeros at its end."""
        unpacker = zlib.decompressobj(_GZIP_WINDOW)
        pieces: list[bytes] = []
        length = 0
        for packed in self._small(first, others):
            while packed:
                if unpacker.eof:
                    packed = packed.lstrip(b"\0")
                    if not packed:
                        break
                    unpacker = zlib.decompressobj(_GZIP_WINDOW)
                try:
                    text = unpacker.decompress(packed, CHUNK_BYTES - length)
                except zlib.error as error:
                    yield from (b"".join(pieces),) if pieces else ()
                    raise RefusedError(
                        f"its gzip data is damaged behind line {self._lines} ({error}); copy or pack the file again"
                    ) from error
                packed = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
                pieces.append(text)
                length += len(text)
                if length >= CHUNK_BYTES:
                    yield b"".join(pieces)
                    pieces, length = [], 0
        if length:
            yield b"".join(pieces)
        if not unpacker.eof:
            raise RefusedError(f"its gzip data is cut off behind line {self._lines}; copy or pack the file again")

    def _small(self, first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
        """Compressed data in small parts: what follows a member is copied, and a part may have many members."""
        for chunk in chain([first], others):
            for start in range(0, len(chunk), _PART_BYTES):
                yield chunk[start : start + _PART_BYTES]
            self._tick()
