"""Weights outside of a graph, stored once or too large for it: what every variant computes with, and what is where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import TensorProto, numpy_helper

from export import graph
from export.graph import external_files
from export.shared_weights import SHARED, share_weights
from scorer.inference import verification
from scorer.inference.bundle import Bundle
from tests.export.checkpoints import PAIRS, engine_logits, expected_logits, exported, make_checkpoint


@pytest.fixture(scope="module")
def compact(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Bundle]:
    """A BERT checkpoint whose weights are half-precision numbers, and its bundle with the weights stored once."""
    folder = tmp_path_factory.mktemp("compact")
    checkpoint = make_checkpoint(folder / "bert", "bert", half=True)
    return checkpoint, exported(checkpoint, folder / "out", half_weights=True)


def test_all_variants_read_one_file_and_answer_as_the_checkpoint(compact: tuple[Path, Bundle]) -> None:
    checkpoint, bundle = compact
    assert {name: list(variant.external) for name, variant in bundle.variants.items()} == {
        name: [SHARED] for name in ("fp32", "fp16", "int8", "fp16.packed")
    }
    shared = (bundle.path / SHARED).stat().st_size
    # Half of the fp32 weights, plus pages that are not full.
    assert shared < 2 * bundle.parameters + 4096 * 60
    assert all(path.stat().st_size < 1.5 * shared for path in bundle.path.glob("*.onnx"))
    found = engine_logits(bundle, PAIRS, precision="fp32")
    np.testing.assert_allclose(found, expected_logits(checkpoint, PAIRS), atol=2e-5)


@pytest.mark.slow
def test_every_variant_of_a_large_model_reads_its_own_data_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the limit of what one ONNX file holds so low that a tiny checkpoint is beyond it."""
    checkpoint = make_checkpoint(tmp_path / "bert", "bert")
    monkeypatch.setattr(graph, "LARGEST", 4096)
    monkeypatch.setattr(verification, "MINIMUM_AGREEMENT", 0.0)  # int8 costs random weights many labels
    bundle = exported(checkpoint, tmp_path / "out")
    # Every data file belongs to a variant: those of intermediate graphs are gone.
    files = {name for variant in bundle.variants.values() for name in variant.external}
    assert {path.name for path in bundle.path.glob("*.data")} == files
    for precision, tolerance in (("fp32", 2e-5), ("int8", 1.0)):
        variant = bundle.variants[precision]
        assert list(variant.external) == [f"model.{precision}.data"] == external_files(bundle.path / variant.file)
        found = engine_logits(bundle, PAIRS, precision=precision)
        np.testing.assert_allclose(found, expected_logits(checkpoint, PAIRS), atol=tolerance)


def test_what_half_precision_does_not_hold_stays_in_the_graph(tmp_path: Path) -> None:
    exact = np.arange(1024, dtype=np.float32)
    inexact = exact + np.float32(1e-4)
    nodes = "sum = Add (exact, inexact) y = Add (sum, x)"
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g (float[1024] x) => (float[1024] y) {{ {nodes} }}'
    )
    tensors = {"exact": exact, "inexact": inexact}
    model.graph.initializer.extend(numpy_helper.from_array(values, name) for name, values in tensors.items())
    paths = [tmp_path / "one.onnx", tmp_path / "two.onnx"]
    for path in paths:
        onnx.save(model, str(path))
    share_weights(paths, tmp_path / SHARED)
    assert (tmp_path / SHARED).stat().st_size == 2048  # the same values, stored once
    for path in paths:
        stored = onnx.load(str(path), load_external_data=False)
        assert {t.name: t.data_type for t in stored.graph.initializer} == {
            "exact_half": TensorProto.FLOAT16, "inexact": TensorProto.FLOAT,
        }  # fmt: skip
        session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        (found,) = session.run(None, {"x": np.zeros(1024, np.float32)})
        np.testing.assert_array_equal(found, exact + inexact)
