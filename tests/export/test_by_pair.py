"""A quantised graph whose pairs share a call and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from export import by_pair as module
from export.by_pair import by_pair
from export.graph import operator_counts
from export.quantise import quantise
from export.rewrite import head_of
from export.variants import export_int8
from scorer.errors import CheckpointError
from scorer.inference.devices import CPU
from tests.export.checkpoints import LAYERS

LENGTHS = np.array([31, 7, 18, 3, 18, 1])


@pytest.fixture(scope="module")
def fp32(bundle: Path) -> Path:
    return bundle / "model.fp32.onnx"


@pytest.fixture(scope="module")
def flat(fp32: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quantised graph before the rewrite."""
    path = tmp_path_factory.mktemp("quantised") / "flat.onnx"
    quantise(fp32, path, [f"{node.name}_MatMul" for node in head_of(onnx.load(str(fp32)).graph)])
    return path


def calls() -> tuple[np.ndarray, np.ndarray]:
    """Ids and mask of pairs of different lengths; padding holds other ids than the checkpoint's, to be seen if read."""
    mask = (np.arange(31) < LENGTHS[:, None]).astype(np.int64)
    return np.random.default_rng(3).integers(4, 490, mask.shape), mask


def session(model: Path | Any) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    return ort.InferenceSession(source, options, providers=[CPU])


def ask(opened: ort.InferenceSession, rows: list[int], longest: int | None = None) -> np.ndarray:
    ids, mask = calls()
    width = longest or int(LENGTHS[rows].max())
    return opened.run(["logits"], {"input_ids": ids[rows, :width], "attention_mask": mask[rows, :width]})[0]


@pytest.mark.parametrize("cached", [0, module.CACHED_BYTES], ids=["a-block-each", "all-blocks"])
def test_a_pair_in_company_has_the_numbers_it_has_alone(
    flat: Path, cached: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CACHED_BYTES", cached)
    model = onnx.load(str(flat))
    by_pair(model)
    onnx.checker.check_model(model, check_custom_domain=False)
    assert operator_counts(model)["Scan"] == (1 if cached else 2 * LAYERS - 1)
    opened, before = session(model), session(flat)
    alone = np.concatenate([ask(opened, [row]) for row in range(len(LENGTHS))])
    assert np.ptp(alone, axis=0).min() > 1e-3  # rows differ, or equal numbers would say nothing
    for rows in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 4], [1, 3, 5]):
        for longest in (None, 31):
            assert np.array_equal(ask(opened, rows, longest), alone[rows])
    np.testing.assert_allclose(alone, np.concatenate([ask(before, [row]) for row in range(len(LENGTHS))]), atol=1e-5)


def test_without_it_company_moves_the_numbers(flat: Path) -> None:
    """Why there is the rewrite: one scale covers all activations of a product."""
    opened = session(flat)
    alone = np.concatenate([ask(opened, [row]) for row in range(len(LENGTHS))])
    assert np.abs(ask(opened, list(range(len(LENGTHS)))) - alone).max() > 1e-3


def test_weights_lie_where_they_are_used(fp32: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the bodies: of weights in an outer graph the runtime makes no fused product."""
    monkeypatch.setattr(module, "CACHED_BYTES", 0)
    export_int8(fp32, tmp_path / "int8.onnx", LAYERS)
    model = onnx.load(str(tmp_path / "int8.onnx"))
    outer = [tensor.name for tensor in model.graph.initializer]
    assert not any("layer." in name for name in outer)
    bodies = [a.g for node in model.graph.node for a in node.attribute if a.name == "body"]
    names = [tensor.name for body in bodies for tensor in body.initializer]
    assert len(names) == len(set(names)) and not set(names) & set(outer)
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    ort.InferenceSession(str(tmp_path / "int8.onnx"), options, providers=[CPU])
    found = operator_counts(onnx.load(str(tmp_path / "optimised.onnx")))
    # All but the last layer's keys and values, which share one quantised input.
    assert (found["DynamicQuantizeMatMul"], found["MatMulIntegerToFloat"]) == (3 * LAYERS + 1, 2)
    assert "MatMulInteger" not in found


def test_blocks_that_cannot_be_told_apart_are_refused(flat: Path) -> None:
    model = onnx.load(str(flat))
    next(node for node in model.graph.node if node.op_type == "QAttention").op_type = "Attention"
    with pytest.raises(CheckpointError, match=r"5 LayerNormalization for 1 attentions, expected 3"):
        by_pair(model)
