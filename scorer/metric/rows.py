"""A parsed window of rows: triples, texts and selections, and for each row that cannot be scored the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..system.arguments import described
from .python_rows import TripleLike
from .triples import INVALID_UTF8, NO_TRIPLES, RowTriples, decode, encode, from_python, from_python_sentences, to_bytes

NULL_TEXT = "null_text"
INVALID_SELECTION = "invalid_selection"


@dataclass
class Rows:
    """A window, as columns.

    ``text_codes``: int64, *Shape:* (rows,), positions in ``text_values``, -1 for null. ``text_values``: the distinct
    texts as bytes; ``texts``: the same decoded, ``None`` where they are not UTF-8. ``used``: bool, *Shape:* (facts,),
    whether a fact is in its row's selection, or ``None`` when there is no selection. ``selections``: by row, the
    selection as given, for rows that have one. ``errors``: by row, why it has no label.
    """

    triples: RowTriples
    text_codes: npt.NDArray[np.int64]
    text_values: list[bytes]
    used: npt.NDArray[np.bool_] | None = None
    selections: dict[int, list[int | None]] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    texts: list[str | None] = field(init=False)

    def __post_init__(self) -> None:
        if len(self.triples) != len(self.text_codes):
            raise ValueError(f"{len(self.triples)} rows of triples, but {len(self.text_codes)} texts")
        self.texts = [decode(value) for value in self.text_values]
        self._find_errors()

    def __len__(self) -> int:
        return len(self.text_codes)

    def text_of(self, row: int) -> str | None:
        """The text of a row; ``None`` when it is null or not UTF-8."""
        code = int(self.text_codes[row])
        return self.texts[code] if code >= 0 else None

    def _find_errors(self) -> None:
        # Later lines take precedence: an error of the text is simpler to explain than one of the facts.
        lengths = self.triples.lengths
        if self.used is not None:
            starts, ends = self.triples.offsets[:-1], self.triples.offsets[1:]
            before = np.concatenate([[0], np.cumsum(self.used)])
            lengths = before[ends] - before[starts]
        found = dict.fromkeys(np.flatnonzero(lengths == 0).tolist(), NO_TRIPLES)
        found.update(self.errors)
        found.update(self.triples.errors)
        broken = [code for code, text in enumerate(self.texts) if text is None]
        if broken:
            found.update(dict.fromkeys(np.flatnonzero(np.isin(self.text_codes, broken)).tolist(), INVALID_UTF8))
        found.update(dict.fromkeys(np.flatnonzero(self.text_codes < 0).tolist(), NULL_TEXT))
        self.errors = found


def from_arrow(triples: RowTriples, text: pa.Array, selected: pa.Array | None = None) -> Rows:
    """Put parsed triples, a string-like text column and an optional list-of-integers selection together."""
    codes, values = encode(text)
    used, selections, errors = _selection(triples, selected) if selected is not None else (None, {}, {})
    return Rows(triples, codes, values, used, selections, errors)


def from_pairs(pairs: Sequence[tuple[Iterable[TripleLike], str | None]]) -> Rows:
    """Put (triples, text) pairs of Python objects together.

    Raises:
        TypeError: a text or a triple of another type.
    """
    text = _texts([text for _, text in pairs])
    return from_arrow(from_python([triples for triples, _ in pairs]), text)


def from_fact_pairs(pairs: Sequence[tuple[Iterable[str], str | None]]) -> Rows:
    """Put (facts, text) pairs of Python objects together; each fact is a sentence.

    Raises:
        TypeError: a text or a fact of another type.
    """
    text = _texts([text for _, text in pairs])
    return from_arrow(from_python_sentences([facts for facts, _ in pairs]), text)


def _texts(given: Sequence[str | None]) -> pa.Array:
    for text in given:
        if not (text is None or isinstance(text, str)):
            raise TypeError(f"text is {described(text)}; give a string, or None for a text that is missing")
    return pa.array([None if text is None else to_bytes(text) for text in given], pa.binary())


def _selection(
    triples: RowTriples, selected: pa.Array
) -> tuple[npt.NDArray[np.bool_], dict[int, list[int | None]], dict[int, str]]:
    """A null selection means all facts; a position that the row does not have is the error ``invalid_selection``."""
    null = pc.is_null(selected).to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.list_value_length(selected), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    rows = np.repeat(np.arange(len(null)), lengths)
    flat = pc.list_flatten(selected).cast(pa.int64())
    positions = pc.fill_null(flat, -1).to_numpy(zero_copy_only=False)
    facts = triples.lengths
    outside = (positions < 0) | (positions >= facts[rows])
    parsed = np.array([row not in triples.errors for row in rows.tolist()], bool)
    errors = dict.fromkeys(rows[outside & parsed].tolist(), INVALID_SELECTION)
    used = np.repeat(null, facts)
    inside = ~outside
    used[triples.offsets[rows[inside]] + positions[inside]] = True
    given = {row: value for row, value in enumerate(selected.to_pylist()) if value is not None}
    return used, given, errors
