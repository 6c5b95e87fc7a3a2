from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control
from sklearn.isotonic import isotonic_regression

from scorer.stats.isotonic import isotonic
from scorer.stats.multiple import benjamini_hochberg, holm, p_of_interval


def test_holm_by_hand() -> None:
    """The example of R's documentation of p.adjust: 0.01, 0.02, 0.03, 0.04, 0.05."""
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.04, None, 0.01]) == [0.04, None, 0.02]


def test_the_p_value_of_an_interval_is_below_05_where_it_leaves_out_the_value() -> None:
    assert p_of_interval(0.5, 0.4, 0.7, 0.4) == pytest.approx(0.05)
    assert p_of_interval(0.5, 0.4, 0.7, 0.39) < 0.05 < p_of_interval(0.5, 0.4, 0.7, 0.69)


def test_isotonic_regression_is_that_of_sklearn() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        values, weights = rng.random(15), rng.uniform(0.1, 3, 15)
        expected = isotonic_regression(values, sample_weight=weights)
        assert isotonic(values, weights) == pytest.approx(expected, abs=1e-12)


def test_benjamini_hochberg() -> None:
    # Benjamini & Hochberg (1995), section 3: at 0.05 the four smallest of these fifteen are rejected.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590,
         1.0]  # fmt: skip
    assert (benjamini_hochberg(p) < 0.05).sum() == 4
    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p))
    shuffled = np.random.default_rng(0).permutation(p)
    assert benjamini_hochberg(shuffled) == pytest.approx(false_discovery_control(shuffled))
    assert len(benjamini_hochberg([])) == 0
