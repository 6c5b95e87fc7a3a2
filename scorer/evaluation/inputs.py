"""Which rows have the same input: what the bootstrap draws."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from ..errors import ColumnError
from ..metric.inputs import ColumnNames
from ..metric.triples import RowTriples, from_lists, from_mr
from .columns import group_codes
from .gold import Scored


@dataclass(frozen=True)
class Inputs:
    """Which rows have the same input. ``codes``: int64, *Shape:* (rows,). ``lengths``: facts of each row, or ``None``.

    ``known`` is False when nothing tells inputs apart; every row is then its own, and there are no intervals.
    """

    codes: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64] | None
    known: bool = True


def find_inputs(scored: Scored, names: ColumnNames, column: str | None = None) -> Inputs:
    """Inputs by their facts in any order, or by the values of a column.

    Rows whose facts do not parse are inputs of their own. Without the facts, their number is that of the stored
    ``fact_entailment``, or the column ``n_triples``.

    Raises:
        ColumnError: ``column`` does not exist.
    """
    triples = mr = None
    if names.mr is None and scored.has(names.triples):
        triples = scored.array(names.triples)
    elif scored.has(names.mr or "mr"):
        mr = scored.array(names.mr or "mr")
    if column is not None and not scored.has(column):
        raise ColumnError(f"--input-column {column!r}: no such column")
    by_column = group_codes(scored.array(column))[0] if column is not None else None
    if triples is None and mr is None:
        codes = by_column if by_column is not None else np.arange(len(scored.table))
        return Inputs(codes, _stored_lengths(scored, names.prefix), by_column is not None)
    parsed = from_lists(triples) if triples is not None else from_mr(mr)
    return Inputs(by_column if by_column is not None else _by_facts(parsed), parsed.lengths)


def _by_facts(parsed: RowTriples) -> npt.NDArray[np.int64]:
    seen: dict[bytes, int] = {}
    codes = np.empty(len(parsed), np.int64)
    for row, (start, end) in enumerate(pairwise(parsed.offsets.tolist())):
        key = np.sort(parsed.ids[start:end]).tobytes() or b"row %d" % row
        codes[row] = seen.setdefault(key, len(seen))
    return codes


def _stored_lengths(scored: Scored, prefix: str) -> npt.NDArray[np.int64] | None:
    name = prefix + "fact_entailment"
    if scored.has(name):
        column = pc.list_value_length(scored.array(name))
    elif scored.has("n_triples"):
        column = scored.array("n_triples")
    else:
        return None
    return np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False), np.int64)
