"""Both layouts of a call: which pairs are in it, and its shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorer.inference.batching import Packed, Padded, cut_to_fit, distinct_pairs
from scorer.inference.bundle import Bundle, PairLayout
from scorer.inference.tokenizer import Tokens
from tests.bundles import tokenizer

LAYOUT = PairLayout((0,), (2, 2), (2,), 1)
REFERENCE = tokenizer()


@given(
    lengths=st.lists(st.integers(1, 200), max_size=60),
    step=st.sampled_from([1, 8, 16]),
    budget=st.integers(1, 2000),
)
def test_every_pair_is_in_one_batch_of_a_shape_on_the_grid(lengths: list[int], step: int, budget: int) -> None:
    array = np.array(lengths, np.int64)
    batches = Padded(budget, 200, LAYOUT, step).pack(array, np.arange(len(lengths)))
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


@given(a=st.integers(0, 60), b=st.integers(0, 60), room=st.integers(1, 50))
def test_cutting_keeps_as_much_as_the_tokenizers_longest_first(a: int, b: int, room: int) -> None:
    REFERENCE.enable_truncation(room + LAYOUT.overhead, strategy="longest_first")
    encoding = REFERENCE.encode("x" * a, "y" * b)
    sides = [encoding.sequence_ids.count(0), encoding.sequence_ids.count(1)]
    table = Tokens(np.zeros(a + b, np.int32), np.array([0, a, a + b]), np.zeros(2, bool), np.zeros(2, bool))
    pairs = distinct_pairs(np.array([0], np.int32), np.array([1], np.int32), table, table)
    cut_to_fit(pairs, room, np.array([a + b > room]))
    assert [int(pairs.first_length[0]), int(pairs.second_length[0])] == sides


BUDGET = 4096


def random_lengths(kind: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return {
        "mixed": rng.integers(5, 129, count),
        "short": rng.integers(5, 12, count),
        "longest": np.full(count, 128),
        "powers": 1 << rng.integers(3, 8, count),
    }[kind].astype(np.int64)


@pytest.mark.parametrize(
    ("kind", "count"), [("mixed", 1), ("short", 7), ("mixed", 1000), ("longest", 1000), ("powers", 1000)]
)
def test_calls_have_a_few_fixed_numbers_of_tokens_and_pairs(tiny: Path, kind: str, count: int) -> None:
    layout = Packed(BUDGET, 128, Bundle.load(tiny).layout)
    lengths = random_lengths(kind, count)
    batches = layout.pack(lengths, np.arange(count))
    turned = layout.pack(lengths, np.random.default_rng(2).permutation(count))
    assert [batch.pairs.tolist() for batch in batches] == [batch.pairs.tolist() for batch in turned]
    assert sorted(np.concatenate([batch.pairs for batch in batches]).tolist()) == list(range(count))
    assert {batch.tokens for batch in batches} <= set(layout.sizes) == {4096, 1024}
    for batch in batches:
        used, fillers = int(lengths[batch.pairs].sum()), batch.rows - len(batch.pairs)
        assert lengths[batch.pairs].max() <= batch.sequence_length <= 128
        assert fillers <= batch.tokens - used <= fillers * lengths[batch.pairs].max()
        assert batch.tokens <= batch.rows * batch.sequence_length <= 2 * batch.tokens
    assert sum(batch.tokens for batch in batches) < 1.25 * lengths.sum() + 5 * 1024


def test_other_pairs_change_only_the_tokens_of_a_call(tiny: Path) -> None:
    """The other two dimensions follow from the pair's own length, written out here; kernels are chosen by them."""
    layout = Packed(BUDGET, 128, Bundle.load(tiny).layout)
    expected = [(range(4, 8), 4, 8), (range(8, 16), 8, 16), (range(16, 32), 16, 32), (range(32, 64), 32, 64),
                (range(64, 128), 64, 128), (range(128, 129), 128, 128)]  # fmt: skip
    seen = set()
    for kind in ("mixed", "short", "longest"):
        for count in (1, 3, 40, 1000):
            lengths = random_lengths(kind, count)
            everything = np.arange(count)
            for batch in [*layout.pack(lengths, everything), layout.full(lengths, everything)]:
                for length in lengths[batch.pairs].tolist():
                    (shape,) = [(least, places) for of, least, places in expected if length in of]
                    assert (batch.tokens // batch.rows, batch.sequence_length) == shape
                    seen.add((batch.tokens, *shape))
    assert len(seen) > 8 and {tokens for tokens, *_ in seen} == {4096, 1024}
