"""The variants of a fused graph. Each starts from a fresh load of the file it is made from.

Where attention is not fused (DeBERTa, ModernBERT, MPNet, BART), fp32 is the graph with residuals apart from their
normalisation, as on the CPU it is faster; fp16 is made by ONNX Runtime's own converter from the fp32 weights, with the
head in fp32; int8 quantises the products with weights, and every other product stays fp32.

(A model in memory must not be used again after it was saved or converted: both may empty or rewrite its tensors.)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scorer.errors import CheckpointError, first_line

from .families import WHOLE, Family
from .graph import expect, operator_counts, save
from .quantise import quantise
from .rewrite import head_of, keep_first_token, split_residuals


def export_variant(family: Family, precision: str, fused: Path, fp32: Path, *, layers: int) -> dict[str, int]:
    """Write ``model.<precision>.onnx`` next to ``fp32``, from the fused graph or (int8) from ``fp32``, and return its
    operator counts.

    Raises:
        CheckpointError: the graph is not one that the export knows, or fp16 cannot hold its weights.
    """
    out = fp32.with_name(f"model.{precision}.onnx")
    if family.form == WHOLE:
        return _export_whole(precision, fused, fp32, out)
    if precision == "fp32":
        return export_fp32(fused, out, layers)
    if precision == "fp16":
        return export_fp16(fused, out, layers)
    return export_int8(fp32, out, layers)


def cpu_counts(layers: int) -> dict[str, int]:
    """Operators of the form that suits the CPU, as fp32 and int8 have it: residuals apart from their normalisation."""
    return {
        "Attention": layers - 1,
        "MultiHeadAttention": 1,
        "SkipLayerNormalization": 0,
        "LayerNormalization": 2 * layers + 1,
        "BiasGelu": layers,
    }


def cuda_counts(layers: int) -> dict[str, int]:
    """Operators of the form that suits CUDA, as fp16 has it: residuals fused into their normalisation."""
    return cpu_counts(layers) | {"SkipLayerNormalization": 2 * layers, "LayerNormalization": 1}


def export_fp32(fused: Path, out: Path, layers: int) -> dict[str, int]:
    """Write the single-precision variant of a fused graph, and return its operator counts.

    Raises:
        CheckpointError: the graph is not one that :mod:`export.rewrite` knows.
    """
    import onnx

    model = onnx.load(str(fused))
    keep_first_token(model)
    split_residuals(model)
    expect(model, cpu_counts(layers))
    return save(model, out)


def export_fp16(fused: Path, out: Path, layers: int) -> dict[str, int]:
    """Write the half-precision variant of a fused graph, and return its operator counts.

    Everything is fp16 but the classification head, whose logits stay float32. The head is a thousandth
    of the work; in fp16 its output alone would be rounded by up to 0.004 for logits near 8.

    Raises:
        CheckpointError: the graph is not one that :mod:`export.rewrite` knows, or has a float constant or cast in a
            place this does not know, or a weight that fp16 cannot hold.
    """
    import onnx

    model = onnx.load(str(fused))
    keep_first_token(model)
    to_half(model)
    expect(model, cuda_counts(layers))
    return save(model, out)


def to_half(model: Any) -> None:
    """Turn a graph in fp32 to fp16 in place, all but its head.

    Raises:
        CheckpointError: as :func:`export_fp16`.
    """
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    graph = model.graph
    head = head_of(graph)
    first = head[0].input[0]
    keep = {name for node in head for name in node.input}
    for node in graph.node:
        if node in head:
            continue
        for attribute in node.attribute:
            to_float = node.op_type == "Cast" and attribute.name == "to" and attribute.i == TensorProto.FLOAT
            if to_float or (attribute.HasField("t") and attribute.t.data_type == TensorProto.FLOAT):
                raise CheckpointError(
                    f"node {node.name} ({node.op_type}) makes fp32 values; fp16 export does not know it"
                )
    used_in_body = {name for node in graph.node if node not in head for name in node.input}
    for tensor in list(graph.initializer):
        if tensor.data_type != TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if tensor.name in keep:
            if tensor.name not in used_in_body:
                continue
            # Equal tensors are stored once; the head gets a copy of its own.
            graph.initializer.append(numpy_helper.from_array(values, f"{tensor.name}_fp32"))
            for node in head:
                for i, name in enumerate(node.input):
                    if name == tensor.name:
                        node.input[i] = f"{tensor.name}_fp32"
        if np.abs(values).max(initial=0.0) > np.finfo(np.float16).max:
            raise CheckpointError(
                f"weight {tensor.name} exceeds what fp16 holds; export without fp16 (--precision fp32,int8)"
            )
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), tensor.name))
    position = next(i for i, node in enumerate(graph.node) if node == head[0])
    graph.node.insert(position, helper.make_node("Cast", [first], [f"{first}_fp32"], "head_cast", to=TensorProto.FLOAT))
    graph.node[position + 1].input[0] = f"{first}_fp32"


def export_int8(fp32: Path, out: Path, layers: int) -> dict[str, int]:
    """Write the int8 variant of the fp32 one (:mod:`export.quantise`), and return its operator counts.

    Raises:
        CheckpointError: a matrix product outside of attention was left in fp32.
    """
    import onnx

    model = onnx.load(str(fp32))
    products = operator_counts(model)["MatMul"]
    quantise(model)
    expect(model, cpu_counts(layers) | {"MatMulInteger": products}, never=("MatMul",))
    return save(model, out)


def _export_whole(precision: str, fused: Path, fp32: Path, out: Path) -> dict[str, int]:
    """Write a variant of a graph whose attention is not fused, and return its operator counts.

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
        raise CheckpointError(f"fp16 conversion failed ({first_line(e)}); use --precision fp32,int8") from e
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
