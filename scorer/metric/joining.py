"""Facts of one subject that a sentence says together (:mod:`.joint_templates`): a text often says a few columns of a
table as one thing, such as a score, and no part of it says only one of them.

A sentence is used for each subject of a row that has each of its predicates exactly once, unless earlier sentences say
all of them. Its check replaces the checks of the facts that no earlier sentence says, at the position of the first of
them. Facts that are optional or not selected are not joined. Everything else about a row is unchanged: its key, the
positions of its facts, the length of its columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np
import numpy.typing as npt

from .fact_templates import Templates
from .facts import FactTable, Rows, Triple
from .joint_templates import SUBJECT, JointTemplate
from .slots import unquoted

OptionalFacts = frozenset[tuple[str, str]]
"""(predicate, object) pairs that a text may omit."""
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def join(rows: Rows, templates: Templates, optional: OptionalFacts) -> Rows:
    """The same rows with sentences in place of the facts that they say; rows without such sentences are unchanged.

    ``triples.source`` of the result has the facts as the rows have them. ``optional``: facts as in :class:`.Options`.
    """
    if not templates.joint or rows.triples.sentences:
        return rows
    return _with_sentences(rows, list(_find_uses(rows, templates, optional)))


@dataclass(frozen=True)
class SentenceUse:
    """Numbers of uses of a sentence of a template file."""

    sentence: str
    subjects: int
    """Subjects of rows that it is used for."""
    facts: int
    """Facts that it is the first sentence to say."""
    unused: str | None
    """Why it is never used; ``None`` if it is used."""


class SentenceUses:
    """Counts the use of each sentence over windows of rows."""

    def __init__(self, templates: Templates, optional: OptionalFacts) -> None:
        self._templates, self._optional = templates, optional
        self._counts: list[Counter[str]] = [Counter() for _ in templates.joint]
        self._predicates: set[str] = set()

    def join(self, rows: Rows) -> Rows:
        """As :func:`join`, and count."""
        if not self._templates.joint or rows.triples.sentences:
            return rows
        self._predicates |= {self._templates.canonical(triple.predicate) for triple in rows.triples.distinct}
        uses = list(_find_uses(rows, self._templates, self._optional))
        for counts, use in zip(self._counts, uses, strict=True):
            counts.update(use.counts)
        return _with_sentences(rows, uses)

    @property
    def facts(self) -> int:
        """Number of facts that sentences say."""
        return sum(counts["facts"] for counts in self._counts)

    def report(self) -> list[SentenceUse]:
        """The use of each sentence, in the order of the file."""
        return [
            SentenceUse(str(template), counts["used"], counts["facts"], self._why_unused(template, counts))
            for template, counts in zip(self._templates.joint, self._counts, strict=True)
        ]

    def lines(self) -> list[str]:
        """Lines for the console: the number of facts that sentences say, and the sentences without a use, with the
        reason."""
        unused = [f"never used: {use.sentence}: {use.unused}" for use in self.report() if use.unused is not None]
        return [f"facts that sentences say: {self.facts:,}", *unused] if self._templates.joint else []

    def _why_unused(self, template: JointTemplate, counts: Counter[str]) -> str | None:
        if counts["used"]:
            return None
        lacking = [predicate for predicate in template.predicates if predicate not in self._predicates]
        if lacking:
            similar = get_close_matches(lacking[0], sorted(self._predicates), 1)
            names = f"{'predicates' if lacking[1:] else 'predicate'} {', '.join(map(repr, lacking))}"
            return f"no fact has the {names}" + (f"; did you mean {similar[0]!r}?" if similar else "")
        if not counts["complete"]:
            return "no subject of a row has all its predicates (facts that are optional or not selected do not count)"
        if not counts["once"]:
            return "each subject that has all its predicates has one of them twice"
        return "earlier sentences say all its facts" if not counts["unsaid"] else "none of its conditions holds"


@dataclass(frozen=True)
class _Use:
    """The uses of a sentence in a window."""

    members: Ints
    """Positions of its facts in the window, *Shape:* (uses, predicates)."""
    is_new: Bools
    """Whether no earlier sentence says a fact, *Shape:* (uses, predicates)."""
    texts: list[str]
    """Its distinct texts."""
    text: Ints
    """Positions in ``texts``, *Shape:* (uses,)."""
    counts: dict[str, int]
    """Subjects of rows that have all its predicates (``complete``), each ``once``, some of them ``unsaid`` by earlier
    sentences, and that use it (``used``); ``facts`` that it is the first to say."""


def _find_uses(rows: Rows, templates: Templates, optional: OptionalFacts) -> Iterator[_Use]:
    """The uses of each sentence, in the order of the file."""
    predicates = dict.fromkeys(predicate for template in templates.joint for predicate in template.predicates)
    columns = {predicate: number for number, predicate in enumerate(predicates)}
    times, fact_of = _facts_of_subjects(rows, templates, columns, optional)
    triples, is_said = rows.triples, np.zeros(len(rows.triples.ids), bool)
    for template in templates.joint:
        template_columns = [columns[predicate] for predicate in template.predicates]
        complete, once = (times[:, template_columns] > 0).all(axis=1), (times[:, template_columns] == 1).all(axis=1)
        members = fact_of[once][:, template_columns]
        members = members[~is_said[members].all(axis=1)]
        kinds, kind = _distinct_rows(triples.ids[members])
        filled = [_fill(template, [triples.distinct[number] for number in numbers]) for numbers in kinds.tolist()]
        applies = np.array([text is not None for text in filled], bool)
        used = members[applies[kind]]
        is_new = ~is_said[used]
        is_said[used] = True
        counts = {"complete": int(complete.sum()), "once": int(once.sum()), "unsaid": len(members), "used": len(used),
                  "facts": int(is_new.sum())}  # fmt: skip
        texts = [text for text in filled if text is not None]
        yield _Use(used, is_new, texts, (np.cumsum(applies) - 1)[kind[applies[kind]]], counts)


def _facts_of_subjects(
    rows: Rows, templates: Templates, columns: dict[str, int], optional: OptionalFacts
) -> tuple[Ints, Ints]:
    """Count each predicate of the sentences among the facts of each subject of a row, with the position of one of them.

    int64, *Shape:* (subjects of rows, columns) each.
    """
    triples, subjects = rows.triples, dict[str, int]()
    column, subject = np.full((2, len(triples.distinct)), -1, np.int64)
    for number, triple in enumerate(triples.distinct):
        predicate_column = columns.get(templates.canonical(triple.predicate))
        if predicate_column is not None and not templates.is_optional(triple, optional):
            column[number], subject[number] = predicate_column, subjects.setdefault(triple.subject, len(subjects))
    takes_part = column[triples.ids] >= 0
    if rows.used is not None:
        takes_part &= rows.used
    facts = np.flatnonzero(takes_part)
    row = np.repeat(np.arange(len(rows)), triples.lengths)[facts]
    owners, owner = np.unique(row * max(1, len(subjects)) + subject[triples.ids[facts]], return_inverse=True)
    cell = owner.reshape(-1) * len(columns) + column[triples.ids[facts]]
    times = np.bincount(cell, minlength=len(owners) * len(columns))
    fact_of = np.zeros(len(times), np.int64)
    fact_of[cell] = facts
    return times.reshape(-1, len(columns)), fact_of.reshape(-1, len(columns))


def _fill(template: JointTemplate, triples: list[Triple]) -> str | None:
    """The sentence of some triples, one for each of its predicates."""
    values = {name: unquoted(triple.object) for name, triple in zip(template.predicates, triples, strict=True)}
    return template.fill({SUBJECT: triples[0].subject, **values})


def _distinct_rows(ids: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], Ints]:
    """The distinct rows of a matrix, and the number of each row among them. *Shape:* (n, k) → (m, k), (n,)."""
    kind = np.zeros(len(ids), np.int64)
    for column in ids.T:
        kind = np.unique(kind * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1].reshape(-1)
    first = np.unique(kind, return_index=True)[1]
    return ids[first], kind


def _with_sentences(rows: Rows, uses: list[_Use]) -> Rows:
    """The rows with sentences in place of facts. Each is a triple of a predicate alone, as a fact that was given as a
    sentence is."""
    triples = rows.triples
    if not any(len(use.members) for use in uses):
        return rows
    ids, joined_position = triples.ids.copy(), np.arange(len(triples.ids))
    interner: dict[Triple, int] = {}
    for use in uses:
        sentence_ids = [interner.setdefault(Triple("", text, ""), len(interner)) for text in use.texts]
        first = np.where(use.is_new, use.members, len(ids)).min(axis=1)
        ids[first] = len(triples.distinct) + np.array(sentence_ids, np.int32)[use.text]
        joined_position[use.members[use.is_new]] = np.broadcast_to(first[:, None], use.members.shape)[use.is_new]
    is_checked = joined_position == np.arange(len(ids))
    checked_before = np.append(0, np.cumsum(is_checked))
    numbers, new_ids = np.unique(ids[is_checked], return_inverse=True)
    distinct = [*triples.distinct, *interner]
    joined = copy(rows)  # texts and errors stay as they are
    joined.used = None if rows.used is None else rows.used[is_checked]
    joined.triples = replace(
        triples,
        distinct=[distinct[number] for number in numbers.tolist()],
        offsets=checked_before[triples.offsets],
        ids=new_ids.reshape(-1).astype(np.int32),
        source=triples,
        joined_position=checked_before[joined_position],
    )
    return joined


def joint_positions(triples: FactTable, row: int) -> list[list[int]]:
    """The positions in a row of the facts of each sentence that says several."""
    if triples.joined_position is None:
        return []
    start, end = triples.of_rows.offsets[row : row + 2]
    positions: dict[int, list[int]] = {}
    for position, joined in enumerate(triples.joined_position[start:end].tolist()):
        positions.setdefault(joined, []).append(position)
    return [group for group in positions.values() if len(group) > 1]
