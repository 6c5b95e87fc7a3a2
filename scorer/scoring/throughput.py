"""How fast a run was, from what it counted."""

from __future__ import annotations

from ..inference.engine import Engine
from ..inference.rate import matrix_rate, pair_flops
from ..storage.counts import Counts
from .summary import Speed

WORTH_MEASURING_S = 5.0
"""Of shorter runs no utilisation is said: measuring the device would take a good part of them."""
_MOST_SHAPES = 20


def speed(counts: Counts, seconds: float, engine: Engine) -> Speed:
    """The ``speed`` of ``_run.json``, of the work of one process.

    Args:
        counts: of the shards that it scored.
        seconds: from its first window to its last receipt; the model was loaded before.
        engine: what it scored with.

    ``utilisation``: operations of the model on real tokens, over the device's own rate in plain matrix products of the
    same precision, measured now; ``None`` for short runs. ``shapes``: the most frequent calls, as pairs, sequence
    length and number.
    """
    checks, tokens = counts.checks, counts.tokens
    flops = pair_flops(engine.bundle.architecture, tokens.real, tokens.squared)
    rate = matrix_rate(engine.device, engine.precision, engine.threads) if seconds >= WORTH_MEASURING_S else None
    shapes = tuple((*shape, calls) for shape, calls in engine.shapes.most_common(_MOST_SHAPES))
    return Speed(
        seconds=round(seconds, 3),
        rows_per_s=_rate(counts.rows.all, seconds),
        unique_pairs_per_s=_rate(checks.computed, seconds),
        real_tokens_per_s=_rate(tokens.real, seconds),
        padding=round(1 - tokens.real / tokens.padded, 4) if tokens.padded else 0.0,
        duplicates=round(1 - checks.unique / checks.all, 4) if checks.all else 0.0,
        model_flops_per_s=_rate(flops, seconds) if flops is not None else None,
        matrix_flops_per_s=rate,
        utilisation=round(flops / seconds / rate, 4) if rate and flops and seconds else None,
        shapes=shapes,
    )


def _rate(count: float, seconds: float) -> float:
    return round(count / seconds, 1) if seconds else 0.0
