"""From probabilities to labels (the paper, section 3).

A check passes if entailment has the highest of its three probabilities; a tie fails. If a model has no other classes
(their probabilities are NaN), a check passes if P(entailment) is at least the model's threshold. The omission side of a
row fails if any of its omission checks fails (or the third check of the ``nlgi_eval`` protocol), its hallucination side
if the hallucination check fails. The confidence is the smallest entailment probability of all checks of the row; under
the protocol ``factspotter`` it is their mean, and 1 where no fact is asked about.

Checks of sentences (:mod:`scorer.metric.sentences`) do not affect the label, unless the whole text does not fit the
model: then they replace its hallucination check, and all must pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..status import SCORED, STATUS_NAMES
from . import FINE
from .checks import ALL_FACTS, HALLUCINATION, OMISSION, SENTENCE, Checks
from .facts import Rows

ROUGH = ("OK", "not_OK")
EMPTY_TEXT = "empty_text"
TRUNCATED = "truncated"
BY_SENTENCES = "by_sentences"
FACTS_SELECTED = "facts_selected"
UNKNOWN_TOKENS = "unknown_tokens"

CONTRADICTION, NEUTRAL, ENTAILMENT = 0, 1, 2


@dataclass
class Verdicts:
    """The labels of a window. NaN and -1 stand for null.

    ``fine``: int8, *Shape:* (rows,), position in :data:`FINE`. ``confidence``, ``text_entailment``,
    ``all_facts_entailment``: float32, *Shape:* (rows,). ``fact_entailment``: float32, *Shape:* (facts,).
    ``sentence_entailment``: float32, *Shape:* (sentences,), empty unless asked. ``omitted``: bool, *Shape:* (facts,).
    ``omission_known``: bool, *Shape:* (rows,), whether ``omitted`` is valid for the row. ``facts_checked``: bool,
    *Shape:* (rows,), whether the row had any omission check.
    ``errors``, ``notes``: by row.
    """

    fine: npt.NDArray[np.int8]
    confidence: npt.NDArray[np.float32]
    text_entailment: npt.NDArray[np.float32]
    all_facts_entailment: npt.NDArray[np.float32]
    fact_entailment: npt.NDArray[np.float32]
    omitted: npt.NDArray[np.bool_]
    omission_known: npt.NDArray[np.bool_]
    facts_checked: npt.NDArray[np.bool_]
    errors: dict[int, str]
    notes: dict[int, str]
    sentence_entailment: npt.NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))


def passes(probabilities: npt.NDArray[np.float32], threshold: float = 0.5) -> npt.NDArray[np.bool_]:
    """Whether entailment is strictly the highest, or without other classes at least ``threshold``.

    *Shape:* (n, 3), float32, in the order C, N, E, NaN for a class that the model does not have → (n,), bool.
    """
    entailment = probabilities[:, ENTAILMENT]
    others = np.maximum(probabilities[:, CONTRADICTION], probabilities[:, NEUTRAL])
    return np.where(np.isnan(others), entailment >= np.float32(threshold), entailment > others)


def decide(
    rows: Rows,
    checks: Checks,
    probabilities: npt.NDArray[np.float32],
    status: npt.NDArray[np.int8],
    truncated: npt.NDArray[np.bool_] | None = None,
    *,
    unknown: npt.NDArray[np.bool_] | None = None,
    omission_side: bool = True,
    mean: bool = False,
    threshold: float = 0.5,
) -> Verdicts:
    """Judge every row of a window.

    Args:
        probabilities: float32, *Shape:* (checks, 3), contradiction, neutral, entailment; NaN for a class that the
            model does not have.
        status: int8, *Shape:* (checks,), :data:`scorer.status.SCORED` or the reason for missing probabilities.
        truncated: bool, *Shape:* (checks,), checks whose pair was truncated to fit the model.
        unknown: bool, *Shape:* (checks,), checks with characters that the tokenizer does not know.
        omission_side: False if the omission side is switched off for the whole run.
        mean: whether the confidence is the mean of the entailment probabilities instead of the smallest.
        threshold: the smallest P(entailment) that passes, if the model has no other classes.
    """
    n, facts = len(rows), len(rows.triples.ids)
    scored = status == SCORED
    entailment = np.where(scored, probabilities[:, ENTAILMENT], np.float32(np.nan)).astype(np.float32)
    failed = scored & ~passes(probabilities, threshold)

    # The check of a sentence counts only where it replaces the check of the whole text.
    in_sentence = checks.kind == SENTENCE
    sentences = checks.sentences
    by_sentences = in_sentence & sentences.decides[checks.row] if sentences is not None else in_sentence
    counts = ~in_sentence | by_sentences
    judged = scored & counts

    about_fact = checks.kind == OMISSION
    fact_entailment = np.full(facts, np.nan, np.float32)
    fact_entailment[checks.fact[about_fact]] = entailment[about_fact]
    omitted = np.zeros(facts, bool)
    omitted[checks.fact[about_fact & failed]] = True

    def any_in_row(chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        result = np.zeros(n, bool)
        result[checks.row[chosen]] = True
        return result

    text_entailment, all_facts_entailment = np.full((2, n), np.nan, np.float32)
    for kind, of_rows in ((HALLUCINATION, text_entailment), (ALL_FACTS, all_facts_entailment)):
        of_rows[checks.row[checks.kind == kind]] = entailment[checks.kind == kind]
    about_text = (checks.kind == HALLUCINATION) | by_sentences
    omission = any_in_row(failed & counts & ~about_text)
    hallucination = any_in_row(failed & about_text)
    fine = (omission + 2 * hallucination).astype(np.int8)
    confidence = _confidence(checks.row[judged], entailment[judged], n, mean)

    errors = dict(rows.errors)
    if not scored.all():
        errors.update(_check_errors(checks, status, counts))
    errors.update(checks.refused)
    # A blank text expresses none of its facts; the model is not asked.
    blank_facts = np.repeat(checks.blank, rows.triples.lengths)
    omitted |= blank_facts if rows.used is None else blank_facts & rows.used
    fine[checks.blank] = FINE.index("omission")
    confidence[checks.blank] = 0.0

    broken = list(errors)
    fine[broken] = -1
    confidence[broken] = np.nan
    unchecked = any_in_row(~scored & about_fact)
    unchecked[list(rows.errors)] = True
    known = ~unchecked if omission_side else checks.blank
    return Verdicts(
        fine=fine,
        confidence=confidence,
        text_entailment=text_entailment,
        all_facts_entailment=all_facts_entailment,
        fact_entailment=fact_entailment,
        sentence_entailment=entailment[in_sentence],
        omitted=omitted,
        omission_known=known,
        facts_checked=any_in_row(about_fact),
        errors=errors,
        notes=_notes(checks, truncated, unknown),
    )


def _notes(
    checks: Checks, truncated: npt.NDArray[np.bool_] | None, unknown: npt.NDArray[np.bool_] | None
) -> dict[int, str]:
    """The notes of rows, several joined by ``+`` in this order."""
    notes: dict[int, str] = {}
    noted = [
        (EMPTY_TEXT, np.flatnonzero(checks.blank)),
        (BY_SENTENCES, np.flatnonzero(checks.sentences.decides) if checks.sentences is not None else ()),
        (FACTS_SELECTED, np.flatnonzero(checks.sentences.selected) if checks.sentences is not None else ()),
        (TRUNCATED, np.unique(checks.row[truncated]) if truncated is not None else ()),
        (UNKNOWN_TOKENS, np.unique(checks.row[unknown]) if unknown is not None else ()),
    ]
    for note, found in noted:
        for row in map(int, found):
            notes[row] = f"{notes[row]}+{note}" if row in notes else note
    return notes


def _confidence(
    row: npt.NDArray[np.int64], values: npt.NDArray[np.float32], rows: int, mean: bool
) -> npt.NDArray[np.float32]:
    """The smallest of the values of each row, or their mean, and 1 without any. float32, *Shape:* (rows,)."""
    found = np.full(rows, np.inf, np.float32)
    np.minimum.at(found, row, values)
    if not mean:
        return found
    counted, summed = np.bincount(row, minlength=rows), np.bincount(row, values.astype(np.float64), minlength=rows)
    return np.where(counted, summed / np.maximum(counted, 1), 1.0).astype(np.float32)


def _check_errors(checks: Checks, status: npt.NDArray[np.int8], counts: npt.NDArray[np.bool_]) -> dict[int, str]:
    """``kind:side`` for each row in which a check that counts has no probabilities; two sides are joined by ``+``."""
    sides: dict[int, dict[int, set[str]]] = {}
    for c in np.flatnonzero((status != SCORED) & counts).tolist():
        side = "hallucination" if checks.kind[c] in (HALLUCINATION, SENTENCE) else "omission"
        sides.setdefault(int(checks.row[c]), {}).setdefault(int(status[c]), set()).add(side)
    errors = {}
    for row, by_status in sides.items():
        code = min(by_status)  # one kind per row: one that is due to the input goes before one due to the machine
        errors[row] = f"{STATUS_NAMES[code]}:{'+'.join(sorted(by_status[code], reverse=True))}"
    return errors
