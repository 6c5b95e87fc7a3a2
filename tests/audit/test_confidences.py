"""Distributions of groups against numpy's own functions on each group's values."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.audit import confidences
from scorer.audit.candidates import Least
from scorer.audit.confidences import QUANTILES, Confidences


@pytest.mark.parametrize("n", [0, 1, 2, 7, 500])
def test_groups_of_rows(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    monkeypatch.setattr(confidences, "_BLOCK", 64)
    rng = np.random.default_rng(n)
    values, groups = rng.beta(8, 0.4, n).astype(np.float32), rng.integers(0, 4, n).astype(np.uint16)
    values[rng.random(n) < 0.2] = np.nan
    chosen = rng.random(n) < 0.5
    for which in (None, chosen):
        found = Confidences.of(values, groups, 5, which)
        for group in range(5):
            mine = values[(groups == group) & ~np.isnan(values) & (chosen if which is not None else True)]
            shown = found.distribution(group)
            assert found[group].tolist() == np.sort(mine).tolist()
            assert shown["n"] == len(mine)
            assert shown["histogram"] == np.histogram(mine, 20, (0.0, 1.0))[0].tolist()
            right = np.quantile(mine.astype(np.float64), QUANTILES).tolist() if len(mine) else [None] * 9
            assert list(shown["quantiles"].values()) == right
            assert shown["mean"] == (mine.mean(dtype=np.float64) if len(mine) else None)


def test_one_group_of_all_rows_takes_no_memory_for_its_codes() -> None:
    values = np.array([0.5, np.nan, 0.25], np.float32)
    found = Confidences.of(values, np.broadcast_to(np.zeros(1, np.uint16), (3,)), 1)
    assert found[0].tolist() == [0.25, 0.5]


@pytest.mark.parametrize("most", [0, 1, 5, 200])
def test_the_rows_of_least_confidence(most: int) -> None:
    rng = np.random.default_rng(most)
    rows = [(float(np.round(rng.random(), 1)), int(rng.integers(0, 3)), i) for i in range(100)]
    rows[17] = (float("nan"), *rows[17][1:])
    least = Least(most)
    for start in range(0, 100, 30):
        part = rows[start : start + 30]
        least.add(*(np.array(column, kind) for column, kind in zip(zip(*part, strict=True), "fqq", strict=True)))
    right = sorted(rows, key=lambda one: (0.0 if np.isnan(one[0]) else np.float32(one[0]), *one[1:]))[:most]
    assert least.found(0, 1) == [[one[1] for one in right], [one[2] for one in right]]
