"""Where the sentences of a text or of a document begin and end.

nupunkt (MIT licence, no dependencies of its own) finds sentences of English as the Punkt algorithm does (Kiss & Strunk
2006), knows abbreviations, takes tokenised text as it comes, and gives tight offsets into the very string it was given.
Its version is part of the signature, since another one may cut elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Span = tuple[int, int]
"""Start and end in a text, code points."""
Split = Callable[[str], list[Span]]
Measure = Callable[[Sequence[str]], Ints]
"""Texts to the number of tokens of each. int64, *Shape:* (texts,)."""

PACKAGE = "nupunkt"
_EMPTY_LINES = re.compile(r"\n[ \t\r\f\v\n]*\n")
_BLANK_LINES = re.compile(r"\n[ \t\r\f\v]*\n\s*")
_ENDS = re.compile(r"[.?!\u2026\u3002\uff01\uff1f]")
"""What may end a sentence within a paragraph; most lines of a table have none, and need no splitter."""
_LONGEST_PARAGRAPH = 8192
"""Code points that are given to the splitter of sentences at once; its time grows faster than some texts."""


def splitter_name() -> str:
    """Package and version of the splitter, as the signature has it."""
    from importlib import metadata

    return f"{PACKAGE}-{metadata.version(PACKAGE)}"


def split_text(text: str) -> list[Span]:
    """The sentences of a text: in order, apart from one another, no blanks at either end."""
    from nupunkt import sentence_spans

    # Blank lines end a sentence, single line breaks do not: texts are wrapped anywhere. The splitter's time grows
    # with the square of a run of blank lines, so that one is left of it, in as much room.
    lines = _EMPTY_LINES.sub(lambda run: "\n" + " " * (len(run[0]) - 2) + "\n", text)
    return [(start, end) for start, end in sentence_spans(lines) if start < end]


def split_document(document: str, split: Split = split_text) -> list[str]:
    """The sentences of a document in order, with all of it that is not blank; white space becomes single blanks.

    Args:
        split: gives the sentences of one paragraph; what it leaves out goes to the sentence before.
    """
    found: list[str] = []
    for start, end in _paragraphs(document):
        paragraph = document[start:end]
        begins = [start + first for first, _ in split(paragraph)][1:] if _ENDS.search(paragraph) else []
        found += [one_line(document[a:b]) for a, b in _not_blank(document, pairwise([start, *begins, end]))]
    return found


def cut(text: str, most: int, measure: Measure) -> list[str]:
    """The parts of a text that is too long: each of at most ``most`` tokens, cut at blanks where there are some.

    Args:
        measure: the number of tokens of each text; any number above ``most`` for one that is certainly too long.
    """
    found: list[Span] = []
    parts = list(_not_blank(text, _pieces(text, (0, len(text)), most)))
    while parts:
        counts = measure([text[start:end] for start, end in parts]).tolist()
        longer: list[Span] = []
        for (start, end), tokens in zip(parts, counts, strict=True):
            if tokens <= most or end - start == 1:
                found.append((start, end))
            else:
                longer += _not_blank(text, _pieces(text, (start, end), (end - start + 1) // 2))
        parts = longer
    return [text[start:end] for start, end in sorted(found)]


def one_line(text: str) -> str:
    """A text with single blanks between its words."""
    return " ".join(text.split())


def _paragraphs(document: str) -> Iterator[Span]:
    """Parts that are divided into sentences apart: paragraphs, and those of bounded length within long ones."""
    start = 0
    for match in _BLANK_LINES.finditer(document):
        yield from _pieces(document, (start, match.start()), _LONGEST_PARAGRAPH)
        start = match.end()
    yield from _pieces(document, (start, len(document)), _LONGEST_PARAGRAPH)


def _pieces(document: str, span: Span, most: int) -> Iterator[Span]:
    """Parts of at most so many code points, each ending at the last blank in its second half, if there is one."""
    start, end = span
    while end - start > most:
        half = start + max(most // 2, 1)
        place = next((i for i in range(start + most - 1, half - 1, -1) if document[i].isspace()), start + most - 1)
        yield start, place + 1
        start = place + 1
    if start < end:
        yield start, end


def _not_blank(document: str, spans: Iterable[Span]) -> Iterator[Span]:
    """The spans without outer blanks, those of nothing but blanks left out."""
    for start, end in spans:
        text = document[start:end]
        begin = start + len(text) - len(text.lstrip())
        if text := text.strip():
            yield begin, begin + len(text)
