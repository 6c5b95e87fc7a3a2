from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scorer.inference.batches import Grid, Padded, cut_to_fit, distinct_pairs
from scorer.inference.bundle import PairLayout
from scorer.inference.texts import Tokens
from tests.bundles import tokenizer

LAYOUT = PairLayout((0,), (2, 2), (2,), 1)
REFERENCE = tokenizer()


def tokens(lists: list[list[int]]) -> Tokens:
    offsets = np.concatenate([[0], np.cumsum([len(ids) for ids in lists])]).astype(np.int64)
    flat = np.array([i for ids in lists for i in ids], np.int32)
    return Tokens(flat, offsets, np.zeros(len(lists), bool))


@given(
    lengths=st.lists(st.integers(1, 200), max_size=60),
    step=st.sampled_from([1, 8, 16]),
    budget=st.integers(1, 2000),
)
def test_every_pair_is_in_one_batch_of_a_shape_on_the_grid(lengths: list[int], step: int, budget: int) -> None:
    grid = Grid(step, budget, 200)
    array = np.array(lengths, np.int64)
    batches = Padded(grid, LAYOUT).pack(array, np.arange(len(lengths)))
    covered = [p for batch in batches for p in batch.pairs.tolist()]
    assert sorted(covered) == list(range(len(lengths)))
    for batch in batches:
        assert batch.sequence_length % step == 0 or batch.sequence_length == 200
        assert len(batch.pairs) & (len(batch.pairs) - 1) == 0
        assert len(batch.pairs) * batch.sequence_length <= max(budget, batch.sequence_length)
        padding = batch.sequence_length - array[batch.pairs]
        assert (padding >= 0).all()
        assert (padding < step).all()
    widths = [batch.sequence_length for batch in batches]
    assert widths == sorted(widths, reverse=True)


@given(lengths=st.lists(st.integers(1, 100), min_size=1, max_size=40), seed=st.integers(0, 100))
def test_the_shape_of_a_pair_does_not_depend_on_other_pairs(lengths: list[int], seed: int) -> None:
    grid = Grid(8, 512, 128)
    array = np.array(lengths, np.int64)
    some = np.flatnonzero(np.random.default_rng(seed).random(len(lengths)) < 0.5)
    everything = Padded(grid, LAYOUT).pack(array, np.arange(len(lengths)))
    width = {pair: batch.sequence_length for batch in everything for pair in batch.pairs.tolist()}
    for batch in Padded(grid, LAYOUT).pack(array, some):
        assert all(width[p] == batch.sequence_length for p in batch.pairs.tolist())


@given(a=st.integers(0, 60), b=st.integers(0, 60), room=st.integers(1, 50))
def test_cutting_keeps_as_much_as_the_tokenizers_longest_first(a: int, b: int, room: int) -> None:
    REFERENCE.enable_truncation(room + LAYOUT.overhead, strategy="longest_first")
    encoding = REFERENCE.encode("x" * a, "y" * b)
    sides = [encoding.sequence_ids.count(0), encoding.sequence_ids.count(1)]
    table = tokens([[5] * a, [6] * b])
    pairs = distinct_pairs(np.array([0], np.int32), np.array([1], np.int32), table, table)
    cut_to_fit(pairs, room, np.array([a + b > room]))
    assert [int(pairs.first_length[0]), int(pairs.second_length[0])] == sides
