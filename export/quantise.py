"""Weights of matrix products in 8 bits: MatMulNBits, which rounds the activations of each row by itself.

One scale for all activations of a product (MatMulInteger, QAttention) would let the pairs of a call change each other's
numbers, and keeps fewer labels: the second product of a feed-forward block has activations of very different sizes.
Here every :data:`BLOCK` neighbouring activations of a row, and every :data:`BLOCK` weights of a column, have a scale.
"""

from __future__ import annotations

from typing import Any

BLOCK = 64
"""Values that share a scale. With 128 the runtime's kernel is a little faster, and a row's last bits depend on how many
rows there are."""
_INT8_COMPUTE = 4
"""MatMulNBits' ``accuracy_level``: products of 8-bit integers, summed in 32 bits."""


def quantise(model: Any) -> int:
    """Quantise the weights of every MatMul of an ONNX model with constant weights, in place; return how many.

    A fused Attention becomes such a MatMul and a MultiHeadAttention. Embeddings stay fp32: they are looked up, not
    multiplied. So does the head, whose products are Gemm.
    """
    from onnx import helper

    split_attention(model)
    graph = model.graph
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    quantised: dict[str, tuple[int, int]] = {}
    products = 0
    for i, node in enumerate(graph.node):
        if node.op_type != "MatMul" or node.input[1] not in tensors:
            continue
        name = node.input[1]
        if name not in quantised:
            quantised[name] = _add_quantised(graph, tensors[name])
        rows, columns = quantised[name]
        inputs = [node.input[0], f"{name}_int8", f"{name}_scale"]
        product = helper.make_node("MatMulNBits", inputs, list(node.output), node.name, domain="com.microsoft")
        options = {"K": rows, "N": columns, "bits": 8, "block_size": BLOCK, "accuracy_level": _INT8_COMPUTE}
        product.attribute.extend(helper.make_attribute(key, value) for key, value in options.items())
        graph.node[i].CopyFrom(product)
        products += 1
    used = {name for node in graph.node for name in node.input}
    for name in quantised:
        if name not in used:
            graph.initializer.remove(tensors[name])
    return products


def split_attention(model: Any) -> None:
    """Write each fused Attention as its product with the weights of Q, K and V, and the attention of these."""
    from onnx import helper

    nodes = []
    for node in model.graph.node:
        if node.op_type != "Attention":
            nodes.append(node)
            continue
        hidden, weight, bias, mask = node.input[:4]
        product, biased = f"{node.name}_qkv_product", f"{node.name}_qkv"
        parts = [f"{node.name}_{role}" for role in ("query", "key", "value")]
        nodes.append(helper.make_node("MatMul", [hidden, weight], [product], product))
        nodes.append(helper.make_node("Add", [product, bias], [biased], biased))
        nodes.append(helper.make_node("Split", [biased], parts, f"{node.name}_split", axis=-1))
        attention = helper.make_node(
            "MultiHeadAttention", [*parts, "", mask], list(node.output), node.name, domain=node.domain
        )
        attention.attribute.extend(a for a in node.attribute if a.name in ("num_heads", "mask_filter_value", "scale"))
        nodes.append(attention)
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _add_quantised(graph: Any, weight: Any) -> tuple[int, int]:
    """Add the 8-bit form of a weight to a graph, and return the weight's shape.

    ``<name>_int8``: uint8, *Shape:* (columns, blocks, BLOCK), 128 for zero. ``<name>_scale``: float32, *Shape:*
    (columns, blocks).
    """
    import numpy as np
    from onnx import numpy_helper

    values = numpy_helper.to_array(weight)
    rows, columns = values.shape
    blocks = -(-rows // BLOCK)
    padded = np.zeros((columns, blocks * BLOCK), np.float32)
    padded[:, :rows] = values.T
    padded = padded.reshape(columns, blocks, BLOCK)
    scale = np.abs(padded).max(axis=2) / 127
    scale[scale == 0] = 1
    integers = (np.rint(padded / scale[..., None]) + 128).astype(np.uint8)
    graph.initializer.append(numpy_helper.from_array(integers, f"{weight.name}_int8"))
    graph.initializer.append(numpy_helper.from_array(scale, f"{weight.name}_scale"))
    return rows, columns
