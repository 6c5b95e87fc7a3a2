"""What is converted in the fp16 and int8 variants; weights outside of a graph, and what every variant computes with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, numpy_helper

from export import graph
from export.families import ROBERTA
from export.graph import external_files, operator_counts
from export.quantise import column_scales
from export.variants import SHARED, export_variant, share_weights
from scorer.errors import CheckpointError
from scorer.inference import verification
from scorer.inference.bundle import Bundle
from tests.export.checkpoints import (
    LAYERS,
    PAIRS,
    engine_logits,
    expected_logits,
    exported,
    make_checkpoint,
    padded_logits,
)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 0.02), ("int8", 0.4)])
def test_variants_run_and_stay_near(bundle: Path, precision: str, tolerance: float) -> None:
    logits = padded_logits(bundle / f"model.{precision}.onnx", 2e-2 if precision == "fp16" else 2e-6)
    assert logits.shape == (5, 3) and logits.dtype == np.float32
    difference = np.abs(logits - padded_logits(bundle / "model.fp32.onnx")).max()
    assert 0 < difference < tolerance


def test_int8_quantises_every_product_outside_of_attention_by_column(bundle: Path) -> None:
    """Every weight is at most half a step from its value, where the step is its column's, and division by channels is
    undone by the weights."""
    model, source = (onnx.load(str(bundle / f"model.{p}.onnx")) for p in ("int8", "fp32"))
    found = operator_counts(model)
    assert (found["MatMulInteger"], found["Attention"]) == (3 * LAYERS + 3, LAYERS - 1) and "MatMul" not in found
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    products = [node for node in model.graph.node if node.op_type == "MatMulInteger"]
    made_by = {output: node for node in model.graph.node for output in node.output}
    originals = {tensor.name: numpy_helper.to_array(tensor) for tensor in source.graph.initializer}
    for product in products:
        name = product.input[1].removesuffix("_int8")
        weight, scale = originals[name], tensors[f"{name}_scale"]
        moved = made_by[made_by[product.input[0]].input[0]]
        inverse = tensors[moved.input[1]] if moved.op_type == "Mul" else np.ones(len(weight), np.float32)
        stored = tensors[f"{name}_int8"] * scale * inverse[:, None]
        assert (np.abs(stored - weight) <= scale * inverse[:, None] * 0.501).all()


def test_equal_tensors_of_head_and_body_are_parted(fused: Path, tmp_path: Path) -> None:
    """torch stores equal tensors once, so a bias of zeros may serve the head and the encoder."""
    model = onnx.load(str(fused))
    dense = next(node for node in model.graph.node if node.op_type == "Gemm")
    dense.input[2] = next(node for node in model.graph.node if node.op_type == "SkipLayerNormalization").input[3]
    onnx.save(model, str(tmp_path / "shared.onnx"))
    export_variant(ROBERTA, "fp16", tmp_path / "shared.onnx", tmp_path / "fp16.onnx", layers=LAYERS)
    halved, shared = padded_logits(tmp_path / "fp16.onnx", 2e-2), padded_logits(tmp_path / "shared.onnx")
    assert np.abs(halved - shared).max() < 0.02


def test_a_weight_beyond_half_precision_is_refused(fused: Path, tmp_path: Path) -> None:
    model = onnx.load(str(fused))
    tensor = next(t for t in model.graph.initializer if t.name == "roberta.embeddings.LayerNorm.weight")
    values = numpy_helper.to_array(tensor).copy()
    values[0] = 1e5
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    onnx.save(model, str(tmp_path / "changed.onnx"))
    with pytest.raises(CheckpointError, match=r"LayerNorm\.weight exceeds what fp16 holds"):
        export_variant(ROBERTA, "fp16", tmp_path / "changed.onnx", tmp_path / "out.onnx", layers=LAYERS)


@given(inner=st.integers(1, 9), columns=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_no_sum_of_two_products_exceeds_sixteen_bits(inner: int, columns: int, seed: int) -> None:
    """As vpmaddubsw adds them, on x86 processors without VNNI, whatever the activations are."""
    weight = np.random.default_rng(seed).standard_cauchy((inner, columns)).astype(np.float32)
    integers = np.rint(weight / column_scales(weight)).astype(np.int64)
    products = 255 * np.abs(np.pad(integers, ((0, inner % 2), (0, 0))))
    assert (products[0::2] + products[1::2]).max() <= 2**15 - 1
    assert np.abs(integers).max() <= 127 and np.abs(integers).max(axis=0).min() >= 63


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
