"""The checks of a row: one (premise, hypothesis) pair for the model per check.

The paper (section 3) checks entailment in both directions: the text must entail each fact (otherwise that fact is
omitted), and all facts together must entail the text (otherwise it hallucinates). The paper's code has a third check:
the text must entail all facts together. FactSpotter has omission checks alone, with the triple as hypothesis.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..errors import ColumnError, TemplateError
from ..status import RowError
from . import Options, factspotter
from .fact_templates import Fact, Templates
from .facts import Rows

OMISSION, HALLUCINATION, ALL_FACTS, SENTENCE = 0, 1, 2, 3
Ids = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]
_SAID = re.compile(r"[^\W_]")
"""A letter or a digit."""
KIND_NAMES = ("omission", "hallucination", "all_facts", "sentence")


@dataclass
class Sentences:
    """The sentences of a window."""

    offsets: npt.NDArray[np.int64]
    """*Shape:* (rows + 1,); row *r* owns ``starts[offsets[r]:offsets[r + 1]]``."""
    starts: npt.NDArray[np.int32]
    """First code point of each sentence in its row's text, *Shape:* (sentences,)."""
    ends: npt.NDArray[np.int32]
    """Code point after each sentence, *Shape:* (sentences,)."""
    decides: npt.NDArray[np.bool_]
    """Whether the sentences decide the hallucination side of a row, *Shape:* (rows,)."""
    selected: npt.NDArray[np.bool_]
    """Whether a sentence of a row was checked against a part of the facts, *Shape:* (rows,)."""


@dataclass
class Checks:
    """The checks of a window, and the strings that they refer to."""

    texts: list[str]
    """Every distinct string; a text id is a position in it."""
    premise: npt.NDArray[np.int32]
    """Text ids, *Shape:* (checks,)."""
    hypothesis: npt.NDArray[np.int32]
    """Text ids, *Shape:* (checks,)."""
    row: npt.NDArray[np.int64]
    """Row of each check, *Shape:* (checks,)."""
    kind: npt.NDArray[np.int8]
    """Position in :data:`KIND_NAMES`, *Shape:* (checks,)."""
    fact: npt.NDArray[np.int64]
    """Position of an omission check's fact among all facts of the window, otherwise -1, *Shape:* (checks,)."""
    blank: npt.NDArray[np.bool_]
    """Rows without an error and with neither a letter nor a digit in the text, *Shape:* (rows,)."""
    facts: npt.NDArray[np.int32]
    """Text ids of the facts in words, *Shape:* (distinct triples,)."""
    backoff: npt.NDArray[np.bool_]
    """Whether a fact has no template, *Shape:* (distinct triples,)."""
    sentences: Sentences | None = None
    """The sentences, in the order of their checks; ``None`` if sentences are not checked."""
    refused: dict[int, RowError] = field(default_factory=dict)
    """The error of rows that get no check, by row."""


def build_checks(rows: Rows, templates: Templates, options: Options) -> Checks:
    """The checks of the protocol for every row without an error and with a text that is not blank.

    Order: omission checks by row and position, then hallucination checks by row, then the third checks of the protocol.
    Raises as :func:`verbalise`.
    """
    triples, spots_facts = rows.triples, options.protocol == "factspotter"
    filled = verbalise(rows, templates, options)
    strings: dict[str, int] = {}  # to its id, in order of first appearance
    texts_read = _read_texts(rows, options)
    blank, active = _blank_and_active(rows, texts_read)

    fact_ids = np.array([strings.setdefault(fact.text, len(strings)) for fact in filled], np.int32)
    ids = np.full(len(texts_read), -1, np.int32)
    for code in np.unique(rows.text_codes[active]).tolist():
        text = texts_read[code] or ""
        ids[code] = strings.setdefault(factspotter.plain_text(text) if spots_facts else text, len(strings))
    text_ids = _add_titles(rows, filled, ids[rows.text_codes], active, strings, options)
    row_of_fact = np.repeat(np.arange(len(rows)), triples.lengths)
    used = active[row_of_fact]
    if rows.used is not None:
        used &= rows.used

    groups: list[tuple[int, Places, Ids, Ids]] = []  # kind; row, premise and hypothesis of each check
    required, facts = used, np.empty(0, np.int64)
    if options.sides != "hallucination":
        if options.optional:
            optional = np.array([templates.is_optional(t, options.optional) for t in triples.distinct], bool)
            required = used & ~optional[triples.ids] if optional.any() else used
        facts = np.flatnonzero(required)
        fact_texts = [factspotter.first_text(fact.text) if spots_facts else fact.text for fact in filled]
        fact_hypotheses = np.array([strings.setdefault(text, len(strings)) for text in fact_texts], np.int32)
        owners = row_of_fact[facts]
        groups.append((OMISSION, owners, text_ids[owners], fact_hypotheses[triples.ids[facts]]))
    texts, scored = [fact.text for fact in filled], np.flatnonzero(active)
    joined = None
    if not spots_facts and options.sides != "omission":
        joined = _joined(rows, texts, used, strings)
        groups.append((HALLUCINATION, scored, joined[scored], text_ids[scored]))
    if options.protocol == "nlgi_eval" and options.sides != "hallucination":
        all_facts = joined if joined is not None and required is used else _joined(rows, texts, required, strings)
        scored = scored[all_facts[scored] >= 0]  # a row with optional facts alone has no such check
        groups.append((ALL_FACTS, scored, text_ids[scored], all_facts[scored]))

    kinds, rows_of, premises, hypotheses = zip(*groups, strict=True)
    row = np.concatenate(rows_of)
    return Checks(
        texts=list(strings),
        premise=np.concatenate(premises).astype(np.int32),
        hypothesis=np.concatenate(hypotheses).astype(np.int32),
        row=row,
        kind=np.repeat(np.array(kinds, np.int8), [*map(len, rows_of)]),
        fact=np.append(facts, np.full(len(row) - len(facts), -1)),
        blank=blank,
        facts=fact_ids,
        backoff=np.array([fact.backoff for fact in filled], bool),
    )


def _blank_and_active(rows: Rows, texts_read: list[str | None]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Rows with a text without a letter or a digit, and rows to check; neither has an error. *Shape:* (rows,) each."""
    says_nothing = [text is not None and _SAID.search(text) is None for text in texts_read]
    blank = np.array(says_nothing)[rows.text_codes]
    blank[list(rows.errors)] = False
    active = ~blank
    active[list(rows.errors)] = False
    return blank, active


def _read_texts(rows: Rows, options: Options) -> list[str | None]:
    """The distinct texts as the model reads them."""
    if options.reading != "plain":
        return rows.texts
    from . import plain  # here, because its patterns take a while to compile

    return plain.read_texts(rows.texts)


def _add_titles(
    rows: Rows,
    filled: list[Fact],
    text_ids: Ids,
    active: npt.NDArray[np.bool_],
    strings: dict[str, int],
    options: Options,
) -> Ids:
    """Text ids of rows; under ``--reading plain`` of texts with titles, see :func:`.plain.add_titles`."""
    if options.reading != "plain":
        return text_ids
    from . import plain

    return plain.add_titles(rows, [fact.text for fact in filled], text_ids, active, strings)


def verbalise(rows: Rows, templates: Templates, options: Options) -> list[Fact]:
    """The fact of each distinct triple. *Length:* distinct triples.

    Raises:
        TemplateError: a triple has no template and ``missing_template`` is ``error``; names the triple.
        ColumnError: the facts are sentences, and the protocol takes triples apart.
    """
    triples = rows.triples.distinct
    if options.protocol == "factspotter":
        if rows.triples.sentences:
            raise ColumnError("the protocol factspotter takes triples, and these facts are sentences; give triples")
        return [Fact(factspotter.describe(factspotter.plain_parts(triple)), backoff=False) for triple in triples]
    filled = [templates.fill(triple) for triple in triples]
    if options.reading == "plain":
        from . import plain

        filled = plain.read_facts(triples, filled)
    missing = [triple for triple, fact in zip(triples, filled, strict=True) if fact.backoff]
    if missing and options.missing_template == "error":
        raise TemplateError(
            f"no template for predicate {missing[0].predicate!r} (object {missing[0].object!r}; {len(missing)} such "
            "triples in this window): add it to the template file, or allow --missing-template backoff"
        )
    return filled


def _joined(rows: Rows, texts: list[str], used: npt.NDArray[np.bool_], strings: dict[str, int]) -> Ids:
    """Text ids of each row's used facts joined by one space; -1 if no fact is used. int32, *Shape:* (rows,)."""
    before = np.concatenate([[0], np.cumsum(used)])
    offsets = before[rows.triples.offsets].tolist()
    ids = rows.triples.ids[used]
    id_of_facts: dict[bytes, int] = {}
    result = np.full(len(rows), -1, np.int32)
    for row, (start, end) in enumerate(pairwise(offsets)):
        if start < end:
            key = ids[start:end].tobytes()
            if key not in id_of_facts:
                facts = " ".join([texts[i] for i in ids[start:end].tolist()])
                id_of_facts[key] = strings.setdefault(facts, len(strings))
            result[row] = id_of_facts[key]
    return result
