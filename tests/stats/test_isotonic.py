from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from scorer.stats.isotonic import isotonic


def test_isotonic_regression_is_that_of_sklearn() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        values, weights = rng.random(15), rng.uniform(0.1, 3, 15)
        expected = isotonic_regression(values, sample_weight=weights)
        assert isotonic(values, weights) == pytest.approx(expected, abs=1e-12)
