"""The fused graph: what is in it, that it is checked, and that rewriting makes it faster and keeps its numbers."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from export.families import ROBERTA
from export.graph import check_fused
from export.rewrite import keep_first_token, split_residuals
from scorer.errors import CheckpointError
from tests.export.checkpoints import LAYERS, fuse, padded_logits


def test_a_graph_holds_no_trace_of_the_machine(bundle: Path) -> None:
    for path in bundle.glob("*.onnx"):
        content = path.read_bytes()
        for trace in (b"/tmp", b"site-packages", b".py", str(bundle.parent).encode()):
            assert trace not in content


def test_optimum_makes_the_graph(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's exporter is called once, and by optimum; so is ONNX Runtime's fusion."""
    from optimum.exporters.onnx import convert
    from optimum.onnxruntime import optimization

    calls = []

    def record(name: str, action: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(*given: Any, **options: Any) -> Any:
            calls.append((name, str(sys._getframe(1).f_globals["__name__"])))
            return action(*given, **options)

        return recorded

    for module, name in ((torch.onnx, "export"), (convert, "export_pytorch"), (optimization, "optimize_model")):
        monkeypatch.setattr(module, name, record(name, getattr(module, name)))
    fuse(checkpoint, tmp_path / "model.onnx")
    made_by = ("optimum.exporters.onnx.convert", "optimum.onnxruntime.optimization")
    assert calls == [("export_pytorch", made_by[0]), ("export", made_by[0]), ("optimize_model", made_by[1])]
    assert [entry.version for entry in onnx.load(str(tmp_path / "model.onnx")).opset_import if not entry.domain] == [17]


def test_an_unfused_graph_is_refused(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from optimum.onnxruntime import ORTOptimizer

    def unfused(self: ORTOptimizer, *_: Any, file_suffix: str) -> None:
        (raw,) = self.onnx_model_path
        shutil.copy(raw, raw.with_stem(f"{raw.stem}_{file_suffix}"))

    monkeypatch.setattr(ORTOptimizer, "optimize", unfused)
    with pytest.raises(CheckpointError, match=r"0 Attention \(expected 2\).*2 Softmax \(expected 0\)"):
        fuse(checkpoint, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_another_mask_is_refused(fused: Path) -> None:
    model = onnx.load(str(fused))
    next(node for node in model.graph.node if node.op_type == "Attention").input[3] = "attention_mask_int32"
    with pytest.raises(CheckpointError, match="expected one 1-D mask"):
        check_fused(model, ROBERTA.fused(LAYERS))


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
