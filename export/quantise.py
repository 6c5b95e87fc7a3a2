"""Matrix products in 8 bits: weights with a scale for each column, activations with a scale for each row.

A row is rounded by its own largest value, as the graph runs, so that no pair changes the numbers of another, and int8
shares calls as fp32 does. (One scale for all activations of a call, which the runtime's own tool makes, keeps fewer
labels and lets the pairs of a call change each other.) Two things keep more labels at no cost that was seen:

- GELU's results start at -0.17. They are shifted to start at 0, which leaves all 256 steps for them, and the shift's
  share of the product is a constant.
- A normalisation has a few channels that are many times as large as the others. They are divided, and the weights that
  read them multiplied, by how far the normalisation's own parameters let them exceed the median channel.

The integers of a product are the same on every x86 processor. Without VNNI, the runtime adds the products of two
neighbouring activations and weights in 16 bits (vpmaddubsw), which saturate beyond 32,767: activations go up to 255, so
two neighbouring weights together go up to 128 (:func:`column_scales`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
SHIFT = 0.17
"""Added to GELU's results, which are never below -0.17."""
_GELUS = ("BiasGelu", "Gelu", "FastGelu")


class _Rows(NamedTuple):
    """Activations as integers."""

    integers: str
    """Name of the integers, uint8, *Shape:* (rows, inner)."""
    zero: str
    """Name of the zero point, uint8, *Shape:* ()."""
    steps: str
    """Name of the size of a step of each row, float32, *Shape:* (rows, 1)."""
    shape: str
    """Name of the activations' shape without its last length."""
    divided: Floats
    """Divisor of each channel, *Shape:* (inner,), 1 for a channel that was not divided."""
    shift: float
    """Number that was added before."""


def quantise(model: Any) -> int:
    """Quantise every MatMul of an ONNX model that has constant weights, in place; return how many.

    The product inside a fused Attention stays fp32: its errors change the attention weights. Of 512 probes of the
    embedded model 11 lose their label with it in 8 bits, and 5 without. The head stays fp32, too, as its products are
    Gemm, and so do embeddings, which are looked up.
    """
    return _Quantised(model.graph).products


def column_scales(weight: Floats) -> Floats:
    """The size of one step of each column's integers, with which no sum of two neighbouring products saturates.

    *Shape:* (inner, columns) → (columns,). The sizes of rows 2n and 2n + 1 together are at most 127 steps, and 128 once
    both are rounded.
    """
    sizes = np.abs(weight)
    if len(sizes) % 2:
        sizes = np.pad(sizes, ((0, 1), (0, 0)))
    scales: Floats = np.maximum((sizes[0::2] + sizes[1::2]).max(axis=0), 1e-12) / 127
    return scales


class _Quantised:
    """A graph on its way to 8 bits; ``products`` counts the quantised products."""

    def __init__(self, graph: Any) -> None:
        from onnx import numpy_helper

        self._tensors = {tensor.name: tensor for tensor in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant":  # torch writes a layer norm without bias with zeros in such a node
                self._tensors.update(
                    (node.output[0], attribute.t) for attribute in node.attribute if attribute.name == "value"
                )
        self._producers = {output: node for node in graph.node for output in node.output}
        self._constants: dict[str, Any] = {}
        self._rows: dict[str, _Rows] = {}
        self._nodes: list[Any] = []
        self.products = 0
        for node in graph.node:
            if node.op_type == "MatMul" and node.input[1] in self._tensors:
                self._product(node, numpy_helper.to_array(self._tensors[node.input[1]]))
                self.products += 1
            else:
                self._nodes.append(node)
        del graph.node[:]
        graph.node.extend(self._nodes)
        used = {name for node in graph.node for name in node.input}
        initializers = [tensor for tensor in (*graph.initializer, *self._constants.values()) if tensor.name in used]
        del graph.initializer[:]
        graph.initializer.extend(initializers)

    def _product(self, node: Any, weight: Floats) -> None:
        """The nodes of one product; ``weight``: *Shape:* (inner, columns)."""
        from onnx import TensorProto

        source, name = node.input[:2]
        (result,) = node.output
        inner, columns = weight.shape
        if source not in self._rows:
            self._rows[source] = self._rounded(source, inner)
        rows = self._rows[source]
        weight = weight * rows.divided[:, None]
        scale = column_scales(weight)
        integers = np.rint(weight / scale).astype(np.int8)
        product = f"{result}_product"
        inputs = [rows.integers, self._constant(f"{name}_int8", integers), rows.zero]
        self._add("MatMulInteger", inputs, f"{product}_int32")
        self._add("Cast", [f"{product}_int32"], f"{product}_float", to=TensorProto.FLOAT)
        self._add("Mul", [f"{product}_float", self._constant(f"{name}_scale", scale)], f"{product}_scaled")
        self._add("Mul", [f"{product}_scaled", rows.steps], product)
        if rows.shift:
            share = -rows.shift * (integers * scale).sum(axis=0)
            self._add("Add", [product, self._constant(f"{name}_shift", share)], f"{product}_shifted")
            product = f"{product}_shifted"
        width = self._constant(f"width_{columns}", np.array([columns]))
        self._add("Concat", [rows.shape, width], f"{result}_shape", axis=0)
        self._add("Reshape", [product, f"{result}_shape"], result)

    def _rounded(self, source: str, inner: int) -> _Rows:
        """The nodes that make integers of activations, *Shape:* (..., inner)."""
        from onnx import helper, numpy_helper

        producer = self._producer(source)
        shift = SHIFT if producer is not None and producer.op_type in _GELUS else 0.0
        divided = self._outliers(producer, inner)
        zero = np.array([0 if shift else 128], np.uint8)
        rows = f"{source}_rows"
        self._add("Reshape", [source, self._constant(f"rows_{inner}", np.array([-1, inner]))], rows)
        moved = f"{rows}_moved" if shift or (divided != 1).any() else rows
        if shift:
            self._add("Add", [rows, self._constant("gelu_shift", np.array(shift))], moved)
        elif moved != rows:
            self._add("Mul", [rows, self._constant(f"{source}_divided", 1 / divided)], moved)
        size = moved if shift else f"{rows}_size"
        if not shift:
            self._add("Abs", [moved], size)
        self._add("ReduceMax", [size], f"{rows}_largest", axes=[1], keepdims=0)
        self._add("Max", [f"{rows}_largest", self._constant("least_size", np.array(1e-12))], f"{rows}_bound")
        step = self._constant(f"step_{zero[0]}", np.array(1 / (255 if shift else 127)))
        self._add("Mul", [f"{rows}_bound", step], f"{rows}_step")
        self._add("Shape", [f"{rows}_step"], f"{rows}_number")
        zeros = helper.make_node("ConstantOfShape", [f"{rows}_number"], [f"{rows}_zeros"], f"{rows}_zeros")
        zeros.attribute.append(helper.make_attribute("value", numpy_helper.from_array(zero)))
        self._nodes.append(zeros)
        self._add("QuantizeLinear", [moved, f"{rows}_step", f"{rows}_zeros"], f"{rows}_int8", axis=0)
        self._add("Unsqueeze", [f"{rows}_step", self._constant("last_axis", np.array([1]))], f"{rows}_steps")
        self._add("Shape", [source], f"{source}_shape")
        ends = [self._constant("first", np.array([0])), self._constant("last", np.array([-1]))]
        self._add("Slice", [f"{source}_shape", *ends], f"{source}_outer")
        middle = self._constant(f"zero_{zero[0]}", zero[0])
        return _Rows(f"{rows}_int8", middle, f"{rows}_steps", f"{source}_outer", divided, shift)

    def _producer(self, name: str) -> Any:
        """The node that computes a value, before the first token was taken of it."""
        node = self._producers.get(name)
        while node is not None and node.op_type == "Slice":
            node = self._producers.get(node.input[0])
        return node

    def _outliers(self, producer: Any, inner: int) -> Floats:
        """Factor by which channels may exceed the median: normalised values are seldom beyond 3. *Shape:* (inner,)."""
        from onnx import numpy_helper

        if producer is None or producer.op_type != "LayerNormalization":
            return np.ones(inner, np.float32)
        parts = [np.abs(numpy_helper.to_array(self._tensors[name])) for name in producer.input[1:3] if name]
        size = 3 * parts[0] + (parts[1] if len(parts) > 1 else 0)
        return np.maximum(size / max(float(np.median(size)), 1e-12), 1).astype(np.float32)

    def _add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> None:
        from onnx import helper

        self._nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))

    def _constant(self, name: str, value: Any) -> str:
        """The name of a constant of the graph: floats as float32, numbers of places as int64."""
        from onnx import numpy_helper

        if name not in self._constants:
            value = np.asarray(value)
            if value.dtype == np.float64:
                value = value.astype(np.float32)
            self._constants[name] = numpy_helper.from_array(value, name)
        return name
