"""The fused graph: what is in it, that it is checked, and that padding does not matter."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto

from export import Answers
from export.architectures.encoder import fused_counts
from export.checkpoint import open_checkpoint
from export.graph import check_fused, export_fused
from export.toolchain import quiet
from scorer.errors import CheckpointError
from tests.export.checkpoints import LAYERS


@pytest.fixture
def model(fused: Path) -> Any:
    """The fused graph, freshly loaded."""
    return onnx.load(str(fused))


def test_a_graph_has_the_inputs_and_outputs_of_the_contract(model: Any) -> None:
    def form(value: Any) -> tuple[str, int, list[Any]]:
        tensor = value.type.tensor_type
        return value.name, tensor.elem_type, [d.dim_param or d.dim_value for d in tensor.shape.dim]

    assert [form(value) for value in model.graph.input] == [
        ("input_ids", TensorProto.INT64, ["batch", "sequence"]),
        ("attention_mask", TensorProto.INT64, ["batch", "sequence"]),
    ]
    assert [form(value) for value in model.graph.output] == [("logits", TensorProto.FLOAT, ["batch", 3])]
    assert {entry.domain: entry.version for entry in model.opset_import} == {"": 17, "com.microsoft": 1}


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_a_file_holds_all_weights_and_no_trace_of_the_machine(bundle: Path, precision: str) -> None:
    path = bundle / f"model.{precision}.onnx"
    model = onnx.load(str(path), load_external_data=False)
    files = {
        entry.value for tensor in model.graph.initializer for entry in tensor.external_data if entry.key == "location"
    }
    assert files == ({"model.half.data"} if precision == "fp16" else set())  # the fp16 graphs share one file
    assert not any(node.doc_string or node.metadata_props for node in model.graph.node)
    content = path.read_bytes()
    for trace in (b"/tmp", b"site-packages", b".py", str(bundle.parent).encode()):
        assert trace not in content


def test_an_unfused_graph_is_refused(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxruntime.transformers import optimizer

    def unfused(path: str, **_: Any) -> Any:
        return SimpleNamespace(model=onnx.load(path))

    monkeypatch.setattr(optimizer, "optimize_model", unfused)
    opened = open_checkpoint(str(checkpoint), None, Answers(), lambda _: None)
    with quiet(), pytest.raises(CheckpointError, match=r"0 Attention \(expected 2\).*2 Softmax \(expected 0\)"):
        export_fused(opened.load(), opened.family, opened.architecture, False, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_another_mask_is_refused(model: Any) -> None:
    next(node for node in model.graph.node if node.op_type == "Attention").input[3] = "attention_mask_int32"
    with pytest.raises(CheckpointError, match="expected one 1-D mask"):
        check_fused(model, fused_counts(LAYERS))


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_right_padding_does_not_move_the_logits(bundle: Path, precision: str) -> None:
    session = ort.InferenceSession(str(bundle / f"model.{precision}.onnx"), providers=["CPUExecutionProvider"])
    ids = np.random.default_rng(0).integers(4, 490, (3, 20))

    def run(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return session.run(["logits"], {"input_ids": ids, "attention_mask": mask})[0]

    padded = np.full((3, 33), 1)
    padded[:, :20] = ids
    mask = (np.arange(33) < 20).astype(np.int64)[None].repeat(3, axis=0)
    alone = np.concatenate([run(ids[i : i + 1], np.ones((1, 20), np.int64)) for i in range(3)])
    np.testing.assert_allclose(run(padded, mask), alone, atol=2e-6 if precision == "fp32" else 2e-2)
