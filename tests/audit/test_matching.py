"""Multisets of keys against Counter."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from scorer.audit import matching
from scorer.audit.matching import key_ids, match, repeats


def keys(rng: np.random.Generator, n: int, distinct: int) -> np.ndarray:
    return np.frombuffer(rng.bytes(16 * distinct), np.uint64).reshape(-1, 2)[rng.integers(0, distinct, n)]


@pytest.mark.parametrize("sizes", [(0, 0), (0, 9), (9, 0), (1, 1), (500, 700), (700, 40)])
def test_kept_added_and_removed(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(sizes))
    pool = keys(rng, 1000, 300)
    before, after = (pool[rng.integers(0, 1000, n)] for n in sizes)
    ids = key_ids(before, after)
    found = match(*ids)
    counts = [Counter(map(bytes, side)) for side in (before, after)]
    assert len(found.after) == sum((counts[0] & counts[1]).values())
    assert found.added.sum() == sum((counts[1] - counts[0]).values())
    assert found.removed.sum() == sum((counts[0] - counts[1]).values())
    assert (before[found.before] == after[found.after]).all()
    assert len(set(found.before.tolist())) == len(found.before) == (~found.removed).sum()
    assert len(set(found.after.tolist())) == len(found.after) == (~found.added).sum()
    assert Counter(map(bytes, after[found.added])) == counts[1] - counts[0]


def test_keys_that_share_their_first_half_are_told_apart() -> None:
    halves = np.array([[1, 2], [1, 1], [1, 2], [0, 9], [1, 3], [1, 1]], np.uint64)
    assert matching._torn(halves[:, 0], halves[:, 1])
    before, after = key_ids(halves[:3], halves[3:])
    assert before[0] == before[2] != before[1] == after[2]
    assert len({*before.tolist(), *after.tolist()}) == 4


def test_equal_labels_are_matched_first() -> None:
    before, labels_before = np.array([7, 7, 7]), np.array([0, 1, 0], np.int8)
    after, labels_after = np.array([7, 7]), np.array([1, -1], np.int8)
    found = match(before, after, (labels_before, labels_after))
    pairs = {(labels_before[b], labels_after[a]) for b, a in zip(found.before, found.after, strict=True)}
    assert pairs == {(1, 1), (0, -1)}
    assert found.removed.sum() == 1
    assert not found.added.any()


def test_repeats_by_group() -> None:
    ids, groups = np.array([5, 5, 5, 6, 6, 5]), np.array([0, 0, 1, 1, 1, 1])
    distinct, most = repeats(ids, groups, 3)
    assert distinct.tolist() == [1, 2, 0]
    assert most.tolist() == [2, 2, 0]
