"""The follow-along model of :mod:`tests.bundles` as a packed graph, of standard operators that a CPU runs.

It stands for a graph with PackedMultiHeadAttention: the same inputs, the same logits as its padded form. So all that
the program does in the packed layout runs without a GPU: choosing, trying, calibrating, verifying, scoring, resuming.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.bundles import make_bundle, tokenizer, variant, weights


def packed_graph(vocabulary: int) -> onnx.ModelProto:
    """The sum over a pair is the difference of two values of a running sum."""
    table, w, b = weights(vocabulary)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["embedded"]),
        helper.make_node("Cast", ["position_ids"], ["place"], to=TensorProto.DOUBLE),
        helper.make_node("Add", ["place", "one"], ["counted"]),
        helper.make_node("Unsqueeze", ["counted", "columns"], ["weight"]),
        helper.make_node("Cast", ["embedded"], ["wide"], to=TensorProto.DOUBLE),
        helper.make_node("Mul", ["wide", "weight"], ["weighted"]),
        helper.make_node("CumSum", ["weighted", "along"], ["running"]),
        helper.make_node("Pad", ["running", "before"], ["sums"]),
        helper.make_node("Gather", ["sums", "cumulative_sequence_length"], ["at_ends"]),
        helper.make_node("Slice", ["at_ends", "first", "end", "along_list"], ["upper"]),
        helper.make_node("Slice", ["at_ends", "zero", "last", "along_list"], ["lower"]),
        helper.make_node("Sub", ["upper", "lower"], ["summed"]),
        helper.make_node("Slice", ["cumulative_sequence_length", "first", "end", "along_list"], ["ends"]),
        helper.make_node("Slice", ["cumulative_sequence_length", "zero", "last", "along_list"], ["starts"]),
        helper.make_node("Sub", ["ends", "starts"], ["lengths"]),
        helper.make_node("Cast", ["lengths"], ["length"], to=TensorProto.DOUBLE),
        helper.make_node("Unsqueeze", ["length", "columns"], ["divisor"]),
        helper.make_node("Div", ["summed", "divisor"], ["mean"]),
        helper.make_node("Cast", ["mean"], ["pooled"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["pooled", "w"], ["projected"]),
        helper.make_node("Add", ["projected", "b"], ["logits"]),
    ]
    constants = {
        "table": table, "w": w, "b": b, "one": np.float64(1), "columns": np.array([1]),
        "along": np.array(0), "along_list": np.array([0]), "before": np.array([1, 0, 0, 0]), "zero": np.array([0]),
        "first": np.array([1]), "last": np.array([-1]), "end": np.array([1 << 60]),
    }  # fmt: skip
    shapes = {
        "input_ids": ["tokens"], "position_ids": ["tokens"], "token_offset": ["pairs", "longest"],
        "cumulative_sequence_length": ["ends"],
    }  # fmt: skip
    made = helper.make_model(
        helper.make_graph(
            nodes,
            "packed",
            [helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name, shape in shapes.items()],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", 3])],
            [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    )
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
