"""Distributions of groups against numpy's own functions on each group's values."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.audit.confidences import QUANTILES, Confidences


@pytest.mark.parametrize("n", [0, 1, 2, 7, 500])
def test_groups_of_rows(n: int) -> None:
    rng = np.random.default_rng(n)
    groups = [np.sort(rng.beta(8, 0.4, n).astype(np.float32)), np.empty(0, np.float32), np.ones(3, np.float32)]
    found = Confidences(np.concatenate(groups), np.cumsum([0, *map(len, groups)]))
    for group, mine in enumerate(groups):
        shown = found.distribution(group)
        assert found[group].tolist() == mine.tolist()
        assert shown.n == len(mine)
        assert shown.histogram == np.histogram(mine, 20, (0.0, 1.0))[0].tolist()
        right = np.quantile(mine.astype(np.float64), QUANTILES).tolist() if len(mine) else [None] * 9
        assert list(shown.quantiles.values()) == right
        assert shown.mean == (mine.mean(dtype=np.float64) if len(mine) else None)
