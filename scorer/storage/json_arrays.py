"""The elements of a JSON array, on one line or on many, of a file of any size: never more than an element in memory."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from .opened_file import RefusedError

MOST_ELEMENT = 64 << 20
_CHUNK = 1 << 16
_READER = json.JSONDecoder(parse_int=str, parse_float=str)
_BLANKS = re.compile(r"[ \t\r\n]*")
# A string that is not closed ends with its line, or with a text that is cut behind a backslash. An escape outside of a
# string is passed over, so that the quotes behind such a string are looked at once.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.|\\\Z)*+("?)|\\.|[\[\]{},]')
_OPENING = {"]": "[", "}": "{"}


def array_elements(pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The elements of a JSON array, each with the number of its first line.

    Python's reader says where an element ends. One that it refuses ends where its brackets close, and costs itself
    alone.

    Args:
        pieces: the content of a file that begins with ``[``, apart from blanks.

    Raises:
        RefusedError: the array does not end, something follows its end, or an element is too long.
    """
    text = _Text(pieces)
    text.next()
    text.skip(text.at + 1)
    while (character := text.next()) != "]":
        if not character:
            raise RefusedError(f"line {text.line}: the array of objects does not end; complete the file")
        line, end = text.line, text.element_end()
        yield line, text.skip(end).encode("utf-8", "surrogateescape")
        if text.next() == ",":
            text.skip(text.at + 1)
    text.skip(text.at + 1)
    if text.next():
        shown = repr(text.text[text.at : text.at + 60].partition("\n")[0])
        raise RefusedError(f"line {text.line}: something follows the end of the array: {shown}")


class _Text:
    """A part of a file, and a position in it."""

    text: str
    """The part of the file."""
    at: int
    """Position of the next character in ``text``."""
    line: int
    """Number of its line, from 1."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.text, self.at, self.line, self._is_whole = "", 0, 1, False
        self._more = _decoded(pieces)

    def next(self) -> str:
        """Go to the next character that is no blank, and return it; an empty string at the end of the file."""
        while True:
            self.skip(_end_of_blanks(self.text, self.at))
            if self.at < len(self.text) or self._is_whole:
                return self.text[self.at : self.at + 1]
            self._grow()

    def skip(self, end: int) -> str:
        """Go to a position, and return the text before it."""
        passed = self.text[self.at : end]
        self.line += passed.count("\n")
        self.at = end
        if len(self.text) - end > 4 * _CHUNK:  # an error of the reader counts the lines of all of it
            text_left = self.text[end:]
            self._more = chain((text_left[i : i + _CHUNK] for i in range(0, len(text_left), _CHUNK)), self._more)
            self.text, self.at, self._is_whole = "", 0, False
        return passed

    def element_end(self) -> int:
        """Position of the end of the next element."""
        while True:
            try:
                _, end = _READER.raw_decode(self.text, self.at)
                follows = _end_of_blanks(self.text, end)
                if self.text[follows : follows + 1] in (",", "]"):
                    return end
                is_cut = follows == len(self.text)
            except (ValueError, RecursionError):
                is_cut = False
            closing = None if is_cut else _closing(self.text, self.at, self._is_whole)
            if closing is not None:
                return closing
            if self._is_whole:
                raise RefusedError(f"line {self.line}: the array of objects does not end; complete the file")
            self._grow()

    def _grow(self) -> None:
        """Read on, to at least twice as much text."""
        pieces = [self.text[self.at :]]
        size = len(pieces[0])
        if size > MOST_ELEMENT:
            raise RefusedError(f"line {self.line}: an element of the array is longer than {MOST_ELEMENT >> 20} MiB")
        least = size + max(size, _CHUNK)
        while size < least and not self._is_whole:
            piece = next(self._more, None)
            self._is_whole = piece is None
            pieces.append(piece or "")
            size += len(pieces[-1])
        self.text, self.at = "".join(pieces), 0


def _decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    """Text; bytes that are not UTF-8 are halves of surrogate pairs."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for piece in pieces:
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def _end_of_blanks(text: str, at: int) -> int:
    return _BLANKS.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too


def _closing(text: str, at: int, is_whole: bool) -> int | None:
    """The position of the comma or bracket that ends an element which is not JSON; ``None`` if it is not there yet."""
    opened: list[str] = []
    while (token := _TOKEN.search(text, at)) is not None:
        kind, at = token[0], token.end()
        if token[1] == "":  # a string that is not closed: it may go on behind the text
            if at == len(text) and not is_whole:
                return None
            at = token.start() + 1
        elif kind in ("[", "{"):
            opened.append(kind)
        elif kind in _OPENING and _OPENING[kind] in opened:
            while opened.pop() != _OPENING[kind]:
                pass
        elif not opened and kind in (",", "]"):
            return token.start()
    return None
