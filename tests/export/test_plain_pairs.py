"""Plain pairs: a trained checkpoint passes with its own order of labels and with no other."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export.checkpoint import Checkpoint, open_checkpoint
from export.labels import NO_ANSWERS
from export.plain_pairs import contradicts_labels, mean_probabilities
from export.sentences import FRAMES, fill_frame
from export.toolchain import quiet
from scorer.inference.schemes import BINARY, LABELS, NLI, SCORE, Scheme

RESTAURANTS = [
    pair for frame in FRAMES[:3] for name in frame.names for i in range(3) if i < len(frame.values)
    for pair in fill_frame(frame, name, i)
]  # fmt: skip


@pytest.fixture(scope="module")
def trained(general_checkpoint: Path) -> tuple[Checkpoint, Any]:
    with quiet():
        opened = open_checkpoint(str(general_checkpoint), None, NO_ANSWERS, lambda _: None)
        return opened, opened.load()


@pytest.mark.slow
@pytest.mark.parametrize("order", list(permutations(LABELS)))
def test_every_order_of_labels_but_the_right_one_is_refused(
    trained: tuple[Checkpoint, Any], order: tuple[str, ...]
) -> None:
    opened, model = trained
    scheme = Scheme(NLI, order)
    refusal = contradicts_labels(mean_probabilities(model, opened.tokenizer, scheme, RESTAURANTS), scheme)
    assert (refusal is None) == (order == opened.labels)


def means(entailed: float, neutral: float, contradictory: float) -> np.ndarray:
    found = np.full((3, 3), np.nan)
    found[:, 2] = contradictory, neutral, entailed
    return found


@pytest.mark.parametrize("scheme", [Scheme(BINARY, ("a", "b"), "b"), Scheme(SCORE, ("a",))])
def test_with_one_or_two_logits_entailed_pairs_must_be_above_the_others(scheme: Scheme) -> None:
    assert contradicts_labels(means(0.4, 0.3, 0.2), scheme) is None
    for wrong in (means(0.3, 0.4, 0.2), means(0.3, 0.2, 0.4)):
        assert "mean P(entailment) is highest for the kind" in str(contradicts_labels(wrong, scheme))
