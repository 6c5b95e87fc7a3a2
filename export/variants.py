"""The variants of a fused graph, in the forms that suit the devices.

fp32 is for the CPU, where residuals apart from their normalisation are faster. fp16 keeps them fused, with the head in
fp32: it is a thousandth of the work, and in fp16 its output alone would be rounded by up to 0.004 for logits near 8.
int8 quantises the products with weights of fp32 (:mod:`export.quantise`), and every other product stays fp32. Of
encoders, the last layer is computed for the first token alone; where attention is not fused (DeBERTa, ModernBERT,
MPNet, BART), fp16 is made by ONNX Runtime's own converter.

For a bundle that ships where size matters, the weights are rounded to half precision before anything is made of them,
and stored once for all variants.

(A model in memory must not be used again after it was saved or converted: both may empty or rewrite its tensors.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scorer.errors import CheckpointError, first_line

from .families import ENCODER, Family
from .graph import SMALLEST_OUTSIDE, append, data_file, expect, external_files, operator_counts, point_to, save
from .quantise import quantise
from .rewrite import head_of, keep_first_token, split_residuals

SHARED, HALF_SHARED = "model.data", "model.half.data"
"""Files of weights that are stored once: for all variants of a bundle; for its fp16 variants, which differ in their
graphs alone."""


def export_variant(family: Family, precision: str, source: Path, out: Path, *, layers: int) -> dict[str, int]:
    """Write a variant of a fused graph, or (int8) of its fp32 variant, and return its operator counts.

    Raises:
        CheckpointError: the graph is not one that the export knows, or fp16 cannot hold its weights.
    """
    import onnx

    model = onnx.load(str(source))
    before = operator_counts(model)
    is_encoder = family.form == ENCODER
    norms = before.get("SkipLayerNormalization", 0) + before.get("LayerNormalization", 0)
    expected = cpu_counts(layers) if is_encoder else {"SkipLayerNormalization": 0, "LayerNormalization": norms}
    if is_encoder and precision != "int8":
        keep_first_token(model)
    if precision == "fp32":
        split_residuals(model)
    elif precision == "int8":
        if not quantise(model):
            raise CheckpointError("the graph has no product with weights; the export does not know it")
        if is_encoder:
            expected |= {"MatMulInteger": before["MatMul"], "MatMul": 0}
    elif is_encoder:
        to_half(model)
        expected |= {"SkipLayerNormalization": 2 * layers, "LayerNormalization": 1}
    else:
        model, expected = _converted(model), {}
    expect(model, expected)
    return save(model, out)


def cpu_counts(layers: int) -> dict[str, int]:
    """Operators of an encoder in the form that suits the CPU: residuals apart from their normalisation."""
    return {
        "Attention": layers - 1,
        "MultiHeadAttention": 1,
        "SkipLayerNormalization": 0,
        "LayerNormalization": 2 * layers + 1,
        "BiasGelu": layers,
    }


def to_half(model: Any) -> None:
    """Turn a graph in fp32 to fp16 in place, all but its head.

    Raises:
        CheckpointError: the graph has a float constant or cast in a place this does not know, or a weight that fp16
            cannot hold.
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
            raise _too_large(tensor.name)
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), tensor.name))
    position = next(i for i, node in enumerate(graph.node) if node == head[0])
    graph.node.insert(position, helper.make_node("Cast", [first], [f"{first}_fp32"], "head_cast", to=TensorProto.FLOAT))
    graph.node[position + 1].input[0] = f"{first}_fp32"


def _converted(model: Any) -> Any:
    """The graph in fp16 by ONNX Runtime's converter, its last product in fp32."""
    import numpy as np
    from onnx import TensorProto, numpy_helper
    from onnxruntime.transformers.float16 import convert_float_to_float16

    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            largest = np.abs(numpy_helper.to_array(tensor)).max(initial=0.0)
            if np.finfo(np.float16).max < largest < 1e30:  # beyond it is a mask's infinity, which stays the largest
                raise _too_large(tensor.name)
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
    return model


def _too_large(name: str) -> CheckpointError:
    return CheckpointError(f"weight {name} exceeds what fp16 holds; export without fp16 (--precision fp32,int8)")


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


def round_weights(model: Any) -> None:
    """Round the parameters of a PyTorch model to half precision, in place; their type stays.

    Raises:
        CheckpointError: a weight is beyond what half precision holds.
    """
    import torch

    with torch.no_grad():
        for name, value in model.named_parameters():
            rounded = value.to(torch.float16).to(value.dtype)
            if not torch.isfinite(rounded).all():
                raise CheckpointError(
                    f"weight {name} exceeds what fp16 holds; export without rounding (no --half-weights)"
                )
            value.copy_(rounded)


def share_weights(paths: Iterable[Path], shared: Path) -> None:
    """Move the tensors of ONNX files that half precision holds exactly to a file next to them, each value once.

    fp16 graphs read a tensor as it is; the others cast it, which the runtime does once, as it loads the graph. The
    values that a graph computes with stay the same. Small tensors, tensors of other types, and tensors in bodies of
    loops stay where they are.
    """
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    offsets: dict[bytes, int] = {}
    with shared.open("wb") as data:
        for path in paths:
            model = onnx.load(str(path))
            casts = []
            for tensor in model.graph.initializer:
                if tensor.data_type not in (TensorProto.FLOAT, TensorProto.FLOAT16):
                    continue
                values = numpy_helper.to_array(tensor)
                with np.errstate(over="ignore"):
                    half = values.astype(np.float16)
                content = half.tobytes()
                if len(content) < SMALLEST_OUTSIDE or not np.array_equal(half.astype(values.dtype), values):
                    continue
                if content not in offsets:
                    offsets[content] = append(data, content)
                if tensor.data_type == TensorProto.FLOAT:
                    stored = f"{tensor.name}_half"
                    cast = [stored], [tensor.name], f"{tensor.name}_cast"
                    casts.append(helper.make_node("Cast", *cast, to=TensorProto.FLOAT))
                    tensor.name, tensor.data_type = stored, TensorProto.FLOAT16
                point_to(tensor, shared.name, offsets[content], len(content))
            nodes = [*casts, *model.graph.node]
            del model.graph.node[:]
            model.graph.node.extend(nodes)
            save(model, path)
            own_data = data_file(path)
            if own_data.name not in external_files(path):  # of a graph that was too large for one file
                own_data.unlink(missing_ok=True)
