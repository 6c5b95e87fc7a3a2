"""The figures of a variant, by hand; and that a variant which is broken is seen to be."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from export import Answers, parity
from export.checkpoint import open_checkpoint
from export.packed import export_packed
from export.parity import CPU, accept, checkpoint_logits, compare, measure_variant
from export.probes import built_in_probes
from scorer.inference import schemes
from tests.export.checkpoints import LAYERS
from tests.export.contrib_operators import evaluator

NLI = schemes.Scheme(schemes.NLI, schemes.LABELS)


def test_figures_by_hand() -> None:
    expected = np.array([[0, 0, 1], [0, 2, 0], [3, 0, 0], [0, 0.1, 0.4]], np.float32)
    found = expected.copy()
    found[0, 0] += 0.25
    found[3, 1] += 0.125
    figures = compare(expected, found, NLI)
    # Half of the pairs: margins are 1, 2, 3 and 0.3, and twice the bound is 0.5.
    assert figures["within_margin"] == 0.25
    assert figures["max_abs_logit"] == figures["bound"] == 0.25
    e = math.e
    before, after = e / (2 + e), e / (1 + e + math.exp(0.25))
    assert figures["max_abs_probability"] == pytest.approx(
        max(before - after, math.exp(0.25) / (1 + e + math.exp(0.25)) - 1 / (2 + e)), rel=0.01
    )
    assert (figures["label_agreement"], figures["pairs"]) == (1.0, 4)


def test_figures_are_rounded_against_the_variant() -> None:
    expected = np.zeros((3000, 3), np.float32)
    expected[:, 0] = 5
    found = expected.copy()
    found[0] = [0, 0.0012341, 0]
    figures = compare(expected, found, NLI)
    assert figures["label_agreement"] == 0.999666  # 2999 / 3000, down
    assert figures["max_abs_logit"] == 5
    moved = expected[:1].copy()
    moved[0, 1] = 0.0012341
    assert compare(expected[:1], moved, NLI)["bound"] == 0.00124
    assert compare(expected, expected, NLI)["bound"] == 0


def test_what_is_not_a_number_counts_against_the_variant() -> None:
    expected = np.array([[1, 0, 0], [0, 1, 0]], np.float32)
    found = expected.copy()
    found[0, 1] = np.nan
    figures = compare(expected, found, NLI)
    assert figures["label_agreement"] == 0.5 and figures["bound"] == 1e30 and figures["max_abs_probability"] == 1.0


def test_a_variant_that_was_broken_is_measured_as_broken(checkpoint: Path, bundle: Path, tmp_path: Path) -> None:
    opened = open_checkpoint(str(checkpoint), None, Answers(), lambda _: None)
    probes = built_in_probes(opened.tokenizer, 120)[::8]
    expected = checkpoint_logits(opened.load(), opened.tokenizer, probes)
    sound = measure_variant(bundle / "model.fp32.onnx", "fp32", opened.tokenizer, probes, expected, NLI)
    assert sound is not None and sound["label_agreement"] == 1.0 and sound["bound"] < 1e-4 and sound["provider"] == CPU
    model = onnx.load(str(bundle / "model.fp32.onnx"))
    tensor = next(t for t in model.graph.initializer if t.name == "classifier.out_proj.bias")
    shifted = numpy_helper.to_array(tensor) + np.array([3, 0, 0], np.float32)
    tensor.CopyFrom(numpy_helper.from_array(shifted, tensor.name))
    onnx.save(model, str(tmp_path / "broken.onnx"))
    broken = measure_variant(tmp_path / "broken.onnx", "fp32", opened.tokenizer, probes, expected, NLI)
    assert broken is not None and broken["label_agreement"] < 0.9
    message = accept("fp32", broken)
    assert message is not None and "fp32 variant" in message


def test_a_packed_graph_is_measured_with_its_own_inputs(
    checkpoint: Path, fused: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operators in numpy stand in for a GPU, in fp32; a graph whose positions are one off is seen to be broken."""
    opened = open_checkpoint(str(checkpoint), None, Answers(), lambda _: None)
    probes = built_in_probes(opened.tokenizer, 120)[::8]
    expected = checkpoint_logits(opened.load(), opened.tokenizer, probes)
    monkeypatch.setattr(parity, "_session", lambda path, provider: evaluator(onnx.load(str(path))))
    found = {}
    for first in (2, 1):
        path = tmp_path / f"from{first}.onnx"
        export_packed(fused, path, LAYERS, first_position=first, segments=False, half=False)
        found[first] = measure_variant(path, "fp16", opened.tokenizer, probes, expected, NLI, packed=True)
    sound, broken = found[2], found[1]
    assert sound is not None and sound["label_agreement"] == 1.0 and sound["bound"] < 1e-4
    assert (sound["provider"], sound["pairs"]) == ("CUDAExecutionProvider", len(probes))
    assert broken is not None and broken["bound"] > 0.1
    assert "fp16.packed variant" in str(accept("fp16.packed", broken | {"label_agreement": 0.9}))
