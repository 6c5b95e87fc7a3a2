from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from export.quantise import column_scales


@given(inner=st.integers(1, 9), columns=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_no_sum_of_two_products_exceeds_sixteen_bits(inner: int, columns: int, seed: int) -> None:
    """As vpmaddubsw adds them, on x86 processors without VNNI, whatever the activations are."""
    weight = np.random.default_rng(seed).standard_cauchy((inner, columns)).astype(np.float32)
    integers = np.rint(weight / column_scales(weight)).astype(np.int64)
    products = 255 * np.abs(np.pad(integers, ((0, inner % 2), (0, 0))))
    assert (products[0::2] + products[1::2]).max() <= 2**15 - 1
    assert np.abs(integers).max() <= 127 and np.abs(integers).max(axis=0).min() >= 63
