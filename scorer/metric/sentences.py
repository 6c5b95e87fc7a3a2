"""The sentences of a text, each checked against the facts, so that an error can be located.

The check is the hallucination check of the paper (section 3), applied to one sentence: premise = all facts,
hypothesis = the sentence. If these do not fit the model, the premise consists of the facts that
:mod:`scorer.metric.selection` selects for the sentence, as many as fit, in the order of the row.

A row whose whole text fits the model together with all its facts keeps its hallucination check, and its label does not
depend on its sentences. Otherwise that check is not asked, and the sentences decide: all must pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..status import NOT_TOKENISED
from .checks import HALLUCINATION, OMISSION, SENTENCE, Checks, Interner, Sentences
from .rows import Rows
from .selection import FactIndex
from .terms import FactTerms, terms_of, terms_of_fact

Ints = npt.NDArray[np.int64]
Span = tuple[int, int]


@dataclass(frozen=True)
class Room:
    """Lengths of texts in tokens. ``limit``: largest number of tokens of both texts of a pair together. ``premise``,
    ``hypothesis``: functions from texts to the number of tokens that each takes in that position, int64, *Shape:*
    (texts,), or :data:`scorer.status.NOT_TOKENISED`.
    """

    limit: int
    premise: Callable[[Sequence[str]], Ints]
    hypothesis: Callable[[Sequence[str]], Ints]


@dataclass(frozen=True)
class SentenceSide:
    """What the checks of sentences need in addition to the rows. ``split``: text → (start, end) of its sentences.
    ``truncates``: whether pairs that are too long are cut."""

    split: Callable[[str], list[Span]]
    room: Room
    truncates: bool = False


@dataclass
class _Text:
    """A text with one set of facts: its sentences and their premises. ``premises``: text id for each sentence."""

    spans: list[Span]
    hypotheses: list[int]
    premises: list[int]
    decides: bool
    selected: bool


def add_sentences(checks: Checks, rows: Rows, side: SentenceSide) -> Checks:
    """Add a check for every sentence of every row that has a hallucination check.

    The new checks come after the others, by row and position in the text. Rows that are decided by their sentences lose
    their hallucination check. A text that is too long to be tokenised is not divided where its omission checks are an
    error in any case: 50 MB are a million sentences.
    """
    strings = Interner(checks.texts)
    asked = np.flatnonzero(checks.kind == HALLUCINATION)
    work = _Asking(checks, rows, side, strings)
    lengths = work.lengths(set(checks.hypothesis[asked].tolist()))
    refused: dict[int, str] = {}
    if not side.truncates:
        too_long = np.array([lengths[h] >= NOT_TOKENISED for h in checks.hypothesis[asked].tolist()], bool)
        too_long &= np.isin(checks.row[asked], checks.row[checks.kind == OMISSION])
        refused = dict.fromkeys(checks.row[asked[too_long]].tolist(), "too_long:omission")
        asked = asked[~too_long]
    found = work.texts(asked, lengths)
    of_row: list[_Text | None] = [None] * len(rows)
    for check in asked.tolist():
        key = (int(checks.premise[check]), int(checks.hypothesis[check]))
        of_row[checks.row[check]] = found[key]

    counts = np.array([len(text.spans) if text else 0 for text in of_row], np.int64)
    there = [text for text in of_row if text]
    spans = np.array([span for text in there for span in text.spans], np.int32).reshape(-1, 2)
    decides = np.array([text is not None and text.decides for text in of_row], bool)
    kept = ~((checks.kind == HALLUCINATION) & decides[checks.row])
    n = len(spans)

    def join(old: npt.NDArray[Any], new: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate([old[kept], new.astype(old.dtype)])

    return replace(
        checks,
        texts=strings.texts,
        premise=join(checks.premise, np.array([p for text in there for p in text.premises], np.int64)),
        hypothesis=join(checks.hypothesis, np.array([h for text in there for h in text.hypotheses], np.int64)),
        row=join(checks.row, np.repeat(np.arange(len(rows)), counts)),
        kind=join(checks.kind, np.full(n, SENTENCE)),
        fact=join(checks.fact, np.full(n, -1)),
        sentences=Sentences(
            np.concatenate([[0], np.cumsum(counts)]),
            np.ascontiguousarray(spans[:, 0]),
            np.ascontiguousarray(spans[:, 1]),
            decides,
            np.array([text is not None and text.selected for text in of_row], bool),
        ),
        refused=refused,
    )


class _Asking:
    """The work of one window."""

    def __init__(self, checks: Checks, rows: Rows, side: SentenceSide, strings: Interner) -> None:
        self.checks, self.rows, self.side, self.strings = checks, rows, side, strings
        self.room = side.room
        self.fact_tokens = np.full(len(checks.facts), -1, np.int64)
        self.fact_terms: dict[int, FactTerms] = {}

    def texts(self, asked: Ints, lengths: dict[int, int]) -> dict[tuple[int, int], _Text]:
        """The sentences of each distinct (premise, text) pair of hallucination checks. ``lengths``: of the texts."""
        checks = self.checks
        keys = zip(checks.premise[asked].tolist(), checks.hypothesis[asked].tolist(), strict=True)
        row_of = dict(zip(keys, checks.row[asked].tolist(), strict=True))
        premises = self._measured({p for p, _ in row_of}, self.room.premise)
        spans = {h: self.side.split(checks.texts[h]) or [(0, len(checks.texts[h]))] for h in {h for _, h in row_of}}
        hypotheses = {h: [self.strings[checks.texts[h][a:b]] for a, b in spans[h]] for h in spans}
        lengths = lengths | self.lengths({s for sentences in hypotheses.values() for s in sentences})

        found: dict[tuple[int, int], _Text] = {}
        index: FactIndex | None = None
        indexed = -1
        for p, h in sorted(row_of):  # by premise, so that one index serves all texts about the same facts
            sentences = hypotheses[h]
            fits = [premises[p] + lengths[s] <= self.room.limit for s in sentences]
            text = _Text(spans[h], sentences, [p] * len(sentences), premises[p] + lengths[h] > self.room.limit, False)
            if not all(fits):
                facts = self._facts_of(row_of[p, h])
                if index is None or indexed != p:
                    index, indexed = FactIndex([self._terms(fact) for fact in facts], self.room.limit), p
                text.premises = self._select(p, sentences, fits, [lengths[s] for s in sentences], facts, index)
                text.selected = any(premise != p for premise in text.premises)
            found[p, h] = text
        return found

    def _select(
        self, everything: int, sentences: list[int], fits: list[bool], lengths: list[int], facts: list[int],
        index: FactIndex,
    ) -> list[int]:  # fmt: skip
        """The premise of each sentence of one text, as text ids."""
        tokens = self._fact_tokens(facts)
        premises = []
        subjects: dict[int, float] = {}
        for sentence, fit, length in zip(sentences, fits, lengths, strict=True):
            terms = terms_of(self.strings.texts[sentence])
            subjects = index.subjects(terms) or subjects
            if fit:
                premises.append(everything)
                continue
            ranked = index.choose(terms, subjects) or range(len(facts))
            premises.append(self._fitting(ranked, facts, tokens, self.room.limit - length))
        return premises

    def _fitting(self, ranked: Sequence[int], facts: list[int], tokens: Ints, left: int) -> int:
        """The premise of as many facts as fit, the best-ranked first and at least one, in the order of the row."""
        order = np.array(ranked[: max(1, left)], np.int64)
        count = max(1, int(np.searchsorted(np.cumsum(tokens[order]), left, side="right")))
        while True:
            premise = " ".join(self._fact_text(facts[i]) for i in sorted(order[:count].tolist()))
            # The tokens of the facts may not add up to those of the premise if a tokenizer merges across blanks.
            over = int(self.room.premise([premise])[0]) - left
            if over <= 0 or count == 1:
                return self.strings[premise]
            count -= max(1, min(count - 1, over // 64))

    def _facts_of(self, row: int) -> list[int]:
        """Numbers of the distinct triples that the row uses, in its order."""
        triples = self.rows.triples
        chosen = slice(int(triples.offsets[row]), int(triples.offsets[row + 1]))
        ids = triples.ids[chosen]
        return (ids if self.rows.used is None else ids[self.rows.used[chosen]]).tolist()

    def _fact_text(self, fact: int) -> str:
        return self.checks.texts[self.checks.facts[fact]]

    def _terms(self, fact: int) -> FactTerms:
        if fact not in self.fact_terms:
            self.fact_terms[fact] = terms_of_fact(self.rows.triples.distinct[fact], self._fact_text(fact))
        return self.fact_terms[fact]

    def _fact_tokens(self, facts: list[int]) -> Ints:
        """Number of tokens that each fact adds to a premise, including the blank before it."""
        ids = np.array(facts, np.int64)
        new = np.unique(ids[self.fact_tokens[ids] < 0])
        if len(new):
            none, *added = self.room.premise(["", *(" " + self._fact_text(fact) for fact in new.tolist())]).tolist()
            self.fact_tokens[new] = np.array(added, np.int64) - none
        return self.fact_tokens[ids]

    def lengths(self, ids: set[int]) -> dict[int, int]:
        """Tokens of each text as a hypothesis."""
        return self._measured(ids, self.room.hypothesis)

    def _measured(self, ids: set[int], measure: Callable[[Sequence[str]], Ints]) -> dict[int, int]:
        order = sorted(ids)
        return dict(zip(order, measure([self.strings.texts[i] for i in order]).tolist(), strict=True))
