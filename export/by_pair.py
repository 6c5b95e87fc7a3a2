"""A quantised graph that computes each pair of a call by itself, at its exact length.

Dynamic quantisation takes one scale for all activations of a product. Were several pairs in it, a pair's numbers would
depend on the others. So attention and feed-forward blocks become bodies of Scan, which the runtime calls pair after
pair: every product sees one pair without its padding, as if the call had been for that pair alone. Compared with
one call per pair, this saves calls, and the weights that one pair brought into the processor's caches serve the next.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

from scorer.errors import CheckpointError

CACHED_BYTES = 8 << 20
"""Weights that one Scan may hold, unless a single block is larger: they should stay in a cache between two pairs. The
cache is one that processors share, on rented machines with other people's."""
_MASK_OF = {"QAttention": 5, "MultiHeadAttention": 4}
"""Which input of an attention is its mask."""
_REAL, _PADS, _ROWS = "real_tokens", "missing_tokens", "token_axis"


def by_pair(model: Any) -> None:
    """Rewrite a quantised graph of :mod:`export.variants` in place.

    Its inputs and output stay as they were: ``input_ids`` and ``attention_mask``, int64, *Shape:* (batch, sequence),
    right padded; ``logits``, float32, *Shape:* (batch, 3). Embeddings are looked up for the whole call.

    Raises:
        CheckpointError: the layers cannot be told apart.
    """
    import numpy as np
    from onnx import helper, numpy_helper

    graph = model.graph
    hidden, masks = _ends(graph)
    before = _makers(graph, hidden[0])
    known = {*masks, *(name for node in before for name in node.output)}
    blocks = [_makers(graph, end, {start, *known}) for start, end in pairwise([*hidden, "logits"])]
    scans = []
    at = 0
    for number, size in enumerate(_groups(graph, blocks)):
        start, end = hidden[at], hidden[at + size] if at + size < len(hidden) else None
        nodes = _makers(graph, end or "logits", {start, *known})
        scans.append(_scan(number, nodes, start, end))
        at += size
    counts = [
        helper.make_node("ReduceSum", ["attention_mask", _ROWS], [_REAL], keepdims=1),
        helper.make_node("Shape", ["attention_mask"], ["call_shape"]),
        helper.make_node("Gather", ["call_shape", _ROWS], ["longest"]),
        helper.make_node("Sub", ["longest", _REAL], ["missing"]),
        # Pad wants two numbers before and two after: rows and columns of a pair's hidden states.
        helper.make_node("Mul", ["missing", "after_rows"], [_PADS]),
    ]
    _move_weights(graph, before, scans)
    del graph.node[:]
    graph.node.extend([*before, *counts, *scans])
    graph.initializer.extend(
        numpy_helper.from_array(np.array(value, np.int64), name)
        for name, value in ((_ROWS, [1]), ("pair_axis", [0]), ("after_rows", [[0, 0, 1, 0]]))
    )


def _scan(number: int, nodes: Sequence[Any], source: str, target: str | None) -> Any:
    """A Scan over the pairs whose body is ``nodes``. ``target``: hidden states to go on with, ``None`` at the end."""
    from onnx import NodeProto, TensorProto, helper

    x, real, pads, y = (f"pair_{number}_{role}" for role in ("x", "real", "pads", "y"))
    inner = target or "logits"
    body = [
        helper.make_node("Slice", [x, "pair_axis", real, "pair_axis"], [f"{x}_real"]),
        helper.make_node("Unsqueeze", [f"{x}_real", "pair_axis"], [f"{x}_one"]),
    ]
    for node in nodes:
        copy = NodeProto()
        copy.CopyFrom(node)
        for i, name in enumerate(copy.input):
            if name == source:
                copy.input[i] = f"{x}_one"
        _drop_mask(copy)
        body.append(copy)
    outer, inputs = [source, _REAL], [(x, TensorProto.FLOAT, ["s", "width_in"]), (real, TensorProto.INT64, [1])]
    if target is None:
        body.append(helper.make_node("Squeeze", [inner, "pair_axis"], [y]))
        shape = ["labels"]
    else:
        body.append(helper.make_node("Squeeze", [inner, "pair_axis"], [f"{y}_real"]))
        body.append(helper.make_node("Pad", [f"{y}_real", pads], [y]))
        outer.append(_PADS)
        inputs.append((pads, TensorProto.INT64, [4]))
        shape = ["s", "width_out"]
    subgraph = helper.make_graph(
        body,
        f"pair_{number}",
        [helper.make_tensor_value_info(*one) for one in inputs],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, shape)],
    )
    # The bodies hold names of their own scope only; the outer graph knows the result by the old one.
    for node in subgraph.node:
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                if name == inner:
                    names[i] = f"{inner}_one"
    return helper.make_node("Scan", outer, [inner], f"pair_{number}", body=subgraph, num_scan_inputs=len(inputs))


def _move_weights(graph: Any, before: Sequence[Any], scans: Sequence[Any]) -> None:
    """Give each body the tensors that it alone reads: weights from outside the runtime neither fuses nor packs."""
    bodies = [attribute.g for node in scans for attribute in node.attribute if attribute.name == "body"]
    readers: dict[str, list[Any]] = {}
    for part in (graph, *bodies):
        for name in {name for node in (before if part is graph else part.node) for name in node.input}:
            readers.setdefault(name, []).append(part)
    stay = []
    for tensor in graph.initializer:
        reading = readers.get(tensor.name, [])
        if len(reading) == 1 and reading[0] is not graph:
            reading[0].initializer.append(tensor)
        else:
            stay.append(tensor)
    del graph.initializer[:]
    graph.initializer.extend(stay)


def _drop_mask(node: Any) -> None:
    """Without padding there is nothing to mask."""
    if node.op_type in _MASK_OF:
        node.input[_MASK_OF[node.op_type]] = ""


def _ends(graph: Any) -> tuple[list[str], set[str]]:
    """The hidden states that each block begins with, and the masks of the attentions.

    A block is the attention or the feed-forward part of a layer. The last layer is one: in its middle it has the first
    token alone, and not as many rows as a pair has tokens.
    """
    attentions = [node for node in graph.node if node.op_type in _MASK_OF]
    norms = [node.output[0] for node in graph.node if node.op_type == "LayerNormalization"]
    if len(norms) != 2 * len(attentions) + 1:
        raise CheckpointError(
            f"the quantised graph has {len(norms)} LayerNormalization for {len(attentions)} attentions, expected "
            f"{2 * len(attentions) + 1}; the export does not know it"
        )
    return norms[:-2], {node.input[_MASK_OF[node.op_type]] for node in attentions}


def _makers(graph: Any, value: str, known: Collection[str] = ()) -> list[Any]:
    """The nodes that make a value from what is known, in the order of the graph."""
    made_by = {output: node for node in graph.node for output in node.output if output not in known}
    found = set()
    wanted = [value]
    while wanted:
        node = made_by.get(wanted.pop())
        if node is not None and node.output[0] not in found:
            found.add(node.output[0])
            wanted.extend(node.input)
    return [node for node in graph.node if node.output[0] in found]


def _groups(graph: Any, blocks: Iterable[Sequence[Any]]) -> list[int]:
    """How many blocks each Scan takes."""
    bytes_of = {tensor.name: len(tensor.raw_data) for tensor in graph.initializer}
    groups: list[int] = []
    held = 0
    for block in blocks:
        size = sum(bytes_of.get(name, 0) for name in {name for node in block for name in node.input})
        if groups and held + size <= CACHED_BYTES:
            groups[-1] += 1
            held += size
        else:
            groups.append(1)
            held = size
    return groups
