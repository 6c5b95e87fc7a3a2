"""The checks of texts against documents: each sentence of a text against each chunk of its document.

A sentence is supported as far as the chunk that supports it best says (SummaC, Laban et al., TACL 2022: the largest
over the document; AlignScore, Zha et al., ACL 2023, and MiniCheck, Tang et al., EMNLP 2024: chunks of several
sentences).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..status import STATUS_NAMES, TOO_LONG
from .checks import SENTENCE, Checks, Chunks, Interner, Sentences, blank_rows
from .chunks import SEPARATOR, Measure, Span, chunks_of, one_line, sentences_of, units_of
from .rows import Rows
from .sentences import SentenceSide

MOST_TOKENS = 400
"""Of a chunk."""
LEAST_TOKENS = 32
"""Of a chunk too: a sentence that leaves less room is too long for the model."""
MOST_PAIRS = 1 << 16
"""Of a row: bounds memory and time. A document of 10 MB and an answer of twenty sentences have about as many."""
TOO_MANY_PAIRS = f"{STATUS_NAMES[TOO_LONG]}:document"
LONG_SENTENCE = f"{STATUS_NAMES[TOO_LONG]}:hallucination"


@dataclass
class _Text:
    """The sentences of a text. ``hypotheses``: text ids. ``longest``: tokens of the longest one."""

    spans: list[Span]
    hypotheses: list[int]
    longest: int = 0


@dataclass
class _Found:
    """The checks of the rows so far, an array for each row."""

    refused: dict[int, str] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)
    spans: list[list[Span]] = field(default_factory=list)
    chunks: list[npt.NDArray[np.int64]] = field(default_factory=list)
    """*Shape:* (chunks, 3): text id, start and end of each."""
    hypotheses: list[npt.NDArray[np.int64]] = field(default_factory=list)


def document_checks(rows: Rows, side: SentenceSide) -> Checks:
    """The checks of every row that has a text and a document: by row, sentence and chunk.

    Rows with an error or a blank text get no check, and neither do rows that cannot be checked in bounded memory:
    ``refused`` has the error of these.
    """
    strings = Interner()
    blank = blank_rows(rows)
    active = ~blank
    active[list(rows.errors)] = False
    texts = _texts(rows, active, side, strings)
    documents = _Documents(rows, side, strings)
    found = _Found()
    for row in np.flatnonzero(active).tolist():
        text = texts[int(rows.text_codes[row])]
        left = side.room.limit - text.longest
        if left < LEAST_TOKENS and not side.truncates:
            found.refused[row] = LONG_SENTENCE
            continue
        chunks = documents.chunks(row, max(LEAST_TOKENS, min(MOST_TOKENS, left)))
        if len(chunks) * len(text.spans) > MOST_PAIRS:
            found.refused[row] = TOO_MANY_PAIRS
            continue
        found.rows.append(row)
        found.spans.append(text.spans)
        found.chunks.append(chunks)
        found.hypotheses.append(np.array(text.hypotheses, np.int64))
    return _checks(rows, strings, blank, found)


def _texts(rows: Rows, active: npt.NDArray[np.bool_], side: SentenceSide, strings: Interner) -> dict[int, _Text]:
    """The sentences of each distinct text, by its code."""
    found: dict[int, _Text] = {}
    for code in np.unique(rows.text_codes[active]).tolist():
        text = rows.texts[code] or ""
        spans = side.split(text) or [(0, len(text))]
        found[code] = _Text(spans, [strings[text[start:end]] for start, end in spans])
    used = sorted({sentence for text in found.values() for sentence in text.hypotheses})
    lengths = dict(zip(used, side.room.hypothesis([strings.texts[i] for i in used]).tolist(), strict=True))
    for one in found.values():
        one.longest = max(lengths[sentence] for sentence in one.hypotheses)
    return found


class _Documents:
    """The chunks of the documents of a window; each document is divided once for each largest number of tokens."""

    def __init__(self, rows: Rows, side: SentenceSide, strings: Interner) -> None:
        self._triples, self._side, self._strings = rows.triples, side, strings
        self._measure: Measure = side.room.premise
        self._divided: dict[bytes, tuple[str, Sequence[Span]]] = {}
        self._chunks: dict[tuple[bytes, int], npt.NDArray[np.int64]] = {}

    def chunks(self, row: int, most: int) -> npt.NDArray[np.int64]:
        """The chunks of a row's document: *Shape:* (chunks, 3), text id, start and end."""
        triples = self._triples
        ids = triples.ids[int(triples.offsets[row]) : int(triples.offsets[row + 1])]
        key = ids.tobytes()
        if (key, most) not in self._chunks:
            if key not in self._divided:
                document = SEPARATOR.join([triples.distinct[i].predicate for i in ids.tolist()])
                self._divided[key] = document, sentences_of(document, self._side.split)
            document, sentences = self._divided[key]
            spans = chunks_of(document, units_of(document, sentences, most, self._measure), most, self._measure)
            chunks = [(self._strings[one_line(document[start:end])], start, end) for start, end in spans]
            self._chunks[key, most] = np.array(chunks, np.int64).reshape(-1, 3)
        return self._chunks[key, most]


def _checks(rows: Rows, strings: Interner, blank: npt.NDArray[np.bool_], found: _Found) -> Checks:
    none = np.empty(0, np.int64)
    sizes = [len(hypotheses) for hypotheses in found.hypotheses]
    # Chunks of each sentence, one sentence after the other.
    counts = np.concatenate([none, *(np.full(n, len(c)) for n, c in zip(sizes, found.chunks, strict=True))])
    chunks = np.concatenate(
        [none.reshape(0, 3), *(np.tile(c, (n, 1)) for n, c in zip(sizes, found.chunks, strict=True))]
    )
    spans = np.array([span for of_row in found.spans for span in of_row], np.int32).reshape(-1, 2)
    sentences = np.zeros(len(rows), np.int64)
    sentences[found.rows] = sizes
    row_of_sentence = np.repeat(np.array(found.rows, np.int64), sizes)
    sentence = np.repeat(np.arange(len(spans)), counts)
    decides = np.zeros(len(rows), bool)
    decides[found.rows] = True
    return Checks(
        texts=strings.texts,
        premise=chunks[:, 0].astype(np.int32),
        hypothesis=np.concatenate([none, *found.hypotheses])[sentence].astype(np.int32),
        row=row_of_sentence[sentence],
        kind=np.full(len(sentence), SENTENCE, np.int8),
        fact=np.full(len(sentence), -1, np.int64),
        blank=blank,
        facts=np.empty(0, np.int32),
        backoff=np.empty(0, bool),
        sentences=Sentences(
            np.concatenate([[0], np.cumsum(sentences)]),
            np.ascontiguousarray(spans[:, 0]),
            np.ascontiguousarray(spans[:, 1]),
            decides,
            np.zeros(len(rows), bool),
        ),
        chunks=Chunks(sentence, chunks[:, 1].astype(np.int32), chunks[:, 2].astype(np.int32)),
        refused=found.refused,
    )
