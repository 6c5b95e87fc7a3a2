"""The fused graph: what is in it, and that it is checked."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest

from export.architectures.encoder import fused_counts
from export.checkpoint import open_checkpoint
from export.graph import check_fused, export_fused, external_files
from export.labels import NO_ANSWERS
from export.toolchain import quiet
from scorer.errors import CheckpointError
from tests.export.checkpoints import LAYERS


@pytest.mark.parametrize("precision", ["fp32", "fp16", "int8"])
def test_a_file_holds_all_weights_and_no_trace_of_the_machine(bundle: Path, precision: str) -> None:
    path = bundle / f"model.{precision}.onnx"
    model = onnx.load(str(path), load_external_data=False)
    files = ["model.half.data"] if precision == "fp16" else []  # the fp16 graphs share one file
    assert external_files(path) == files
    assert not any(node.doc_string or node.metadata_props for node in model.graph.node)
    content = path.read_bytes()
    for trace in (b"/tmp", b"site-packages", b".py", str(bundle.parent).encode()):
        assert trace not in content


def test_an_unfused_graph_is_refused(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxruntime.transformers import optimizer

    def unfused(path: str, **_: Any) -> Any:
        return SimpleNamespace(model=onnx.load(path))

    monkeypatch.setattr(optimizer, "optimize_model", unfused)
    opened = open_checkpoint(str(checkpoint), None, NO_ANSWERS, lambda _: None)
    with quiet(), pytest.raises(CheckpointError, match=r"0 Attention \(expected 2\).*2 Softmax \(expected 0\)"):
        export_fused(opened.load(), opened.family, opened.architecture, False, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_another_mask_is_refused(fused: Path) -> None:
    model = onnx.load(str(fused))
    next(node for node in model.graph.node if node.op_type == "Attention").input[3] = "attention_mask_int32"
    with pytest.raises(CheckpointError, match="expected one 1-D mask"):
        check_fused(model, fused_counts(LAYERS))
