from __future__ import annotations

import numpy as np
import pytest

from scorer.stats.allocation import allocate, draw


def test_rows_times_deviation() -> None:
    found = allocate(np.array([1000, 1000, 2000]), np.array([0.1, 0.3, 0.1]), 120)
    assert found.tolist() == [20, 60, 40]


def test_every_stratum_has_two_labels_or_all_its_rows() -> None:
    found = allocate(np.array([100_000, 1, 3]), np.array([0.5, 0.1, 0.1]), 50)
    assert found.tolist() == [47, 1, 2]
    assert allocate(np.array([5, 4]), np.array([0.5, 0.5]), 50).tolist() == [5, 4]
    assert allocate(np.array([100] * 10), np.full(10, 0.5), 10).sum() == 20


@pytest.mark.parametrize(("rows", "count"), [(10, 3), (12, 12), (7, 5), (7, 0)])
def test_every_row_is_drawn_equally_often_and_never_twice(rows: int, count: int) -> None:
    rng, drawn = np.random.default_rng(3), np.zeros(rows)
    for _ in range(4000):
        found = draw(rng, np.arange(rows), count)
        assert len(set(found.tolist())) == count
        drawn[found] += 1
    expected = 4000 * count / rows
    assert np.abs(drawn - expected).max() < 5 * np.sqrt(4000 * 0.25)


def test_groups_get_their_share() -> None:
    """Rows sorted by group: of 60, 30 and 10 rows, a sample of 10 has 6, 3 and 1."""
    groups = np.repeat([0, 1, 2], [60, 30, 10])
    for seed in range(20):
        found = draw(np.random.default_rng(seed), np.arange(100), 10)
        assert np.bincount(groups[found], minlength=3).tolist() == [6, 3, 1]
