"""Pairs laid end to end: what is in a call, and where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scorer.inference.bundle import Bundle
from scorer.inference.packed import Packed

BUDGET = 4096


def random_lengths(kind: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    return {
        "mixed": rng.integers(5, 129, count),
        "short": rng.integers(5, 12, count),
        "longest": np.full(count, 128),
        "powers": 1 << rng.integers(3, 8, count),
        "e2e": np.clip(rng.normal(47, 12, count).astype(int), 8, 128),
    }[kind].astype(np.int64)


@pytest.mark.parametrize(
    ("kind", "count"), [("mixed", 1), ("short", 7), ("mixed", 1000), ("longest", 1000), ("powers", 1000), ("e2e", 1000)]
)
def test_calls_have_a_few_fixed_numbers_of_tokens_and_pairs(tiny: Path, kind: str, count: int) -> None:
    layout = Packed(BUDGET, 128, Bundle.load(tiny).layout)
    lengths = random_lengths(kind, count)
    batches = layout.pack(lengths, np.arange(count))
    assert sorted(np.concatenate([batch.pairs for batch in batches]).tolist()) == list(range(count))
    assert {batch.tokens for batch in batches} <= set(layout.sizes) == {4096, 1024}
    for batch in batches:
        used, fillers = int(lengths[batch.pairs].sum()), batch.rows - len(batch.pairs)
        assert lengths[batch.pairs].max() <= batch.sequence_length <= 128
        assert fillers <= batch.tokens - used <= fillers * lengths[batch.pairs].max()
        assert batch.tokens <= batch.rows * batch.sequence_length <= 2 * batch.tokens
    assert sum(batch.tokens for batch in batches) < 1.25 * lengths.sum() + 5 * 1024


def test_a_pair_s_call_does_not_depend_on_the_order_in_which_pairs_come(tiny: Path) -> None:
    layout, lengths = Packed(BUDGET, 128, Bundle.load(tiny).layout), random_lengths("mixed", 200)
    turned = np.random.default_rng(2).permutation(200)
    one, other = layout.pack(lengths, np.arange(200)), layout.pack(lengths, turned)
    assert [batch.pairs.tolist() for batch in one] == [batch.pairs.tolist() for batch in other]


def test_other_pairs_change_only_the_tokens_of_a_call(tiny: Path) -> None:
    """The other two dimensions follow from the pair's own length, written out here; kernels are chosen by them."""
    layout = Packed(BUDGET, 128, Bundle.load(tiny).layout)
    expected = [(range(4, 8), 4, 8), (range(8, 16), 8, 16), (range(16, 32), 16, 32), (range(32, 64), 32, 64),
                (range(64, 128), 64, 128), (range(128, 129), 128, 128)]  # fmt: skip
    seen = set()
    for kind in ("mixed", "short", "e2e", "longest"):
        for count in (1, 3, 40, 1000):
            lengths = random_lengths(kind, count)
            everything = np.arange(count)
            for batch in [*layout.pack(lengths, everything), layout.full(lengths, everything)]:
                for length in lengths[batch.pairs].tolist():
                    (shape,) = [(least, places) for of, least, places in expected if length in of]
                    assert (batch.tokens // batch.rows, batch.sequence_length) == shape
                    seen.add((batch.tokens, *shape))
    assert len(seen) > 8 and {tokens for tokens, *_ in seen} == {4096, 1024}
