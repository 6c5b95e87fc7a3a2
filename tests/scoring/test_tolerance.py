"""The tolerance of two probabilities against softmax itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scorer.scoring.origin import ROUNDING, agree, allowed_difference, is_within


def softmax(logits: np.ndarray) -> np.ndarray:
    exponents = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("bound", [1e-4, 0.01, 0.5, 2.0])
def test_logits_that_move_by_a_bound_move_probabilities_by_no_more_than_is_allowed(bound: float) -> None:
    rng = np.random.default_rng(7)
    logits = rng.normal(0, 3, (5000, 3))
    moved = logits + rng.choice([-bound, bound], logits.shape)
    most = np.abs(softmax(logits) - softmax(moved)).max()
    assert most <= allowed_difference(bound)
    if bound < 1:  # and the limit is not a loose one
        assert most > 0.9 * allowed_difference(bound)


def test_the_bounds_of_two_sides_add_up() -> None:
    assert allowed_difference(0.02, 0.04) == pytest.approx(0.03)
    assert allowed_difference() == 0.0


def test_agreement_allows_for_rounding_and_never_for_nan() -> None:
    assert agree(0.5, 0.5 + ROUNDING / 2, 0.0)
    assert not agree(0.5, 0.5 + 2 * ROUNDING, 0.0)
    assert agree(0.7, 0.5, 0.2)
    assert not agree(math.nan, 0.5, 1.0)
    assert not is_within(math.nan, 1.0)
    assert agree(float(np.float32(0.1)), 0.1, 0.0), "a stored probability is rounded"
