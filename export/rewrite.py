"""Rewrites of a fused graph that change its speed and not its numbers.

They work on a fused graph in memory, as :mod:`export.graph` makes and checks it.
"""

from __future__ import annotations

from typing import Any

from scorer.errors import CheckpointError

_HEADS = (("Gemm", "Tanh", "Gemm"), ("Gemm", "Gelu", "Gemm"))
"""RoBERTa's and BERT's; ELECTRA's."""
_FIRST_TOKEN = "first_token"


def head_of(graph: Any) -> list[Any]:
    """The nodes of the classification head, which are the last three: dense, activation, projection to the logits.

    Raises:
        CheckpointError: the graph ends in something else.
    """
    producers = {output: node for node in graph.node for output in node.output}
    nodes: list[Any] = []
    name = "logits"
    while len(nodes) < len(_HEADS[0]) and name in producers:
        nodes.insert(0, producers[name])
        name = nodes[0].input[0]
    if tuple(node.op_type for node in nodes) not in _HEADS:
        expected = " or ".join(" → ".join(head) for head in _HEADS)
        raise CheckpointError(f"the head of the graph is not {expected}; the export does not know it")
    return nodes


def keep_first_token(model: Any) -> None:
    """Compute the last layer for the first token alone; the head reads no other.

    Keys and values are still computed for every token; the query, the output projection and the feed-forward block
    shrink to one row, 10 of the layer's 12 matrix products by size. The fused Attention cannot do that (it has as many
    queries as keys), so the layer takes MultiHeadAttention with the same 1-D mask.

    Raises:
        CheckpointError: the head does not read the first token, or the last layer is not as the fusion makes it.
    """
    import numpy as np
    from onnx import helper, numpy_helper

    graph = model.graph
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    require_first_token(graph)
    last = [node for node in graph.node if node.op_type == "Attention"][-1]
    hidden, weight, bias, mask = last.input[:4]
    readers = [node for node in graph.node if hidden in node.input and node is not last]
    if [node.op_type for node in readers] != ["SkipLayerNormalization"]:
        raise CheckpointError(
            f"the input of the last attention is also read by {[node.op_type for node in readers]}, expected one "
            "SkipLayerNormalization; the export does not know this graph"
        )
    first = f"{hidden}_{_FIRST_TOKEN}"
    for i, name in enumerate(readers[0].input):
        if name == hidden:
            readers[0].input[i] = first
    for bound, value in (("start", 0), ("end", 1), ("axis", 1)):
        graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), f"{_FIRST_TOKEN}_{bound}"))
    nodes = [helper.make_node("Slice", [hidden, *(f"{_FIRST_TOKEN}_{b}" for b in ("start", "end", "axis"))], [first])]
    weights, biases = numpy_helper.to_array(tensors[weight]), numpy_helper.to_array(tensors[bias])
    size = weights.shape[0]
    projected = []
    for i, role in enumerate(("query", "key", "value")):
        part = slice(i * size, (i + 1) * size)
        graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(weights[:, part]), f"{weight}_{role}"))
        graph.initializer.append(numpy_helper.from_array(biases[part].copy(), f"{bias}_{role}"))
        source = first if role == "query" else hidden
        product, result = f"{last.name}_{role}_product", f"{last.name}_{role}"
        nodes.append(helper.make_node("MatMul", [source, f"{weight}_{role}"], [product], name=f"{last.name}_{role}"))
        nodes.append(helper.make_node("Add", [product, f"{bias}_{role}"], [result], name=f"{last.name}_{role}_bias"))
        projected.append(result)
    attention = helper.make_node(
        "MultiHeadAttention", [*projected, "", mask], list(last.output), name=last.name, domain=last.domain
    )
    attention.attribute.extend(a for a in last.attribute if a.name in ("num_heads", "mask_filter_value", "scale"))
    nodes.append(attention)
    position = list(graph.node).index(last)
    graph.node.remove(last)
    for node in reversed(nodes):
        graph.node.insert(position, node)
    for name in (weight, bias):
        if not any(name in node.input for node in graph.node):
            graph.initializer.remove(tensors[name])


def split_residuals(model: Any) -> None:
    """Write each SkipLayerNormalization as the additions and the LayerNormalization that it stands for.

    For the CPU: the runtime's fused kernel there takes 5.0 ns an element and the three apart 0.9 (one thread of
    an EPYC, ONNX Runtime 1.31; docs/performance.md), so that the fused form costs a tenth of an int8 pass
    of 24 layers of width 1024, and a third of one of width 256. The fp16 variant, made for CUDA, keeps the fused form.
    """
    from onnx import helper

    nodes = []
    for node in model.graph.node:
        if node.op_type != "SkipLayerNormalization":
            nodes.append(node)
            continue
        branch, residual, scale, *shift = node.input[:4]
        (epsilon,) = (a.f for a in node.attribute if a.name == "epsilon")
        output = node.output[0]
        if len(node.input) > 4 and node.input[4]:
            biased = f"{output}_biased"
            nodes.append(helper.make_node("Add", [branch, node.input[4]], [biased], name=f"{node.name}_bias"))
            branch = biased
        total = node.output[3] if len(node.output) > 3 and node.output[3] else f"{output}_sum"
        nodes.append(helper.make_node("Add", [branch, residual], [total], name=f"{node.name}_residual"))
        nodes.append(
            helper.make_node(
                "LayerNormalization",
                [total, scale, *filter(None, shift)],
                [output],
                name=node.name,
                axis=-1,
                epsilon=epsilon,
            )
        )
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def require_first_token(graph: Any) -> None:
    """Check that the head of a fused graph reads the first token of each pair.

    Raises:
        CheckpointError: it reads something else.
    """
    from onnx import numpy_helper

    tensors = {tensor.name: tensor for tensor in graph.initializer}
    source = head_of(graph)[0].input[0]
    gather = next((node for node in graph.node if source in node.output), None)
    axis = {a.name: a.i for a in gather.attribute}.get("axis", 0) if gather is not None else None
    index: Any = None
    if gather is not None and gather.op_type == "Gather":
        name = gather.input[1]
        constant = next((node for node in graph.node if name in node.output and node.op_type == "Constant"), None)
        tensor = tensors.get(name) or (constant.attribute[0].t if constant is not None else None)
        index = numpy_helper.to_array(tensor).tolist() if tensor is not None else None
    if axis != 1 or index != 0:
        source_of_head = "nothing" if gather is None else f"{gather.op_type} of index {index} along axis {axis}"
        raise CheckpointError(
            f"the classification head reads {source_of_head}, expected Gather of index 0 along axis 1, the first "
            "token; the export does not know this graph"
        )
