"""The probe pairs: lengths, balance, determinism."""

from __future__ import annotations

import pytest

from export.probes import COUNT, built_in_probes
from export.random_init import train_tokenizer
from export.tokenization import PairTokenizer


@pytest.fixture(scope="module")
def tokenizer() -> PairTokenizer:
    return PairTokenizer(train_tokenizer(2000), "<pad>", "tokenizer.json")


@pytest.mark.parametrize("max_length", [512, 16])
def test_probes_span_all_lengths(tokenizer: PairTokenizer, max_length: int) -> None:
    probes = built_in_probes(tokenizer, max_length)
    assert len(probes) == len(set(probes)) == COUNT
    lengths = [probe.tokens for probe in probes]
    assert lengths == sorted(lengths) and (lengths[0], lengths[-1]) == (5, max_length)
    assert all(probe.tokens == len(tokenizer.encode(probe.premise, probe.hypothesis)) for probe in probes)
    assert probes == built_in_probes(tokenizer, max_length)
