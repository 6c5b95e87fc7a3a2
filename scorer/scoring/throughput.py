"""How fast a run was, from what it counted."""

from __future__ import annotations

from msgspec.structs import replace

from ..inference.engine import Engine
from ..inference.verification import pair_flops
from ..storage.counts import Counts
from .summary import Speed, rate

_MOST_SHAPES = 20


def speed(counts: Counts, seconds: float, engine: Engine) -> Speed:
    """The ``speed`` of ``_run.json``, of the work of one process.

    Args:
        counts: of the shards that it scored.
        seconds: from its first window to its last receipt; the model was loaded before.
        engine: what it scored with.

    ``utilisation``: operations of the model on real tokens, over the device's own rate in plain matrix products of the
    same precision, measured when the variant was verified; ``None`` where that is unknown. ``shapes``: the most
    frequent calls, as pairs, sequence length and number.
    """
    tokens = counts.tokens
    flops = pair_flops(engine.bundle.architecture, tokens.real, tokens.squared)
    matrix = engine.report.matrix_rate if engine.report is not None else None
    shapes = tuple((*shape, calls) for shape, calls in engine.shapes.most_common(_MOST_SHAPES))
    return replace(
        Speed.of(counts, seconds),
        model_flops_per_s=rate(flops, seconds) if flops is not None else None,
        matrix_flops_per_s=matrix,
        utilisation=round(flops / seconds / matrix, 4) if matrix and flops and seconds else None,
        shapes=shapes,
    )
