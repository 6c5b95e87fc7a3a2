"""Labels of the rows of a set under two ways to run, and how often each is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scorer.evaluation.label_figures import Codes, Mask, f1_of_share
from scorer.scoring.output_columns import fine_codes, rough_codes, rough_of
from scorer.scoring.scorer import Scorer
from scorer.stats.intervals import Rate, share_rate
from scorer.stats.paired import PairedRate, paired_rate, pairs_of

WINDOW = 64
"""Rows that are judged between two lines of progress."""
OMISSION = 1
"""The bit of an omission in a FINE code."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Gold:
    """Gold of the rows of a set. *Shape:* (rows,) each."""

    inputs: Ints
    """Number of the input of each row."""
    rough: Codes
    """ROUGH labels."""
    omission: Mask
    """Rows whose text omits a fact."""
    has_side: Mask
    """Rows whose gold says whether the text omits a fact."""

    @classmethod
    def of(cls, rows: pa.Table) -> Gold:
        omission = rows["gold_omission"].combine_chunks()
        return cls(
            np.unique(rows["input"].to_pylist(), return_inverse=True)[1],
            rough_codes(rows["gold_rough"].combine_chunks(), "gold_rough"),
            pc.fill_null(omission, False).to_numpy(zero_copy_only=False),
            omission.is_valid().to_numpy(zero_copy_only=False),
        )


def score(rows: pa.Table, bundle: str, say: Callable[[str], None], **options: Any) -> pa.Table:
    """Score rows, with a line of progress now and then."""
    windows: list[pa.Table] = []
    with Scorer(bundle, log=say, **options) as scorer:
        for window in scorer.score_batches(rows.slice(at, WINDOW) for at in range(0, len(rows), WINDOW)):
            windows.append(window)
            done = sum(map(len, windows))
            if len(windows) % 10 == 0 or done == len(rows):
                say(f"{done:,} of {len(rows):,} rows")
    return pa.concat_tables(windows, promote_options="permissive")


def labels_of(scored: pa.Table) -> Codes:
    """FINE labels, -1 for an error. int8, *Shape:* (rows,)."""
    return fine_codes(scored["fine"].combine_chunks(), "fine")


def accuracy(gold: Gold, now: Codes, before: Codes, where: Mask) -> PairedRate | None:
    """How often two labellings of the same rows have the ROUGH label of the gold; a row without a label is not_OK.
    ``None`` without a row.

    Args:
        now, before: FINE labels, int8, *Shape:* (rows,).
        where: rows that count. bool, *Shape:* (rows,).
    """
    if not where.any():
        return None
    right = [np.where(codes < 0, 1, rough_of(codes)) == gold.rough for codes in (now, before)]
    return paired_rate(pairs_of(right[0][where], right[1][where], gold.inputs[where]))


def omission_shares(gold: Gold, fine: Codes) -> dict[str, Rate]:
    """Precision, recall and F1 of omissions over the rows whose gold has this side; a row without a label has none."""
    predicted = (fine > 0) & (fine & OMISSION > 0)
    hits = predicted & gold.omission
    among = {"precision": predicted, "recall": gold.omission, "F1": predicted | gold.omission}
    shares = {}
    for name, rows in among.items():
        where = rows & gold.has_side
        shares[name] = share_rate(hits[where], gold.inputs[where])
    shares["F1"] = _as_f1(shares["F1"])
    return shares


def _as_f1(rate: Rate) -> Rate:
    """F1 from the share of hits among rows with an omission by the gold, the metric or both."""
    value, low, high = (None if end is None else f1_of_share(end) for end in (rate.value, rate.low, rate.high))
    return Rate(count=rate.count, n=rate.n, value=value, low=low, high=high)
