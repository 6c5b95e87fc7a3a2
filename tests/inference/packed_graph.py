"""The follow-along model of :mod:`tests.bundles` as a packed graph, of standard operators that a CPU runs.

It stands for a graph with PackedMultiHeadAttention: the same inputs, the same logits as its padded form. So all that
the program does in the packed layout runs without a GPU: choosing, trying, calibrating, verifying, scoring, resuming.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper, parser

from tests.bundles import make_bundle, tokenizer, variant, weights

GRAPH = f"""
<ir_version: 9, opset_import: ["" : 17]>
packed (
    int32[tokens] input_ids, int32[tokens] position_ids, int32[pairs, longest] token_offset,
    int32[ends] cumulative_sequence_length
) => (float[pairs, 3] logits) {{
    embedded = Gather (table, input_ids)
    place = Cast <to = {TensorProto.DOUBLE}> (position_ids)
    counted = Add (place, one)
    weight = Unsqueeze (counted, columns)
    wide = Cast <to = {TensorProto.DOUBLE}> (embedded)
    weighted = Mul (wide, weight)
    running = CumSum (weighted, along)
    sums = Pad (running, before)
    at_ends = Gather (sums, cumulative_sequence_length)
    upper = Slice (at_ends, first, end, along_list)
    lower = Slice (at_ends, zero, last, along_list)
    summed = Sub (upper, lower)
    ends_of = Slice (cumulative_sequence_length, first, end, along_list)
    starts = Slice (cumulative_sequence_length, zero, last, along_list)
    lengths = Sub (ends_of, starts)
    length = Cast <to = {TensorProto.DOUBLE}> (lengths)
    divisor = Unsqueeze (length, columns)
    mean = Div (summed, divisor)
    pooled = Cast <to = {TensorProto.FLOAT}> (mean)
    projected = MatMul (pooled, w)
    logits = Add (projected, b)
}}
"""


def packed_graph(vocabulary: int) -> onnx.ModelProto:
    """The sum over a pair is the difference of two values of a running sum."""
    table, w, b = weights(vocabulary)
    constants = {
        "table": table, "w": w, "b": b, "one": np.float64(1), "columns": np.array([1]),
        "along": np.array(0), "along_list": np.array([0]), "before": np.array([1, 0, 0, 0]), "zero": np.array([0]),
        "first": np.array([1]), "last": np.array([-1]), "end": np.array([1 << 60]),
    }  # fmt: skip
    made = parser.parse_model(GRAPH)
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items())
    onnx.checker.check_model(made)
    return made


def make_packed_bundle(path: Path, *, max_length: int = 128) -> Path:
    """A bundle with fp32, and fp16 in its two forms."""
    make_bundle(path, precisions=("fp32", "fp16"), max_length=max_length)
    manifest = json.loads((path / "bundle.json").read_text())
    file = "model.fp16.packed.onnx"
    onnx.save(packed_graph(tokenizer().get_vocab_size()), str(path / file))
    manifest["variants"]["fp16.packed"] = variant(path / file, "fp16", layout="packed")
    (path / "bundle.json").write_text(json.dumps(manifest))
    return path
