"""Graphs that are right about the probes and go wrong on one token, made of the model of :mod:`tests.bundles`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, numpy_helper, parser

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

    def change(made: ModelProto) -> None:
        _if_token(made, 1 << 62, always)
        _constants(made, yes=True)
        body = """body (int64 turn, bool going, float[batch, 3] value) => (bool goes, float[batch, 3] same) {
            goes = Identity (going)
            same = Identity (value)
        }"""
        _append(made, f"logits = Loop <body = {body}> (times, yes, before)")

    return change


def vast(numbers: int) -> Change:
    """So many numbers in memory where the token is."""

    def change(made: ModelProto) -> None:
        _if_token(made, numbers, False)
        _constants(made, flat=[1])
        _append(
            made,
            """size = Reshape (times, flat)
            zeros = ConstantOfShape (size)
            nothing = ReduceSum <keepdims = 0> (zeros)
            logits = Add (before, nothing)""",
        )

    return change


def narrow(made: ModelProto) -> None:
    """Two logits instead of three."""
    _rename_output(made)
    _constants(made, first=[0], end=[2], axis=[1])
    _append(made, "logits = Slice (before, first, end, axis)")
    made.graph.output[0].CopyFrom(parser.parse_graph("g () => (float[batch, 2] logits) {}").output[0])


def whole_numbers(made: ModelProto) -> None:
    """Logits of the type int64."""
    _rename_output(made)
    _append(made, f"logits = Cast <to = {TensorProto.INT64}> (before)")
    made.graph.output[0].CopyFrom(parser.parse_graph("g () => (int64[batch, 3] logits) {}").output[0])


def out_of_bounds(made: ModelProto) -> None:
    """An error of the runtime in every call."""
    _rename_output(made)
    _constants(made, far=[99])
    _append(
        made,
        """shape = Shape (before)
        none = Gather (shape, far)
        logits = Reshape (before, none)""",
    )


def _if_token(made: ModelProto, value: int, always: bool) -> None:
    """Have ``times`` be the value where the token is in a call, else 0; the logits are called ``before``."""
    _rename_output(made)
    token = tokenizer().encode(TOKEN, add_special_tokens=False).ids[0]
    _constants(made, token=token, value=value, least=int(always))
    _append(
        made,
        f"""found = Equal (input_ids, token)
        here = Cast <to = {TensorProto.INT64}> (found)
        any = ReduceMax <keepdims = 0> (here)
        either = Max (any, least)
        times = Mul (either, value)""",
    )


def _rename_output(made: ModelProto) -> None:
    made.graph.node[-1].output[0] = "before"


def _constants(made: ModelProto, **values: Any) -> None:
    made.graph.initializer.extend(numpy_helper.from_array(np.array(value), name) for name, value in values.items())


def _append(made: ModelProto, nodes: str) -> None:
    made.graph.node.extend(parser.parse_graph(f"g () => () {{ {nodes} }}").node)
