"""Some rows of a window as a window of their own, holding the triples and texts that they use and no others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .rows import Rows
from .triples import RowTriples


def take(rows: Rows, chosen: npt.NDArray[np.int64]) -> Rows:
    """The rows at some positions, in the order given. int64, *Shape:* (n,) → n rows."""
    facts = _facts(rows.triples, chosen)
    codes = rows.text_codes[chosen]
    texts, inverse = np.unique(codes[codes >= 0], return_inverse=True)
    new_codes = np.full(len(codes), -1, np.int64)
    new_codes[codes >= 0] = inverse
    old = chosen.tolist()
    return Rows(
        take_triples(rows.triples, chosen),
        new_codes,
        [rows.text_values[i] for i in texts.tolist()],
        None if rows.used is None else rows.used[facts],
        {new: rows.selections[row] for new, row in enumerate(old) if row in rows.selections},
        {new: rows.errors[row] for new, row in enumerate(old) if row in rows.errors},
    )


def take_triples(triples: RowTriples, chosen: npt.NDArray[np.int64]) -> RowTriples:
    """The triples of rows at some positions, which may repeat, in the order given. int64, *Shape:* (n,) → n rows."""
    lengths = triples.lengths[chosen]
    used, ids = np.unique(triples.ids[_facts(triples, chosen)], return_inverse=True)
    old = chosen.tolist()
    return RowTriples(
        [triples.distinct[i] for i in used.tolist()],
        np.concatenate([[0], np.cumsum(lengths)]),
        ids.astype(np.int32).reshape(-1),
        {new: triples.errors[row] for new, row in enumerate(old) if row in triples.errors},
        {new: triples.raw[row] for new, row in enumerate(old) if row in triples.raw},
        triples.sentences,
    )


def _facts(triples: RowTriples, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Positions in ``triples.ids`` of every fact of some rows. int64, *Shape:* (their facts,)."""
    starts, lengths = triples.offsets[chosen], triples.lengths[chosen]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return np.asarray(np.arange(offsets[-1]) - np.repeat(offsets[:-1] - starts, lengths), np.int64)
