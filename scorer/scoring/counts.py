"""Counting a window; the counts themselves are in :mod:`scorer.storage.counts`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..metric.checks import Checks
from ..metric.facts import Rows
from ..metric.verdict import FINE, Verdicts
from ..storage.counts import CheckCounts, Counts, FactCounts, PredicateCounts, RowCounts, TokenCounts
from .summary import most_frequent

if TYPE_CHECKING:
    from ..inference.engine import EncodedPairs


@dataclass(frozen=True)
class ReusedCounts:
    """What a window has besides the rows that are judged: labels from earlier outputs.

    ``rows``: the whole window. ``backoff``: bool, *Shape:* (its distinct triples,). ``fine``: int8, *Shape:*
    (reused rows,), positions in ``FINE``. ``notes``: of the reused rows, by kind.
    """

    rows: Rows
    backoff: npt.NDArray[np.bool_]
    fine: npt.NDArray[np.int8]
    notes: Mapping[str, int]


def count(
    rows: Rows, checks: Checks, work: EncodedPairs, verdicts: Verdicts, reused: ReusedCounts | None = None
) -> Counts:
    """Count a window, of which ``rows`` were judged."""
    errors = Counter(error.partition(":")[0] for error in verdicts.errors.values())
    notes = Counter(verdicts.notes.values())
    fine = Counter(code for code in verdicts.fine.tolist() if code >= 0)
    if reused is not None:
        fine.update(reused.fine.tolist())
        notes.update(reused.notes)
    return Counts(
        RowCounts(
            len(rows if reused is None else reused.rows),
            len(rows) - sum(errors.values()),
            0 if reused is None else len(reused.fine),
            dict(errors),
            dict(notes),
        ),
        {name: fine[code] for code, name in enumerate(FINE)},
        count_facts(rows, checks.backoff) if reused is None else count_facts(reused.rows, reused.backoff),
        CheckCounts(len(checks), len(work.pairs), sum(len(b.pairs) for b in work.batches), work.recomputed),
        TokenCounts(work.real_tokens, work.padded_tokens, work.squared_lengths),
    )


def count_facts(rows: Rows, missing: npt.NDArray[np.bool_]) -> FactCounts:
    """Count the facts of a window. ``missing``: bool, *Shape:* (distinct triples,), those without a template."""
    triples = rows.triples
    counts = np.bincount(triples.ids, minlength=len(triples.distinct))
    backoff = int(counts[missing].sum())
    by_predicate: dict[str, list[int]] = {}
    for triple, count, missed in zip(triples.distinct, counts.tolist(), missing.tolist(), strict=True):
        by_predicate.setdefault(triple.predicate, [0, 0])[missed] += count
    kept = most_frequent({predicate: PredicateCounts(*counted) for predicate, counted in by_predicate.items()})
    return FactCounts(int(counts.sum()) - backoff, backoff, kept, triples.skipped)
