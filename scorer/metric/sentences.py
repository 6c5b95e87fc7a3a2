"""The sentences of a text, each checked against the facts, so that an error can be located.

The check is the hallucination check of the paper (section 3), applied to one sentence: premise = all facts,
hypothesis = the sentence. If these do not fit the model, the premise consists of the facts that
:mod:`scorer.metric.selection` selects for the sentence, as many as fit, in the order of the row.

If the whole text of a row fits the model together with all its facts, the row keeps its hallucination check, and its
label does not depend on its sentences. Otherwise that check is not asked, and the sentences decide: all must pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..status import NOT_TOKENISED, STATUS_NAMES, TOO_LONG, RowError
from .checks import HALLUCINATION, OMISSION, SENTENCE, Checks, Sentences
from .facts import Rows, Triple
from .selection import FactIndex, FactTerms, terms_of, terms_of_fact

Ints = npt.NDArray[np.int64]
Span = tuple[int, int]
Split = Callable[[str], list[Span]]
Measure = Callable[[Sequence[str]], Ints]
"""Texts to the number of tokens of each. int64, *Shape:* (texts,)."""
LEAST_TOKENS = 32
"""A fact is never cut into parts of fewer tokens than this."""


@dataclass(frozen=True)
class SentenceSide:
    """Functions and limits of the checks of sentences."""

    split: Split
    """Text → (start, end) of its sentences."""
    limit: int
    """Largest number of tokens of both texts of a pair together."""
    premise: Measure
    """Number of tokens of texts as premises, or :data:`scorer.status.NOT_TOKENISED`."""
    hypothesis: Measure
    """Number of tokens of texts as hypotheses, or :data:`scorer.status.NOT_TOKENISED`."""
    truncates: bool = False
    """Whether pairs that are too long are cut."""


class _Interner(dict[str, int]):
    """String → id, in order of first appearance."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = list(texts)
        """The string of each id."""
        super().__init__(zip(self.texts, range(len(self.texts)), strict=True))

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        self.texts.append(text)
        return number


class _CheckedText(NamedTuple):
    """A text with one set of facts, in sentences."""

    spans: list[Span]
    """Position of each sentence."""
    hypotheses: list[int]
    """Text id of each sentence."""
    premises: list[int]
    """Text id of each sentence's premise."""
    decides: bool
    """As in :class:`.Sentences`."""
    selected: bool
    """As in :class:`.Sentences`."""


_Key = tuple[int, int, bytes]
"""Text ids of all facts of a row and of its text, and the facts: others may have the same words."""


def add_sentences(checks: Checks, rows: Rows, side: SentenceSide) -> Checks:
    """Add a check for every sentence of every row that has a hallucination check.

    The new checks come after the others, by row and position in the text. Rows that are decided by their sentences lose
    their hallucination check. A text that is too long to be tokenised is not divided where its omission checks are an
    error in any case: 50 MB are a million sentences.
    """
    strings = _Interner(checks.texts)
    whole_texts = np.flatnonzero(checks.kind == HALLUCINATION)
    work = _SentenceBuilder(checks, rows, side, strings)
    lengths = work.measured({*checks.hypothesis[whole_texts].tolist()}, side.hypothesis)
    refused: dict[int, RowError] = {}
    if not side.truncates:
        too_long = np.array([lengths[h] >= NOT_TOKENISED for h in checks.hypothesis[whole_texts].tolist()], bool)
        too_long &= np.isin(checks.row[whole_texts], checks.row[checks.kind == OMISSION])
        error = RowError(STATUS_NAMES[TOO_LONG], ("omission",))
        refused = dict.fromkeys(checks.row[whole_texts[too_long]].tolist(), error)
        whole_texts = whole_texts[~too_long]
    columns = (column[whole_texts].tolist() for column in (checks.row, checks.premise, checks.hypothesis))
    keys = {row: (premise, text, work.used(row).tobytes()) for row, premise, text in zip(*columns, strict=True)}
    by_key = work.texts({key: row for row, key in keys.items()}, lengths)
    text_of_row = {row: by_key[keys[row]] for row in sorted(keys)}

    counts, decides, selected = np.zeros(len(rows), np.int64), np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    for row, text in text_of_row.items():
        counts[row], decides[row], selected[row] = len(text.spans), text.decides, text.selected
    starts, ends = (
        np.array([span for text in text_of_row.values() for span in text.spans], np.int32).reshape(-1, 2).T.copy()
    )
    remaining = ~((checks.kind == HALLUCINATION) & decides[checks.row])

    def join(column: npt.NDArray[Any], added: Any) -> npt.NDArray[Any]:
        return np.concatenate([column[remaining], np.asarray(added, column.dtype)])

    return replace(
        checks,
        texts=strings.texts,
        premise=join(checks.premise, [premise for text in text_of_row.values() for premise in text.premises]),
        hypothesis=join(checks.hypothesis, [sentence for text in text_of_row.values() for sentence in text.hypotheses]),
        row=join(checks.row, np.repeat(np.arange(len(rows)), counts)),
        kind=join(checks.kind, np.full(len(starts), SENTENCE)),
        fact=join(checks.fact, np.full(len(starts), -1)),
        sentences=Sentences(np.concatenate([[0], np.cumsum(counts)]), starts, ends, decides, selected),
        refused=refused,
    )


class _SentenceBuilder:
    """Builds the checks of sentences of one window."""

    def __init__(self, checks: Checks, rows: Rows, side: SentenceSide, strings: _Interner) -> None:
        self.checks, self.rows, self.side, self.strings = checks, rows, side, strings
        self.added_tokens: dict[int, int] = {}
        self.terms: dict[int, FactTerms] = {}

    def measured(self, ids: Iterable[int], measure: Measure) -> dict[int, int]:
        """The number of tokens of each text, by its id."""
        order = sorted(ids)
        return dict(zip(order, measure([self.strings.texts[i] for i in order]).tolist(), strict=True))

    def used(self, row: int) -> npt.NDArray[np.int32]:
        """Numbers of the distinct triples that a row uses, in its order. int32, *Shape:* (facts,)."""
        triples = self.rows.triples
        facts = slice(int(triples.offsets[row]), int(triples.offsets[row + 1]))
        ids = triples.ids[facts]
        return ids if self.rows.used is None else ids[self.rows.used[facts]]

    def texts(self, row_of: dict[_Key, int], lengths: dict[int, int]) -> dict[_Key, _CheckedText]:
        """The sentences of each distinct text with distinct facts. ``lengths``: of the texts."""
        premises = self.measured({premise for premise, _, _ in row_of}, self.side.premise)
        texts = {h: self.checks.texts[h] for h in {h for _, h, _ in row_of}}
        spans = {h: self.side.split(text) or [(0, len(text))] for h, text in texts.items()}
        hypotheses = {h: [self.strings[texts[h][a:b]] for a, b in spans[h]] for h in spans}
        parts = {s for sentences in hypotheses.values() for s in sentences}
        lengths = lengths | self.measured(parts, self.side.hypothesis)

        results: dict[_Key, _CheckedText] = {}
        index: FactIndex | None = None
        indexed: list[int] = []
        for key in sorted(row_of):  # by facts, so that one index serves all texts about the same ones
            p, h, _ = key
            sentences, sentence_premises = hypotheses[h], [p] * len(hypotheses[h])
            rooms = [self.side.limit - lengths[s] for s in sentences]
            if premises[p] > min(rooms):
                facts, terms = self._facts_of(row_of[key], max(LEAST_TOKENS, min(rooms)))
                if index is None or indexed != facts:
                    index, indexed = FactIndex(terms, self.side.limit), facts
                sentence_premises = self._select((p, premises[p]), sentences, rooms, facts, index)
            decides = premises[p] + lengths[h] > self.side.limit
            is_selected = any(premise != p for premise in sentence_premises)
            results[key] = _CheckedText(spans[h], sentences, sentence_premises, decides, is_selected)
        return results

    def _select(
        self, all_facts: tuple[int, int], sentences: list[int], rooms: list[int], facts: list[int], index: FactIndex
    ) -> list[int]:
        """The premise of each sentence of one text, as text ids.

        Args:
            all_facts: text id and number of tokens of the premise of all facts.
            rooms: number of tokens that each sentence leaves for facts.
        """
        tokens = self._tokens(facts)
        premises = []
        subjects: dict[int, float] = {}
        for sentence, room in zip(sentences, rooms, strict=True):
            terms = terms_of(self.strings.texts[sentence])
            subjects = index.subjects(terms) or subjects
            if all_facts[1] <= room:
                premises.append(all_facts[0])
            else:
                ranked = index.choose(terms, subjects) or range(len(facts))
                premises.append(self._fitting(ranked, facts, tokens, room))
        return premises

    def _fitting(self, ranked: Sequence[int], facts: list[int], tokens: Ints, room: int) -> int:
        """The premise of as many facts as fit, the best-ranked first and at least one, in the order of the row."""
        order = np.array(ranked[: max(1, room)], np.int64)
        count = max(1, int(np.searchsorted(np.cumsum(tokens[order]), room, side="right")))
        while True:
            premise = " ".join(self.strings.texts[facts[i]] for i in sorted(order[:count].tolist()))
            # The tokens of the facts may not add up to those of the premise if a tokenizer merges across blanks.
            excess = int(self.side.premise([premise])[0]) - room
            if excess <= 0 or count == 1:
                return self.strings[premise]
            count -= max(1, min(count - 1, excess // 64))

    def _facts_of(self, row: int, limit: int) -> tuple[list[int], list[FactTerms]]:
        """Text ids and terms of the facts that a row uses, in its order. A fact that is a sentence of more than
        ``limit`` tokens is cut into parts."""
        used = self.used(row).tolist()
        facts = [int(self.checks.facts[number]) for number in used]
        entries: list[tuple[int, FactTerms]] = []
        for number, fact, tokens in zip(used, facts, self._tokens(facts).tolist(), strict=True):
            triple = self.rows.triples.distinct[number]
            if number not in self.terms:
                self.terms[number] = terms_of_fact(triple, self.strings.texts[fact])
            if triple.sentence is None or tokens <= limit:
                entries.append((fact, self.terms[number]))
                continue
            parts = cut(self.strings.texts[fact], limit, self._added)
            entries += [(self.strings[part], terms_of_fact(Triple("", part, ""), part)) for part in parts]
        return [fact for fact, _ in entries], [terms for _, terms in entries]

    def _tokens(self, facts: list[int]) -> Ints:
        """The number of tokens that each fact adds to a premise."""
        unmeasured = {fact for fact in facts if fact not in self.added_tokens}
        self.added_tokens.update(self.measured(unmeasured, self._added))
        return np.array([self.added_tokens[fact] for fact in facts], np.int64)

    def _added(self, texts: Sequence[str]) -> Ints:
        """The number of tokens that each text adds to a premise, including the blank before it."""
        empty, *lengths = self.side.premise(["", *(" " + text for text in texts)]).tolist()
        return np.array(lengths, np.int64) - empty


_EMPTY_LINES = re.compile(r"\n[ \t\r\f\v\n]*\n")
_BLANK_LINES = re.compile(r"\n[ \t\r\f\v]*\n\s*")
_ENDS = re.compile(r"[.?!\u2026\u3002\uff01\uff1f]")
"""A character that may end a sentence within a paragraph; most lines of a table have none, and need no splitter."""
_LONGEST_PARAGRAPH = 8192  # code points for the splitter at once; its time grows faster than some texts


def splitter_name() -> str:
    """Package and version of the splitter, as the signature has it."""
    from importlib import metadata

    return f"nupunkt-{metadata.version('nupunkt')}"


def split_text(text: str) -> list[Span]:
    """The sentences of a text: in order, apart from one another, no blanks at either end."""
    from nupunkt import sentence_spans

    # Blank lines end a sentence, single line breaks do not: texts are wrapped anywhere. The splitter's time grows
    # with the square of a run of blank lines, so that one is left of it, in as much room.
    lines = _EMPTY_LINES.sub(lambda run: "\n" + " " * (len(run[0]) - 2) + "\n", text)
    return [(start, end) for start, end in sentence_spans(lines) if start < end]


def split_document(document: str) -> list[str]:
    """The sentences of a document in order, with all of it that is not blank; white space becomes single blanks."""
    sentences: list[str] = []
    for start, end in _paragraphs(document):
        paragraph = document[start:end]
        begins = [start + first for first, _ in split_text(paragraph)][1:] if _ENDS.search(paragraph) else []
        sentences += [" ".join(document[a:b].split()) for a, b in _not_blank(document, pairwise([start, *begins, end]))]
    return sentences


def cut(text: str, limit: int, measure: Measure) -> list[str]:
    """Cut a text that is too long into parts of at most ``limit`` tokens each, at blanks where there are some."""
    spans: list[Span] = []
    parts = list(_not_blank(text, _pieces(text, (0, len(text)), limit)))
    while parts:
        counts = measure([text[start:end] for start, end in parts]).tolist()
        too_long: list[Span] = []
        for (start, end), tokens in zip(parts, counts, strict=True):
            if tokens <= limit or end - start == 1:
                spans.append((start, end))
            else:
                too_long += _not_blank(text, _pieces(text, (start, end), (end - start + 1) // 2))
        parts = too_long
    return [text[start:end] for start, end in sorted(spans)]


def _paragraphs(document: str) -> Iterator[Span]:
    """Parts that are divided into sentences separately: paragraphs, and parts of bounded length of long ones."""
    start = 0
    for match in _BLANK_LINES.finditer(document):
        yield from _pieces(document, (start, match.start()), _LONGEST_PARAGRAPH)
        start = match.end()
    yield from _pieces(document, (start, len(document)), _LONGEST_PARAGRAPH)


def _pieces(document: str, span: Span, limit: int) -> Iterator[Span]:
    """Cut a span into parts of at most ``limit`` code points, each at the last blank in its second half, if any."""
    start, end = span
    while end - start > limit:
        half = start + max(limit // 2, 1)
        cut_position = next(
            (i for i in range(start + limit - 1, half - 1, -1) if document[i].isspace()), start + limit - 1
        )
        yield start, cut_position + 1
        start = cut_position + 1
    if start < end:
        yield start, end


def _not_blank(document: str, spans: Iterable[Span]) -> Iterator[Span]:
    """The spans without outer blanks; spans of nothing but blanks are left out."""
    for start, end in spans:
        text = document[start:end]
        begin = start + len(text) - len(text.lstrip())
        if text := text.strip():
            yield begin, begin + len(text)
