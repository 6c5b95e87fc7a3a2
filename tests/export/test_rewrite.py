"""The rewrites that make a graph faster: what is in it afterwards, and that its numbers are the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from export.graph import operator_counts
from export.rewrite import keep_first_token, split_residuals
from scorer.errors import CheckpointError
from tests.export.checkpoints import LAYERS, padded_logits


@pytest.fixture
def model(fused: Path) -> Any:
    return onnx.load(str(fused))


@pytest.mark.parametrize("rewrites", [(keep_first_token,), (split_residuals,), (keep_first_token, split_residuals)])
def test_rewriting_keeps_the_logits(model: Any, rewrites: tuple[Callable[[Any], None], ...]) -> None:
    before = padded_logits(model.SerializeToString())
    for rewrite in rewrites:
        rewrite(model)
    onnx.checker.check_model(model, full_check=False, check_custom_domain=False)
    np.testing.assert_allclose(padded_logits(model.SerializeToString()), before, atol=2e-6)
    assert np.ptp(before, axis=0).min() > 1e-3  # rows differ, or equal numbers would say nothing


def test_the_last_layer_has_one_query(model: Any) -> None:
    products = operator_counts(model)["MatMul"]
    keep_first_token(model)
    found = operator_counts(model)
    assert (found["Attention"], found["MultiHeadAttention"], found["Slice"]) == (LAYERS - 1, 1, 2)
    assert found["MatMul"] == products + 3
    attention = next(node for node in model.graph.node if node.op_type == "MultiHeadAttention")
    made_by = {output: node for node in model.graph.node for output in node.output}
    sources = [made_by[made_by[name].input[0]].input[0] for name in attention.input[:3]]
    assert made_by[sources[0]].op_type == "Slice" and sources[1] == sources[2] == made_by[sources[0]].input[0]
    # The weights of the fused operator are gone, so the file has not grown.
    names = {tensor.name for tensor in model.graph.initializer}
    assert names <= {name for node in model.graph.node for name in node.input}


def test_graphs_whose_last_layer_cannot_be_cut_are_refused(model: Any) -> None:
    other = onnx.ModelProto.FromString(model.SerializeToString())
    last = [node for node in other.graph.node if node.op_type == "Attention"][-1]
    other.graph.node.append(helper.make_node("Identity", [last.input[0]], ["elsewhere"]))
    with pytest.raises(CheckpointError, match=r"also read by \['SkipLayerNormalization', 'Identity'\]"):
        keep_first_token(other)
    head = next(node for node in model.graph.node if node.name == "/classifier/Gather")
    head.input[1] = "/roberta/Constant_2_output_0"
    with pytest.raises(CheckpointError, match="reads Gather of index 1 along axis 1, expected Gather of index 0"):
        keep_first_token(model)
