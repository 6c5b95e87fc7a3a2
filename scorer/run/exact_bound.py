"""The bound of ``--exact``, measured on a run's own pairs before its plan is written."""

from __future__ import annotations

import numpy as np

from ..errors import ShardError
from ..inference.exact import PAIRS, ExactBound
from ..inference.exact_engine import ExactEngine
from ..scoring.scorer import Scorer
from ..storage import ShardReader
from .survey import Survey

_SHARDS = 8
_ROWS = 4096
_BYTES = 16 << 20
"""Read of a shard at most, and in one window."""


def measure_bound(found: Survey, reader: ShardReader, scorer: Scorer) -> ExactBound:
    """Take pairs from the beginnings of shards spread evenly over a run, until there are enough of them.

    Args:
        scorer: one with ``exact``.
    """
    model = ExactEngine(scorer.engine)
    bound: ExactBound | None = None
    count = min(_SHARDS, len(found.usable))
    for i, position in enumerate(np.linspace(0, len(found.usable) - 1, count).astype(int)):
        shard = found.usable[position]
        missing = PAIRS - (bound.pairs if bound is not None else 0)
        if missing <= 0:
            break
        share = -(-missing // (count - i))
        try:
            for table in reader.windows(
                shard.file.uri, max_rows=_ROWS, max_bytes=_BYTES, limit=_ROWS, columns=shard.columns.needed
            ):
                bound = model.measure(scorer.pipeline.prepare(shard.columns.rows(table)).work, share, bound)
        except ShardError:
            continue  # the run will set it aside, and say why
    return bound or ExactBound(0, scorer.facts.bound)
