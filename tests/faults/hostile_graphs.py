"""Graphs that are right about the probes and go wrong on one token, made of the model of :mod:`tests.bundles`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tests.bundles import digest, graph, make_bundle, tokenizer

TOKEN = "@"
"""What the graphs go wrong on; no probe has it."""
Change = Callable[[ModelProto], None]


def bundle_with(path: Path, change: Change) -> Path:
    """A bundle whose fp32 graph was changed, with the right hashes."""
    make_bundle(path)
    made = graph(tokenizer().get_vocab_size())
    change(made)
    onnx.save(made, str(path / "model.fp32.onnx"))
    return sealed(path)


def sealed(path: Path) -> Path:
    """Write the hashes of a bundle's files into its description, as its author would."""
    manifest = json.loads((path / "bundle.json").read_text())
    manifest["variants"]["fp32"]["sha256"] = digest(path / "model.fp32.onnx")
    manifest["files"] = {name: digest(path / name) for name in manifest["files"]}
    (path / "bundle.json").write_text(json.dumps(manifest))
    return path


def endless(*, always: bool = False) -> Change:
    """A loop of 2**62 turns over the logits, where the token is, or everywhere."""
    return lambda made: _loop(made, always, [], [])


def growing(made: ModelProto) -> None:
    """A loop that keeps a megabyte of each of its turns."""
    _constant(made, "megabyte", np.array([1 << 18], np.int64))
    more = helper.make_node("ConstantOfShape", ["megabyte"], ["more"])
    _loop(made, True, [more], [_value("more", TensorProto.FLOAT, [None])])


def vast(numbers: int) -> Change:
    """So many numbers in memory where the token is."""

    def change(made: ModelProto) -> None:
        _if_token(made, numbers, False)
        _constant(made, "flat", np.array([1], np.int64))
        made.graph.node.extend(
            [
                helper.make_node("Reshape", ["times", "flat"], ["size"]),
                helper.make_node("ConstantOfShape", ["size"], ["zeros"]),
                helper.make_node("ReduceSum", ["zeros"], ["nothing"], keepdims=0),
                helper.make_node("Add", ["before", "nothing"], ["logits"]),
            ]
        )

    return change


def narrow(made: ModelProto) -> None:
    """Two logits instead of three."""
    _rename_output(made)
    for name, value in (("from", 0), ("to", 2), ("axis", 1)):
        _constant(made, name, np.array([value], np.int64))
    made.graph.node.append(helper.make_node("Slice", ["before", "from", "to", "axis"], ["logits"]))
    made.graph.output[0].CopyFrom(_value("logits", TensorProto.FLOAT, ["batch", 2]))


def whole_numbers(made: ModelProto) -> None:
    """Logits of the type int64."""
    _rename_output(made)
    made.graph.node.append(helper.make_node("Cast", ["before"], ["logits"], to=TensorProto.INT64))
    made.graph.output[0].CopyFrom(_value("logits", TensorProto.INT64, ["batch", 3]))


def out_of_bounds(made: ModelProto) -> None:
    """An error of the runtime in every call."""
    _rename_output(made)
    _constant(made, "far", np.array([99], np.int64))
    made.graph.node.extend(
        [
            helper.make_node("Shape", ["before"], ["shape"]),
            helper.make_node("Gather", ["shape", "far"], ["none"]),
            helper.make_node("Reshape", ["before", "none"], ["logits"]),
        ]
    )


def _loop(made: ModelProto, always: bool, nodes: list[NodeProto], kept: list[ValueInfoProto]) -> None:
    """A loop over the logits whose body has more nodes, of which values are kept."""
    _if_token(made, 1 << 62, always)
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["goes"]), helper.make_node("Identity", ["value"], ["kept"]), *nodes],
        "body",
        [_value("turn", TensorProto.INT64, []), _value("going", TensorProto.BOOL, []), _logits("value")],
        [_value("goes", TensorProto.BOOL, []), _logits("kept"), *kept],
    )
    _constant(made, "yes", np.array(True))
    results = ["logits", *(f"all_{value.name}" for value in kept)]
    made.graph.node.append(helper.make_node("Loop", ["times", "yes", "before"], results, body=body))


def _if_token(made: ModelProto, value: int, always: bool) -> None:
    """Have ``times`` be the value where the token is in a call, else 0; the logits are called ``before``."""
    _rename_output(made)
    token = tokenizer().encode(TOKEN, add_special_tokens=False).ids[0]
    _constant(made, "token", np.array(token, np.int64))
    _constant(made, "value", np.array(value, np.int64))
    _constant(made, "least", np.array(int(always), np.int64))
    made.graph.node.extend(
        [
            helper.make_node("Equal", ["input_ids", "token"], ["found"]),
            helper.make_node("Cast", ["found"], ["here"], to=TensorProto.INT64),
            helper.make_node("ReduceMax", ["here"], ["any"], keepdims=0),
            helper.make_node("Max", ["any", "least"], ["either"]),
            helper.make_node("Mul", ["either", "value"], ["times"]),
        ]
    )


def _rename_output(made: ModelProto) -> None:
    last = made.graph.node[-1]
    last.output[0] = "before"


def _constant(made: ModelProto, name: str, value: np.ndarray) -> None:
    made.graph.initializer.append(numpy_helper.from_array(value, name))


def _value(name: str, kind: int, shape: list[int | str | None]) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _logits(name: str) -> ValueInfoProto:
    return _value(name, TensorProto.FLOAT, ["batch", 3])
