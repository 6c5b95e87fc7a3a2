"""The order of candidates, against Python's own sort of labels in words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from scorer.metric.choices import Worse
from scorer.metric.ranking import best, ranked
from scorer.metric.verdict import FINE

ORDERS: dict[Worse, list[str]] = {
    "hallucination": ["OK", "omission", "hallucination", "omission+hallucination"],
    "omission": ["OK", "hallucination", "omission", "omission+hallucination"],
}


@pytest.mark.parametrize("worse", ["hallucination", "omission"])
def test_labels_come_first_and_then_confidence(worse: Worse) -> None:
    rng = np.random.default_rng(3)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 9, 200))]).astype(np.int64)
    fine = rng.integers(-1, 4, offsets[-1]).astype(np.int8)
    confidence = rng.integers(0, 5, offsets[-1]).astype(np.float32) / 4  # few values, so that there are ties
    confidence[fine < 0] = np.nan
    chosen = best(offsets, fine, confidence, worse).tolist()
    orders = ranked(np.repeat(np.arange(200), np.diff(offsets)), fine, confidence, worse).tolist()
    expected_orders = []
    for row, (start, end) in enumerate(pairwise(offsets)):
        labelled = [i for i in range(start, end) if fine[i] >= 0]
        expected = sorted(labelled, key=lambda i: (ORDERS[worse].index(FINE[fine[i]]), -confidence[i], i))
        assert chosen[row] == (expected[0] if expected else -1)
        expected_orders += expected
    assert orders == expected_orders
    assert chosen.count(-1) > 5
