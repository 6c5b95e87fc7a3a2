"""Variants of graphs whose attention is not fused: DeBERTa, ModernBERT, MPNet, BART.

fp32 is the graph with residuals apart from their normalisation, as on the CPU it is faster. fp16 is made by ONNX
Runtime's own converter from the fp32 weights, with the head in fp32. int8 quantises the products with weights; every
other product stays fp32.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scorer.errors import CheckpointError

from .graph import expect, operator_counts, save
from .quantise import quantise
from .rewrite import split_residuals


def export_whole(precision: str, fused: Path, fp32: Path, out: Path) -> dict[str, int]:
    """Write a variant, and return its operator counts.

    Raises:
        CheckpointError: it cannot be made of this graph.
    """
    import onnx

    if precision == "fp32":
        model = onnx.load(str(fused))
        before = operator_counts(model)
        split_residuals(model)
        norms = before.get("SkipLayerNormalization", 0) + before.get("LayerNormalization", 0)
        expect(model, {"SkipLayerNormalization": 0, "LayerNormalization": norms})
        return save(model, out)
    if precision == "fp16":
        return _half(fused, out)
    model = onnx.load(str(fp32))
    if not quantise(model):
        raise CheckpointError("the graph has no product with weights; the export does not know it")
    return save(model, out)


def _half(fused: Path, out: Path) -> dict[str, int]:
    import numpy as np
    import onnx
    from onnx import TensorProto, numpy_helper
    from onnxruntime.transformers.float16 import convert_float_to_float16

    model = onnx.load(str(fused))
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            largest = np.abs(numpy_helper.to_array(tensor)).max(initial=0.0)
            if np.finfo(np.float16).max < largest < 1e30:  # beyond it is a mask's infinity, which stays the largest
                raise CheckpointError(
                    f"weight {tensor.name} exceeds what fp16 holds; export without fp16 (--precision fp32,int8)"
                )
    head = next((node for node in model.graph.node if "logits" in node.output), None)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    if head is None or head.op_type != "Gemm":
        raise CheckpointError("the graph does not end in a Gemm that makes the logits; the export does not know it")
    weights = [numpy_helper.from_array(numpy_helper.to_array(tensors[x]), f"{x}_fp32") for x in head.input[1:]]
    try:
        model = convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=True)
    except Exception as e:  # the tool raises plain ValueError and worse
        reason = (str(e).splitlines() or [type(e).__name__])[0][:200]
        raise CheckpointError(f"fp16 conversion failed ({reason}); export without it (--precision fp32,int8)") from e
    _widen(model.graph, head.name, weights)
    return save(model, out)


def _widen(graph: Any, name: str, weights: Sequence[Any]) -> None:
    """Compute the projection to the logits in fp32: in fp16 its output would be rounded by up to 0.004 near 8."""
    from onnx import TensorProto, helper

    head = next(node for node in graph.node if node.name == name)
    last = next(node for node in graph.node if "logits" in node.output)
    if last.op_type != "Cast" or last.input[0] != head.output[0]:
        raise CheckpointError("fp16 conversion did not leave the logits to a cast; the export does not know its graph")
    source = f"{head.input[0]}_fp32"
    before = helper.make_node("Cast", [head.input[0]], [source], f"{name}_cast", to=TensorProto.FLOAT)
    del head.input[:]
    head.input.extend([source, *(tensor.name for tensor in weights)])
    head.output[0] = "logits"
    graph.initializer.extend(weights)
    graph.node.remove(last)
    graph.node.insert(list(graph.node).index(head), before)
    used = {name for node in graph.node for name in node.input}
    for tensor in [tensor for tensor in graph.initializer if tensor.name not in used]:
        graph.initializer.remove(tensor)
