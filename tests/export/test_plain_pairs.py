"""Plain pairs: a trained checkpoint passes with its own order of labels and with no other.
Probe pairs: their lengths, and that they are the same each time."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from benchmarks.speed.random_init import train_tokenizer
from export.parity import contradicts_labels, mean_probabilities
from export.probes import COUNT, built_in_probes, pairs_of
from export.tokenization import PairTokenizer
from export.toolchain import quiet
from scorer.inference.bundle import BINARY, LABELS, NLI, SCORE, Scheme
from tests.export.checkpoints import opened


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
