"""Figures of a variant, by hand; labels in a wrong order; lengths of probes."""

from __future__ import annotations

import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from benchmarks.speed.random_init import train_tokenizer
from export.parity import compare, contradicts_labels, mean_probabilities
from export.probes import COUNT, built_in_probes, pairs_of
from export.tokenization import PairTokenizer
from export.toolchain import quiet
from scorer.inference.bundle import BINARY, LABELS, NLI, SCORE, Scheme
from tests.export.checkpoints import opened

THREE = Scheme(NLI, LABELS)


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
