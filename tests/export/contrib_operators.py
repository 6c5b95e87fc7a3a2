"""ONNX Runtime's contrib operators of a packed graph, in numpy, for the ONNX reference evaluator.

PackedMultiHeadAttention has kernels for CUDA alone. These stand in for such operators: written from the
operators' documentation (``docs/ContribOperators.md``), in float64. They say nothing about how exact or fast the
kernels are.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

DOMAIN = "com.microsoft"


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, offsets: np.ndarray, ends: np.ndarray, heads: int) -> Any:
    """Each sequence attends to itself. ``q``, ``k``, ``v``: *Shape:* (tokens, hidden) → (tokens, hidden).

    As CUTLASS's memory-efficient kernel does: sequences from ``ends``, and of the offsets their shape alone, (batch,
    longest sequence).
    """
    batch, longest = offsets.shape
    tokens, hidden = q.shape
    assert ends.shape == (batch + 1,) and ends[0] == 0 and ends[-1] == tokens
    assert np.diff(ends).min() >= 0 and np.diff(ends).max() <= longest
    size = hidden // heads
    result = np.zeros((tokens, hidden))
    for start, end in pairwise(ends.tolist()):
        queries, keys, values = (
            side[start:end].astype(np.float64).reshape(-1, heads, size).transpose(1, 0, 2) for side in (q, k, v)
        )
        scores = queries @ keys.transpose(0, 2, 1) / math.sqrt(size)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        result[start:end] = (weights @ values).transpose(1, 0, 2).reshape(-1, hidden)
    return result.astype(q.dtype)


class PackedMultiHeadAttention(OpRun):
    op_domain = DOMAIN

    def _run(self, q: Any, k: Any, v: Any, bias: Any, offsets: Any, ends: Any, num_heads: int = 0) -> tuple[Any]:
        assert bias is None
        return (attend(q, k, v, offsets, ends, num_heads),)


class SkipLayerNormalization(OpRun):
    op_domain = DOMAIN

    def _run(self, x: Any, skip: Any, gamma: Any, beta: Any, bias: Any = None, epsilon: float = 0.0) -> tuple[Any]:
        total = x.astype(np.float64) + skip + (0 if bias is None else bias)
        centred = total - total.mean(axis=-1, keepdims=True)
        normal = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)
        return ((normal * gamma + beta).astype(x.dtype),)


class Gelu(OpRun):
    op_domain = DOMAIN

    def _run(self, x: Any, approximate: str = "none") -> tuple[Any]:
        """The evaluator passes the attribute of ONNX's own operator of this name, which this one does not have."""
        assert approximate == "none"
        return (gelu(x.astype(np.float64)).astype(x.dtype),)


class BiasGelu(OpRun):
    op_domain = DOMAIN

    def _run(self, x: Any, bias: Any) -> tuple[Any]:
        return (gelu(x.astype(np.float64) + bias).astype(x.dtype),)


def gelu(x: np.ndarray) -> Any:
    """x · Φ(x), with the error function and not its approximation by tanh."""
    return x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))) / 2


OPERATORS = [PackedMultiHeadAttention, SkipLayerNormalization, Gelu, BiasGelu]


def evaluator(model: ModelProto) -> ReferenceEvaluator:
    """Runs a graph that has these operators."""
    return ReferenceEvaluator(model, new_ops=OPERATORS)
