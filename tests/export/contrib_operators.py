"""ONNX Runtime's contrib operators of a packed graph, in PyTorch, for the ONNX reference evaluator.

PackedMultiHeadAttention has kernels for CUDA alone. These stand in for such operators: written from the
operators' documentation (``docs/ContribOperators.md``), in float64. They say nothing about how exact or fast the
kernels are.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from torch.nn import functional

DOMAIN = "com.microsoft"


def exact(values: np.ndarray) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


class PackedMultiHeadAttention(OpRun):
    op_domain = DOMAIN

    def _run(self, q: Any, k: Any, v: Any, bias: Any, offsets: Any, ends: Any, num_heads: int = 0) -> tuple[Any]:
        """Each sequence attends to itself. ``q``, ``k``, ``v``: *Shape:* (tokens, hidden) → (tokens, hidden).

        As CUTLASS's memory-efficient kernel does: sequences from ``ends``, and of the offsets their shape alone,
        (batch, longest sequence).
        """
        batch, longest = offsets.shape
        assert bias is None and ends.shape == (batch + 1,) and ends[0] == 0 and ends[-1] == len(q)
        assert np.diff(ends).min() >= 0 and np.diff(ends).max() <= longest
        result = np.zeros_like(q)
        for start, end in pairwise(ends.tolist()):
            heads = (exact(side[start:end]).unflatten(1, (num_heads, -1)).transpose(0, 1) for side in (q, k, v))
            result[start:end] = functional.scaled_dot_product_attention(*heads).transpose(0, 1).flatten(1)
        return (result,)


class SkipLayerNormalization(OpRun):
    op_domain = DOMAIN

    def _run(self, x: Any, skip: Any, gamma: Any, beta: Any, bias: Any = None, epsilon: float = 0.0) -> tuple[Any]:
        total = exact(x) + exact(skip) + (0 if bias is None else exact(bias))
        normal = functional.layer_norm(total, gamma.shape, exact(gamma), exact(beta), epsilon)
        return (normal.numpy().astype(x.dtype),)


class BiasGelu(OpRun):
    op_domain = DOMAIN

    def _run(self, x: Any, bias: Any) -> tuple[Any]:
        return (functional.gelu(exact(x) + exact(bias)).numpy().astype(x.dtype),)


def evaluator(model: ModelProto) -> ReferenceEvaluator:
    return ReferenceEvaluator(model, new_ops=[PackedMultiHeadAttention, SkipLayerNormalization, BiasGelu])
