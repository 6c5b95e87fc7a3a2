"""From probabilities to labels (the paper, section 3).

The omission side of a row fails if any of its omission checks fails (or the third check of the ``nlgi_eval`` protocol),
its hallucination side if the hallucination check fails. The confidence is the smallest entailment probability of all
checks of the row; under the protocol ``factspotter`` it is their mean. It is 1 where nothing is asked.

An omitted fact is *contradicted* if the probability of contradiction of its check is at least the bundle's threshold:
then the text says something else in its place, otherwise the text leaves it out. No label depends on that.

Checks of sentences (:mod:`scorer.metric.sentences`) decide where the whole text does not fit the model: they replace
its hallucination check, and all must pass. Of a text that fits, the worst of several sentences counts as much as the
whole text, where a run asks for that: the hallucination side fails unless the mean of their margins is positive.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..status import SCORED, STATUS_NAMES, RowError
from . import FINE, OTHER_LANGUAGE
from .checks import ALL_FACTS, HALLUCINATION, OMISSION, SENTENCE, Checks
from .facts import FactTable, Rows

ROUGH = ("OK", "not_OK")
"""The position of a label is that of its FINE label, at most 1."""
EMPTY_TEXT = "empty_text"
TRUNCATED = "truncated"
BY_SENTENCES = "by_sentences"
FACTS_SELECTED = "facts_selected"
UNKNOWN_TOKENS = "unknown_tokens"

CONTRADICTION, NEUTRAL, ENTAILMENT = 0, 1, 2


@dataclass
class Verdicts:
    """The labels of a window."""

    columns: dict[str, pa.Array]
    """The arrays of :data:`.columns.OUTPUT` that depend on the model, by name."""
    sentence_entailment: npt.NDArray[np.float32]
    """P(entailment) of each sentence, NaN where there is none, *Shape:* (sentences,)."""
    errors: dict[int, RowError]
    """The error of a row, by row."""
    notes: dict[int, str]
    """The notes of a row, by row."""


def passes(probabilities: npt.NDArray[np.float32], threshold: float = 0.5) -> npt.NDArray[np.bool_]:
    """Whether entailment is strictly the highest (a tie fails), or without other classes at least ``threshold``.

    *Shape:* (n, 3), float32, in the order C, N, E, NaN for a class that the model does not have → (n,), bool. A check
    with a positive margin (:func:`margins`) passes; with the margin 0 it passes only without other classes.
    """
    limit, is_threshold = _limits(probabilities, threshold)
    entailment = probabilities[:, ENTAILMENT]
    return (entailment > limit) | (is_threshold & (entailment == limit))


def margins(probabilities: npt.NDArray[np.float32], threshold: float = 0.5) -> npt.NDArray[np.float32]:
    """P(entailment) minus the larger of the others, or without other classes minus ``threshold``; positive where a
    check passes. *Shape:* (n, 3), float32 → (n,), float32."""
    limit, _ = _limits(probabilities, threshold)
    return (probabilities[:, ENTAILMENT] - limit).astype(np.float32)


def _limits(
    probabilities: npt.NDArray[np.float32], threshold: float
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """The probability that P(entailment) is compared with: the larger of the other classes, or without them
    ``threshold``; and whether it is the threshold. *Shape:* (n, 3), float32 → (n,), float32, and (n,), bool."""
    largest_other = np.maximum(probabilities[:, CONTRADICTION], probabilities[:, NEUTRAL])
    is_threshold = np.isnan(largest_other)
    return np.where(is_threshold, np.float32(threshold), largest_other), is_threshold


def by_worst_sentence(checks: Checks) -> npt.NDArray[np.bool_]:
    """Checks of whole texts and of sentences, for texts of several sentences that fit the model. bool, *Shape:*
    (checks,)."""
    sentences = checks.sentences
    if sentences is None:
        return np.zeros(len(checks.row), bool)
    several = (np.diff(sentences.offsets) > 1) & ~sentences.decides
    return several[checks.row] & ((checks.kind == HALLUCINATION) | (checks.kind == SENTENCE))


def _worst_sentences(
    checks: Checks, margin: npt.NDArray[np.float32], entailment: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Rows that the whole text and the worst sentence decide together, and whether they fail: unless the mean of the
    margins is positive. The worst sentence is the first with the smallest P(entailment). *Shape:* (judged rows,) each.
    """
    scored = np.flatnonzero(by_worst_sentence(checks) & ~np.isnan(entailment))
    texts, parts = (scored[checks.kind[scored] == kind] for kind in (HALLUCINATION, SENTENCE))
    order = parts[np.lexsort((parts, entailment[parts], checks.row[parts]))]
    rows, first = np.unique(checks.row[order], return_index=True)
    rows, of_texts, of_sentences = np.intersect1d(checks.row[texts], rows, return_indices=True)
    return rows, ~(margin[texts[of_texts]] + margin[order[first[of_sentences]]] > 0)


def decide(
    rows: Rows,
    checks: Checks,
    probabilities: npt.NDArray[np.float32],
    status: npt.NDArray[np.int8],
    truncated: npt.NDArray[np.bool_] | None = None,
    *,
    unknown: npt.NDArray[np.bool_] | None = None,
    other_language: npt.NDArray[np.bool_] | None = None,
    omission_side: bool = True,
    mean: bool = False,
    worst_sentence: bool = False,
    threshold: float = 0.5,
    contradiction: float | None = None,
) -> Verdicts:
    """Judge every row of a window.

    Args:
        probabilities: float32, *Shape:* (checks, 3), as :func:`passes` takes them.
        status: int8, *Shape:* (checks,), :data:`scorer.status.SCORED` or the reason for missing probabilities.
        truncated: bool, *Shape:* (checks,), pairs that were truncated to fit the model.
        unknown: bool, *Shape:* (checks,), checks with characters that the tokenizer does not know.
        other_language: bool, *Shape:* (rows,), texts in a language that the model does not read.
        omission_side: whether the run checks the omission side.
        mean: whether the confidence is a mean instead of the smallest.
        worst_sentence: whether the worst of several sentences counts as much as the whole text.
        threshold: as :func:`passes` takes it.
        contradiction: the least probability at which a text contradicts a fact that it omits; ``None`` if unknown.
    """
    n = len(rows)
    scored = status == SCORED
    entailment = np.where(scored, probabilities[:, ENTAILMENT], np.float32(np.nan)).astype(np.float32)
    failed = scored & ~passes(probabilities, threshold)

    in_sentence = checks.kind == SENTENCE
    by_sentences = _deciding_sentences(checks)
    decides_side = ~in_sentence | by_sentences
    of_hallucinations = (checks.kind == HALLUCINATION) | by_sentences
    omission, hallucination = (
        np.bincount(checks.row[fails], minlength=n) > 0
        for fails in (failed & decides_side & ~of_hallucinations, failed & of_hallucinations)
    )
    if worst_sentence:
        decided_together, together_fails = _worst_sentences(checks, margins(probabilities, threshold), entailment)
        hallucination[decided_together] = together_fails
    fine = (omission + 2 * hallucination).astype(np.int8)
    confidence = _confidence(checks.row[scored & decides_side], entailment[scored & decides_side], n, mean)

    errors = dict(rows.errors)
    if not scored.all():
        decisive = decides_side | by_worst_sentence(checks) if worst_sentence else decides_side
        errors.update(_check_errors(checks, status, decisive))
    errors.update(checks.refused)
    # A blank text expresses none of its facts; the model is not asked.
    fine[checks.blank], confidence[checks.blank] = FINE.index("omission"), 0.0
    broken = list(errors)
    fine[broken], confidence[broken] = -1, np.nan

    notes = _notes(checks, truncated, unknown, other_language)
    contradicts = _contradicts(failed, probabilities, contradiction)
    fully_checked = _fully_checked(rows, checks, scored) if omission_side else checks.blank
    columns = {  # from_pandas: NaN is null
        "fine": _labels(fine, FINE),
        "rough": _labels(np.minimum(fine, 1), ROUGH),
        "confidence": pa.array(confidence, from_pandas=True),
        **_fact_columns(rows, checks, entailment, failed, contradicts, fully_checked),
        "text_entailment": _of_rows(checks, entailment, HALLUCINATION, n),
        "all_facts_entailment": _of_rows(checks, entailment, ALL_FACTS, n),
        "error": _sparse({row: error.text for row, error in errors.items()}, n),
        "note": _sparse(notes, n),
    }
    return Verdicts(columns, entailment[in_sentence], errors, notes)


def _deciding_sentences(checks: Checks) -> npt.NDArray[np.bool_]:
    """Checks of sentences that replace the check of the whole text. bool, *Shape:* (checks,)."""
    in_sentence, sentences = checks.kind == SENTENCE, checks.sentences
    return in_sentence & sentences.decides[checks.row] if sentences is not None else in_sentence


def _of_rows(checks: Checks, entailment: npt.NDArray[np.float32], kind: int, rows: int) -> pa.Array:
    """P(entailment) of each row's check of a kind, null without one. float32, *Shape:* (rows,)."""
    values = np.full(rows, np.nan, np.float32)
    values[checks.row[checks.kind == kind]] = entailment[checks.kind == kind]
    return pa.array(values, from_pandas=True)


def _fully_checked(rows: Rows, checks: Checks, scored: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Rows with results of all their omission checks. bool, *Shape:* (rows,)."""
    unchecked = np.bincount(checks.row[~scored & (checks.kind == OMISSION)], minlength=len(rows)) > 0
    unchecked[list(rows.errors)] = True
    return ~unchecked


def _contradicts(
    failed: npt.NDArray[np.bool_], probabilities: npt.NDArray[np.float32], threshold: float | None
) -> npt.NDArray[np.bool_] | None:
    """Failed checks of facts that the text contradicts. bool, *Shape:* (checks,); ``None`` without a threshold."""
    return None if threshold is None else failed & (probabilities[:, CONTRADICTION] >= np.float32(threshold))


def _fact_columns(
    rows: Rows,
    checks: Checks,
    entailment: npt.NDArray[np.float32],
    failed: npt.NDArray[np.bool_],
    contradicts: npt.NDArray[np.bool_] | None,
    fully_checked: npt.NDArray[np.bool_],
) -> dict[str, pa.Array]:
    """The columns of single facts.

    Args:
        contradicts: failed checks of facts that the text contradicts, bool, *Shape:* (checks,); ``None`` if unknown.
        fully_checked: rows with results of all their omission checks, bool, *Shape:* (rows,).
    """
    triples, about_fact = rows.triples, checks.kind == OMISSION
    omitted = np.repeat(checks.blank, triples.lengths) & (True if rows.used is None else rows.used)
    omitted[checks.fact[about_fact & failed]] = True
    values = np.full(len(omitted), np.nan, np.float32)
    values[checks.fact[about_fact]] = entailment[about_fact]
    contradicted = np.zeros(len(omitted), bool)
    if contradicts is not None:
        contradicted[checks.fact[about_fact & contradicts]] = True
    checked = np.bincount(checks.row[about_fact], minlength=len(rows)) > 0
    return {
        "omitted": _positions(triples, omitted, fully_checked),
        "contradicted": _positions(
            triples, contradicted, fully_checked if contradicts is not None else np.zeros(len(rows), bool)
        ),
        "fact_entailment": to_lists(
            pa.array(triples.spread(values), from_pandas=True), triples.of_rows.offsets, checked
        ),
    }


def _positions(facts: FactTable, marked: npt.NDArray[np.bool_], valid: npt.NDArray[np.bool_]) -> pa.Array:
    """The positions of marked facts in each row.

    Args:
        marked: bool, *Shape:* (facts,).
        valid: bool, *Shape:* (rows,), as :func:`to_lists` takes it.
    """
    marked, offsets, lengths = facts.spread(marked), facts.of_rows.offsets, facts.of_rows.lengths
    positions = (np.arange(len(marked)) - np.repeat(offsets[:-1], lengths))[marked].astype(np.int32)
    return to_lists(pa.array(positions), np.concatenate([[0], np.cumsum(marked)])[offsets], valid)


def _sparse(values: dict[int, str], n: int) -> pa.Array:
    """An array of ``n`` rows with the values of some of them, by row, null elsewhere; without a loop over all rows."""
    index = np.full(n, -1)
    index[list(values)] = np.arange(len(values))
    return pa.array(list(values.values()), pa.string()).take(pa.array(index, mask=index < 0))


def _labels(codes: npt.NDArray[np.int8], names: tuple[str, ...]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(names))


def to_lists(values: pa.Array, offsets: npt.NDArray[np.int64], valid: npt.NDArray[np.bool_]) -> pa.Array:
    """Lists of ``values``; null for rows that are not ``valid`` (their values are left out)."""
    lengths = np.diff(offsets)
    if not valid.all() and lengths[~valid].any():
        values = values.filter(pa.array(np.repeat(valid, lengths)))
    ends = np.concatenate([[0], np.cumsum(np.where(valid, lengths, 0))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), values, mask=pa.array(~valid) if not valid.all() else None)


def _notes(
    checks: Checks,
    truncated: npt.NDArray[np.bool_] | None,
    unknown: npt.NDArray[np.bool_] | None,
    other_language: npt.NDArray[np.bool_] | None,
) -> dict[int, str]:
    """The notes of rows, several joined by ``+`` in this order."""
    notes: dict[int, str] = {}
    noted = [
        (EMPTY_TEXT, np.flatnonzero(checks.blank)),
        (BY_SENTENCES, np.flatnonzero(checks.sentences.decides) if checks.sentences is not None else ()),
        (FACTS_SELECTED, np.flatnonzero(checks.sentences.selected) if checks.sentences is not None else ()),
        (TRUNCATED, np.unique(checks.row[truncated]) if truncated is not None else ()),
        (UNKNOWN_TOKENS, np.unique(checks.row[unknown]) if unknown is not None else ()),
        (OTHER_LANGUAGE, np.flatnonzero(other_language) if other_language is not None else ()),
    ]
    for note, noted_rows in noted:
        for row in map(int, noted_rows):
            notes[row] = f"{notes[row]}+{note}" if row in notes else note
    return notes


def _confidence(
    row: npt.NDArray[np.int64], values: npt.NDArray[np.float32], rows: int, mean: bool
) -> npt.NDArray[np.float32]:
    """The smallest of the values of each row, or their mean, and 1 without any. float32, *Shape:* (rows,)."""
    if not mean:
        least = np.ones(rows, np.float32)  # a probability is at most 1
        np.minimum.at(least, row, values)
        return least
    counts, sums = np.bincount(row, minlength=rows), np.bincount(row, values.astype(np.float64), minlength=rows)
    return np.where(counts, sums / np.maximum(counts, 1), 1.0).astype(np.float32)


def _check_errors(checks: Checks, status: npt.NDArray[np.int8], decisive: npt.NDArray[np.bool_]) -> dict[int, RowError]:
    """The error of each row in which a check that decides a side has no probabilities. ``decisive``: bool, *Shape:*
    (checks,)."""
    sides: dict[int, dict[int, set[str]]] = {}
    for c in np.flatnonzero((status != SCORED) & decisive).tolist():
        side = "hallucination" if checks.kind[c] in (HALLUCINATION, SENTENCE) else "omission"
        sides.setdefault(int(checks.row[c]), {}).setdefault(int(status[c]), set()).add(side)
    errors = {}
    for row, by_status in sides.items():
        code = min(by_status)  # one kind per row: a status that is due to the input comes before one due to the machine
        errors[row] = RowError(STATUS_NAMES[code], tuple(sorted(by_status[code], reverse=True)))
    return errors
