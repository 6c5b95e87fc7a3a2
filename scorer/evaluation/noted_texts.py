"""Texts with a note that says their label says little: how many there are, and a comparison without them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from pyarrow import types

from ..errors import UsageError
from ..metric import OTHER_LANGUAGE
from ..metric.verdict import BY_SENTENCES, EMPTY_TEXT, FACTS_SELECTED, TRUNCATED, UNKNOWN_TOKENS
from ..scoring.output_columns import NO_LABEL, encode_names
from ..scoring.valid_strings import REPLACED_BYTES
from ..system.numbers import percent
from .label_figures import Indices, Mask
from .sampling import LabelledOutput

NOTE = "note"
NOTES = (EMPTY_TEXT, BY_SENTENCES, FACTS_SELECTED, TRUNCATED, UNKNOWN_TOKENS, OTHER_LANGUAGE, REPLACED_BYTES)
MOST_NAMED = 3


def exclude_notes(
    output: LabelledOutput, human: Mapping[int, str], notes: Iterable[str]
) -> tuple[LabelledOutput, dict[int, str], dict[str, int]]:
    """Take the labels from each text with one of some notes, so that it counts nowhere.

    Args:
        human: human labels by row.

    Returns:
        The output and the human labels without these texts, and the number of texts with a label that had each note.

    Raises:
        UsageError: an unknown note, or no text with a label is left.
    """
    excluded, counts = np.zeros(len(output), bool), dict[str, int]()
    for note in notes:
        if note not in NOTES:
            raise UsageError(f"--exclude-note {note!r}: no such note; the notes are {', '.join(NOTES)}")
        noted = rows_with_note(output, note)
        counts[note] = int((noted & (output.fine != NO_LABEL)).sum())
        excluded |= noted
    fine = np.where(excluded, np.int8(NO_LABEL), output.fine)
    if excluded.any() and (fine == NO_LABEL).all():
        raise UsageError(f"--exclude-note leaves no text of {output.name} with a label; exclude fewer notes")
    return replace(output, fine=fine), {row: label for row, label in human.items() if not excluded[row]}, counts


def rows_with_note(output: LabelledOutput, note: str) -> Mask:
    """Rows with a note, alone or joined to others. bool, *Shape:* (rows,)."""
    column = output.output.columns.output(NOTE)
    if not output.scored.has(column) or types.is_nested(output.scored.array(column).type):
        return np.zeros(len(output), bool)
    codes, joined = encode_names(output.scored.array(column), column)
    return np.array([note in (names or "").split("+") for names in joined], bool)[codes]


def other_language_remark(output: LabelledOutput, codes: Indices, names: Sequence[str]) -> str | None:
    """A sentence on the labelled texts in another language, with the groups that have the largest shares of them.

    Args:
        codes: group of each row. int64, *Shape:* (rows,).
        names: names of the groups.
    """
    labelled = output.fine != NO_LABEL
    has_note = rows_with_note(output, OTHER_LANGUAGE) & labelled
    if not has_note.any():
        return None
    texts, texts_with_note = (np.bincount(codes[rows], minlength=len(names)) for rows in (labelled, has_note))
    shares = texts_with_note / np.maximum(texts, 1)
    largest_codes = [code for code in np.argsort(-shares, kind="stable")[:MOST_NAMED].tolist() if texts_with_note[code]]
    largest = ", ".join(f"{names[code]} {percent(float(shares[code]))}" for code in largest_codes)
    return (
        f"{has_note.sum():,} of {labelled.sum():,} texts are probably in a language that the model does not read "
        f"({largest}); their labels say little: --exclude-note {OTHER_LANGUAGE} leaves them out"
    )
