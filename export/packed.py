"""The packed form of a fused graph, for GPUs: the tokens of a call end to end, without padding.

Every layer takes com.microsoft.PackedMultiHeadAttention on separate queries, keys and values instead of Attention with
a mask: the device's kernel reads them as the products wrote them. None of the three has a bias, which would cost a
kernel of its own. The keys' bias adds the same number to all scores of a query, which softmax does not see; the values'
bias adds itself to every result, since the weights of a query sum to 1, so it is part of the bias after the output's
product; the queries' bias is folded into their weight (:func:`_constant`). All are exact in real arithmetic;
the last bits differ from the padded form's. All else of the graph works on rows, whether they come as (batch, sequence,
hidden) or as (tokens, hidden). After the last attention, the first token of each pair is gathered,
which is all that the head reads. The inputs are as in :class:`scorer.inference.batching.Packed`; nothing in the
graph counts or moves tokens, which would have the device wait for the host.

The operators' contracts are in ONNX Runtime's ``docs/ContribOperators.md`` and, as code,
``onnxruntime/transformers/convert_to_packing_mode.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scorer.errors import CheckpointError
from scorer.inference.bundle import PACKED_ATTENTION as ATTENTION

from .graph import expect, save
from .rewrite import head_of, require_first_token
from .variants import to_half

Array = npt.NDArray[np.float64]
_OFFSETS, _ENDS, _FIRST = "token_offset", "cumulative_sequence_length", "first_tokens"
_LEAST_SCALE = 1e-3
"""Ratio of the smallest to the largest weight of a normalisation, from which its outputs tell a constant exactly."""
_LEAST_SUM = 0.5
"""Distance from 0 at which the sum of a normalisation's outputs over its weights is kept, for each output."""
_NEVER = ("Attention", "MultiHeadAttention", "ReduceSum", "CumSum", "RemovePadding", "RestorePadding", "Shape")


def packed_inputs(segments: bool) -> list[str]:
    """Names of a packed graph's inputs."""
    return ["input_ids", "position_ids", *(["token_type_ids"] if segments else []), _OFFSETS, _ENDS]


def packed_counts(layers: int) -> dict[str, int]:
    """Fused operators of the packed form."""
    return {ATTENTION: layers, "SkipLayerNormalization": 2 * layers, "LayerNormalization": 1, "BiasGelu": layers}


def export_packed(
    fused: Path, out: Path, layers: int, *, first_position: int, segments: bool, half: bool = True
) -> dict[str, int]:
    """Write the packed variant of a fused graph, and return its operator counts.

    Args:
        first_position: the row of the table of positions that the first token of a pair takes.
        segments: whether the model is told the two texts of a pair apart.
        half: in fp16, the head in fp32; else all of it in fp32, for comparisons.

    Raises:
        CheckpointError: the graph is not one that this knows, or has a weight that fp16 cannot hold.
    """
    import onnx

    model = onnx.load(str(fused))
    pack(model, first_position=first_position, segments=segments)
    if half:
        to_half(model)
    expect(model, packed_counts(layers), never=_NEVER)
    return save(model, out)


def pack(model: Any, *, first_position: int, segments: bool) -> None:
    """Rewrite a fused graph in place; its weights stay fp32.

    Inputs afterwards, all int32:

    - ``input_ids``, *Shape:* (tokens,)
    - ``position_ids``, from 0 in each pair, *Shape:* (tokens,)
    - ``token_type_ids``, with ``segments`` only, *Shape:* (tokens,)
    - ``token_offset``, *Shape:* (pairs, longest)
    - ``cumulative_sequence_length``, *Shape:* (pairs + 1,)

    Output: ``logits``, float32, *Shape:* (pairs, labels).

    Raises:
        CheckpointError: the graph is not as the fusion makes it.
    """
    graph = model.graph
    _embed(graph, first_position, segments)
    _attend(graph)
    _keep_first_tokens(graph)
    _prune(graph)
    _set_inputs(graph, segments)


def _embed(graph: Any, first_position: int, segments: bool) -> None:
    """Look tokens, positions and segments up by the packed inputs."""
    from onnx import numpy_helper

    tensors = {tensor.name: tensor for tensor in graph.initializer}
    lookups: dict[str, Any] = {}
    for node in graph.node:
        if node.op_type == "Gather" and node.input[0] in tensors:
            for role in ("word", "position", "token_type"):
                if f"{role}_embeddings" in node.input[0]:
                    lookups[role] = node
    if lookups.keys() < {"word", "position"} or (segments and "token_type" not in lookups):
        raise CheckpointError(
            f"the graph looks up {sorted(lookups)}, expected embeddings of words and positions; its packed form is not "
            "known: export without fp16"
        )
    lookups["word"].input[1] = "input_ids"
    table = numpy_helper.to_array(tensors[lookups["position"].input[0]])
    graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(table[first_position:]), "positions"))
    lookups["position"].input[:] = ["positions", "position_ids"]
    if segments:
        lookups["token_type"].input[1] = "token_type_ids"
    elif "token_type" in lookups:
        types = numpy_helper.to_array(tensors[lookups["token_type"].input[0]])
        graph.initializer.append(numpy_helper.from_array(types[0].copy(), "only_type"))
        _replace(graph, lookups["token_type"].output[0], "only_type")


def _attend(graph: Any) -> None:
    from onnx import helper

    tensors = {tensor.name: tensor for tensor in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "Attention"]:
        nodes = _projections(graph, node, tensors)
        sides = [projection.output[0] for projection in nodes[-3:]]
        nodes.append(helper.make_node(ATTENTION, [*sides, "", _OFFSETS, _ENDS], list(node.output), node.name))
        nodes[-1].domain = node.domain
        nodes[-1].attribute.extend(a for a in node.attribute if a.name in ("num_heads", "scale"))
        position = list(graph.node).index(node)
        graph.node.remove(node)
        for projection in reversed(nodes):
            graph.node.insert(position, projection)


def _projections(graph: Any, node: Any, tensors: dict[str, Any]) -> list[Any]:
    """Query, key and value of an attention, apart: what the kernel takes without a copy.

    The weights of keys and values are taken in the graph, which the runtime does once, as it loads it, so that they
    are stored once for this form and the padded one. Weights of queries with their bias in them are stored apart.
    """
    from onnx import helper

    query, key, value = (f"{node.name}_{role}" for role in ("query", "key", "value"))
    weights = [f"{name}_weight" for name in (query, key, value)]
    parts, (bias, _, value_bias) = (np.split(_values(tensors, name), 3, axis=-1) for name in node.input[1:3])
    constant = _constant(graph, node, tensors)
    shift = np.zeros(len(parts[0])) if constant is None else constant.shift
    bias = bias - shift @ parts[0]
    _set_output_bias(graph, node, tensors, value_bias - shift @ parts[2], shift)
    hidden = node.input[0]
    if constant is None:
        _store(graph, f"{query}_bias", bias)
        query_product = helper.make_node("Gemm", [hidden, weights[0], f"{query}_bias"], [query], query)
    else:
        folded = f"{weights[0]}_folded"
        _store(graph, folded, fold_bias(parts[0], constant.form, bias))
        query_product = helper.make_node("MatMul", [hidden, folded], [query], query)
    return [
        helper.make_node("Split", [node.input[1]], weights, f"{node.name}_weights", axis=1),
        query_product,
        helper.make_node("MatMul", [hidden, weights[1]], [key], key),
        helper.make_node("MatMul", [hidden, weights[2]], [value], value),
    ]


def fold_bias(weight: Array, form: Array, bias: Array) -> Array:
    """A weight with a bias folded into its products, for rows on which a linear form is 1.

    Args:
        weight: float64, *Shape:* (hidden, out).
        form: the linear form, float64, *Shape:* (hidden,).
        bias: float64, *Shape:* (out,).
    """
    return weight + np.outer(form, bias)


@dataclass(frozen=True)
class _Constant:
    """A linear form that is 1 on every output of a normalisation with a shifted bias."""

    form: Array
    """Coefficients of the form, float64, *Shape:* (hidden,)."""
    shift: Array
    """Shift of the bias of the normalisation, float64, *Shape:* (hidden,)."""


def _constant(graph: Any, attention: Any, tensors: dict[str, Any]) -> _Constant | None:
    """The constant of the normalisation before an attention; ``None`` where there is none to rely on.

    The outputs x of a normalisation with weight g and bias b lie on a hyperplane: sum(x / g) = sum(b / g). So a bias a
    after a product with W is a product too: W x + a = (W + a v) x with v = 1 / g / sum(b / g). Where that sum is near
    0, a shift of b moves it away; the readers of x take the shift back.
    """
    hidden = attention.input[0]
    _, after = _after(graph, attention)
    norm = next((node for node in graph.node if hidden in node.output), None)
    readers = [node for node in graph.node if hidden in node.input]
    first = {"LayerNormalization": 1, "SkipLayerNormalization": 2}.get("" if norm is None else norm.op_type)
    if norm is None or first is None or readers != [attention, after] or len(norm.input) < first + 2:
        return None
    scale, bias = (_values(tensors, name) for name in norm.input[first : first + 2])
    if np.abs(scale).min() < _LEAST_SCALE * np.abs(scale).max():
        return None
    total, size = float((bias / scale).sum()), len(scale)
    step = max(0.0, _LEAST_SUM - abs(total) / size) * (1 if total >= 0 else -1)
    shift = step * scale
    if step:
        norm.input[first + 1] = f"{norm.name}_shifted_bias"
        _store(graph, norm.input[first + 1], bias + shift)
    return _Constant(1 / scale / (total + step * size), shift)


def _set_output_bias(graph: Any, node: Any, tensors: dict[str, Any], values: Array, residual: Array) -> None:
    """Correct the bias of an attention's output.

    Args:
        values: added after the output's product: the bias that the values lack, float64, *Shape:* (hidden,).
        residual: subtracted: the shift that the residual has too much, float64, *Shape:* (hidden,).
    """
    product, after = _after(graph, node)
    if len(after.input) < 5 or not {product.input[1], after.input[4]} <= tensors.keys():
        raise CheckpointError(
            f"the product after the attention {node.name} has no weight and bias of its own; its packed form is not "
            "known: export without fp16"
        )
    weight, bias = (_values(tensors, name) for name in (product.input[1], after.input[4]))
    after.input[4] = f"{node.name}_output_bias"
    _store(graph, after.input[4], bias + values @ weight - residual)


def _values(tensors: dict[str, Any], name: str) -> Array:
    from onnx import numpy_helper

    return np.asarray(numpy_helper.to_array(tensors[name]), np.float64)


def _store(graph: Any, name: str, values: Array) -> None:
    """Add a tensor to a graph, in fp32."""
    from onnx import numpy_helper

    graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(values, np.float32), name))


def _after(graph: Any, attention: Any) -> tuple[Any, Any]:
    """The product and the normalisation that follow an attention."""
    product = next(node for node in graph.node if attention.output[0] in node.input)
    after = next(node for node in graph.node if product.output[0] in node.input)
    if (product.op_type, after.op_type) != ("MatMul", "SkipLayerNormalization"):
        raise CheckpointError(
            f"after the attention {attention.name} comes {product.op_type} and {after.op_type}, expected MatMul and "
            "SkipLayerNormalization; its packed form is not known: export without fp16"
        )
    return product, after


def _keep_first_tokens(graph: Any) -> None:
    """Go on with the first token of each pair after the last attention."""
    from onnx import helper, numpy_helper

    require_first_token(graph)
    product, after = _after(graph, [node for node in graph.node if node.op_type == ATTENTION][-1])
    graph.initializer.extend(
        numpy_helper.from_array(np.array([value], np.int64), f"{_FIRST}_{bound}")
        for bound, value in (("start", 0), ("end", -1), ("axis", 0))
    )
    rows = helper.make_node("Slice", [_ENDS, *(f"{_FIRST}_{b}" for b in ("start", "end", "axis"))], [_FIRST], _FIRST)
    nodes = [rows]
    for reader in (product, after):
        i = next(i for i, name in enumerate(reader.input) if reader is product or name != product.output[0])
        source = reader.input[i]
        nodes.append(helper.make_node("Gather", [source, _FIRST], [f"{source}_first"], f"{_FIRST}_of_{i}", axis=0))
        reader.input[i] = f"{source}_first"
    position = list(graph.node).index(product)
    for node in reversed(nodes):
        graph.node.insert(position, node)
    dense = head_of(graph)[0]
    gather = next(node for node in graph.node if dense.input[0] in node.output)
    dense.input[0] = gather.input[0]


def _replace(graph: Any, name: str, replacement: str) -> None:
    for node in graph.node:
        for i, source in enumerate(node.input):
            if source == name:
                node.input[i] = replacement


def _prune(graph: Any) -> None:
    """Remove nodes and tensors that the logits do not depend on."""
    producers = {output: node for node in graph.node for output in node.output}
    pending, needed, used = ["logits"], set(), set()
    while pending:
        name = pending.pop()
        used.add(name)
        node = producers.get(name)
        if node is not None and node.output[0] not in needed:
            needed.add(node.output[0])
            pending.extend(node.input)
    nodes = [node for node in graph.node if node.output[0] in needed]
    tensors = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(tensors)


def _set_inputs(graph: Any, segments: bool) -> None:
    from onnx import TensorProto, helper

    shapes = {name: ["tokens"] for name in packed_inputs(segments)}
    shapes |= {_OFFSETS: ["pairs", "longest"], _ENDS: ["pairs_and_one"]}
    del graph.input[:]
    graph.input.extend(helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name, shape in shapes.items())
    graph.output[0].type.tensor_type.shape.dim[0].dim_param = "pairs"
    del graph.value_info[:]
