"""Weights beyond what one ONNX file holds, with the limit lowered so that a tiny checkpoint is beyond it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from export import export_bundle, graph
from export.graph import external_files
from scorer.inference.bundle import Bundle
from scorer.inference.engine import Engine
from tests.export.checkpoints import PAIRS, expected_logits, make_checkpoint


@pytest.mark.slow
def test_every_variant_of_a_large_model_reads_its_own_data_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = make_checkpoint(tmp_path / "bert", "bert")
    monkeypatch.setattr(graph, "LARGEST", 4096)
    bundle = Bundle.load(export_bundle(str(checkpoint), tmp_path / "out", force=True, log=lambda _: None))
    names = {path.name for path in bundle.path.iterdir()}
    for precision in ("fp32", "int8"):
        variant = bundle.variants[precision]
        assert list(variant.external) == [f"model.{precision}.data"] == external_files(bundle.path / variant.file)
    # Every data file belongs to a variant: those of intermediate graphs are gone.
    assert {name for name in names if name.endswith(".data")} == {
        name for variant in bundle.variants.values() for name in variant.external
    }
    expected = expected_logits(checkpoint, PAIRS)
    for precision, tolerance in (("fp32", 2e-5), ("int8", 1.0)):
        engine = Engine(bundle, device="cpu", precision=precision, threads=1)
        found = engine.logits(*map(list, zip(*PAIRS, strict=True)))
        engine.close()
        np.testing.assert_allclose(found, expected, atol=tolerance)
