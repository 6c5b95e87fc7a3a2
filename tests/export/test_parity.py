"""Figures of a variant, by hand, and of one that is broken; labels in a wrong order; lengths of probes."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from benchmarks.speed.random_init import train_tokenizer
from export import parity
from export.packed import export_packed
from export.parity import accept, checkpoint_logits, compare, contradicts_labels, mean_probabilities, measure_variant
from export.probes import COUNT, built_in_probes, pairs_of
from export.tokenization import PairTokenizer
from export.toolchain import quiet
from scorer.inference.bundle import BINARY, LABELS, NLI, SCORE, Scheme
from tests.export.checkpoints import LAYERS, opened
from tests.export.contrib_operators import evaluator

THREE = Scheme(NLI, LABELS)
Measure = Callable[..., dict[str, Any]]


def test_figures_by_hand_are_rounded_against_the_variant() -> None:
    expected = np.array([[0, 0, 1], [0, 2, 0], [3, 0, 0], [0, 0.1, 0.4]], np.float32)
    found = expected.copy()
    found[0, 0] += 0.2512
    found[3, 1] += 0.125
    figures = compare(expected, found, THREE)
    # A quarter of the pairs: margins are 1, 2, 3 and 0.3, and twice the bound is 0.504.
    assert figures["within_margin"] == 0.25
    assert figures["max_abs_logit"] == figures["bound"] == 0.252
    e, moved = math.e, math.exp(0.2512)
    largest = max(e / (2 + e) - e / (1 + e + moved), moved / (1 + e + moved) - 1 / (2 + e))
    assert figures["max_abs_probability"] == pytest.approx(largest, rel=0.01)
    assert (figures["label_agreement"], figures["pairs"]) == (1.0, 4)
    many = np.tile(np.float32([5, 0, 0]), (3000, 1))
    other = np.concatenate([np.float32([[0, 1, 0]]), many[1:]])
    assert compare(many, other, THREE)["label_agreement"] == 0.999666  # 2999 / 3000, down
    assert compare(many, many, THREE)["bound"] == 0


@pytest.fixture(scope="module")
def measure(checkpoint: Path) -> Measure:
    found = opened(checkpoint)
    probes = built_in_probes(found.tokenizer, 120)[::8]
    expected = checkpoint_logits(found.load(), found.tokenizer, probes)
    return lambda path, precision, **more: measure_variant(
        path, precision, found.tokenizer, probes, expected, THREE, **more
    )


def test_a_variant_that_was_broken_is_measured_as_broken(measure: Measure, bundle: Path, tmp_path: Path) -> None:
    sound = measure(bundle / "model.fp32.onnx", "fp32")
    assert sound["label_agreement"] == 1.0 and sound["bound"] < 1e-4 and sound["provider"] == "CPUExecutionProvider"
    model = onnx.load(str(bundle / "model.fp32.onnx"))
    tensor = next(t for t in model.graph.initializer if t.name == "classifier.out_proj.bias")
    shifted = numpy_helper.to_array(tensor) + np.array([3, 0, 0], np.float32)
    tensor.CopyFrom(numpy_helper.from_array(shifted, tensor.name))
    onnx.save(model, str(tmp_path / "broken.onnx"))
    broken = measure(tmp_path / "broken.onnx", "fp32")
    assert broken["label_agreement"] < 0.9
    assert "fp32 variant" in str(accept("fp32", broken))


def test_a_packed_graph_is_measured_with_its_own_inputs(
    measure: Measure, fused: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operators in numpy stand in for a GPU, in fp32; a graph whose positions are one off is seen to be broken."""
    monkeypatch.setattr(parity, "_session", lambda path, provider: evaluator(onnx.load(str(path))))
    found = {}
    for first in (2, 1):
        path = tmp_path / f"from{first}.onnx"
        export_packed(fused, path, LAYERS, first_position=first, segments=False, half=False)
        found[first] = measure(path, "fp16", packed=True)
    assert found[2]["label_agreement"] == 1.0 and found[2]["bound"] < 1e-4
    assert (found[2]["provider"], found[2]["pairs"]) == ("CUDAExecutionProvider", 64)
    assert found[1]["bound"] > 0.1
    assert "fp16.packed variant" in str(accept("fp16.packed", found[1] | {"label_agreement": 0.9}))


@pytest.mark.slow
def test_every_order_of_labels_but_the_right_one_is_refused(general_checkpoint: Path) -> None:
    with quiet():
        checkpoint = opened(general_checkpoint)
        model = checkpoint.load()
    for order in permutations(LABELS):
        scheme = Scheme(NLI, order)
        means = mean_probabilities(model, checkpoint.tokenizer, scheme, pairs_of("plain"))
        assert (contradicts_labels(means, scheme) is None) == (order == checkpoint.scheme.labels)


def means(entailed: float, neutral: float, contradictory: float) -> np.ndarray:
    found = np.full((3, 3), np.nan)
    found[:, 2] = contradictory, neutral, entailed
    return found


@pytest.mark.parametrize("scheme", [Scheme(BINARY, ("a", "b"), "b"), Scheme(SCORE, ("a",))])
def test_with_one_or_two_logits_entailed_pairs_must_be_above_the_others(scheme: Scheme) -> None:
    assert contradicts_labels(means(0.4, 0.3, 0.2), scheme) is None
    for wrong in (means(0.3, 0.4, 0.2), means(0.3, 0.2, 0.4)):
        assert "mean P(entailment) is highest for the kind" in str(contradicts_labels(wrong, scheme))


@pytest.fixture(scope="module")
def tokenizer() -> PairTokenizer:
    return PairTokenizer(train_tokenizer(2000), "<pad>", "tokenizer.json")


@pytest.mark.parametrize("max_length", [512, 16])
def test_probes_span_all_lengths(tokenizer: PairTokenizer, max_length: int) -> None:
    probes = built_in_probes(tokenizer, max_length)
    assert len(probes) == len(set(probes)) == COUNT
    lengths = [probe.tokens for probe in probes]
    assert lengths == sorted(lengths) and (lengths[0], lengths[-1]) == (5, max_length)
    assert all(probe.tokens == len(tokenizer.encode(probe.premise, probe.hypothesis)) for probe in probes)
    assert probes == built_in_probes(tokenizer, max_length)
