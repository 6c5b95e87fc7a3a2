"""Divide a document into chunks that fit a model: whole sentences, packed greedily, with one sentence of overlap.

A sentence that is longer than a chunk may be is cut at blanks, and where there are none anywhere. Of all that is not
blank, nothing is left out. White space within a chunk becomes single blanks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Span = tuple[int, int]
"""Start and end in a text, code points."""
Split = Callable[[str], list[Span]]
Measure = Callable[[Sequence[str]], Ints]

SEPARATOR = "\n\n"
"""Between the passages of a document: positions in the document are those in the passages joined by it."""
_BLANK_LINES = re.compile(r"\n[ \t\r\f\v]*\n\s*")
_ENDS = re.compile(r"[.?!\u2026\u3002\uff01\uff1f]")
"""What may end a sentence within a paragraph; most lines of a table have none, and need no splitter."""
_LONGEST_PARAGRAPH = 8192
"""Code points that are given to the splitter of sentences at once; its time grows faster than some texts."""
_TOGETHER = 1 << 20
"""Code points that are measured at once, which bounds the memory of a long document."""


@dataclass(frozen=True)
class Units:
    """The sentences of a document, or the parts of those that are too long for a chunk, in order and apart.

    ``tokens``: of each, not more than all of them together give when they are packed into one text, unless a tokenizer
    joins words across blanks.
    """

    spans: list[Span]
    tokens: list[int]


def one_line(text: str) -> str:
    """A text with single blanks between its words, as a chunk has it."""
    return " ".join(text.split())


def sentences_of(document: str, split: Split) -> list[Span]:
    """The sentences of a document: not blank, in order, apart from one another, with all that is not blank.

    Args:
        split: gives the sentences of one paragraph; what it leaves out goes to the sentence before.
    """
    found: list[Span] = []
    for start, end in _paragraphs(document):
        paragraph = document[start:end]
        begins = [start + first for first, _ in split(paragraph)][1:] if _ENDS.search(paragraph) else []
        edges = [start, *begins, end]
        found += _not_blank(document, pairwise(edges))
    return found


def units_of(document: str, sentences: Sequence[Span], most: int, measure: Measure) -> Units:
    """The sentences, those of more than ``most`` tokens cut into parts of fewer.

    Args:
        measure: the number of tokens of each text; any number above ``most`` for one that is certainly too long.
    """
    tokens = _measured(document, sentences, measure)
    spans: list[Span] = []
    counts: list[int] = []
    for span, count in zip(sentences, tokens, strict=True):
        if count <= most:
            spans.append(span)
            counts.append(count)
            continue
        parts = list(_not_blank(document, _cut(document, span, most)))
        while parts:
            known = _measured(document, parts, measure)
            left: list[Span] = []
            for (start, end), number in zip(parts, known, strict=True):
                if number <= most or end - start == 1:
                    spans.append((start, end))
                    counts.append(number)
                else:
                    left += _not_blank(document, _cut(document, (start, end), (end - start + 1) // 2))
            parts = left
    order = sorted(range(len(spans)), key=spans.__getitem__)
    return Units([spans[i] for i in order], [counts[i] for i in order])


def chunks_of(document: str, units: Units, most: int, measure: Measure) -> list[Span]:
    """The chunks of a document, in order: as many units in each as ``most`` tokens hold, at least one.

    A chunk begins with the last unit of the one before, where that leaves room for the next.
    """
    packed = list(_packed(units.tokens, most))
    spans = [(units.spans[first][0], units.spans[end - 1][1]) for first, end in packed]
    while True:
        known = _measured(document, spans, measure)
        # The tokens of the units may not add up to those of the chunk if a tokenizer merges across blanks.
        over = [known[i] > most and packed[i][1] - packed[i][0] > 1 for i in range(len(packed))]
        if not any(over):
            return spans
        packed = [
            part
            for (first, end), halve in zip(packed, over, strict=True)
            for part in ([(first, (first + end) // 2), ((first + end) // 2, end)] if halve else [(first, end)])
        ]
        spans = [(units.spans[first][0], units.spans[end - 1][1]) for first, end in packed]


def _packed(tokens: Sequence[int], most: int) -> Iterator[Span]:
    """First unit, and the one after the last, of each chunk."""
    first = total = 0
    for unit, count in enumerate(tokens):
        if unit > first and total + count > most:
            yield first, unit
            last = tokens[unit - 1]
            first, total = (unit - 1, last) if last + count <= most else (unit, 0)
        total += count
    if tokens:
        yield first, len(tokens)


def _paragraphs(document: str) -> Iterator[Span]:
    """Parts that are divided into sentences apart: paragraphs, and those of bounded length within long ones."""
    start = 0
    for match in _BLANK_LINES.finditer(document):
        yield from _cut(document, (start, match.start()), _LONGEST_PARAGRAPH)
        start = match.end()
    yield from _cut(document, (start, len(document)), _LONGEST_PARAGRAPH)


def _cut(document: str, span: Span, most: int) -> Iterator[Span]:
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


def _measured(document: str, spans: Sequence[Span], measure: Measure) -> list[int]:
    """Tokens of parts of a document, each on its own or after a blank, whichever is more."""
    found: list[int] = []
    held: list[str] = []
    size = 0
    for start, end in spans:
        held.append(one_line(document[start:end]))
        size += end - start
        if size >= _TOGETHER:
            found += _counts(held, measure)
            held, size = [], 0
    return found + _counts(held, measure)


def _counts(texts: list[str], measure: Measure) -> list[int]:
    if not texts:
        return []
    word, *both = measure(["a", *texts, *("a " + text for text in texts)]).tolist()
    alone, after = both[: len(texts)], both[len(texts) :]
    return [max(one, other - word) for one, other in zip(alone, after, strict=True)]
