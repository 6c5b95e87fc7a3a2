"""The probe pairs: lengths, balance, determinism."""

from __future__ import annotations

from collections import Counter

import pytest

from export.probes import COUNT, Probe, built_in_probes, merge
from export.random_init import train_tokenizer
from export.sentences import FRAMES, frame_pairs
from export.tokenization import PairTokenizer


@pytest.fixture(scope="module")
def tokenizer() -> PairTokenizer:
    return PairTokenizer(train_tokenizer(2000), "<pad>", "tokenizer.json")


@pytest.mark.parametrize("max_length", [512, 128, 40, 16])
def test_probes_span_all_lengths(tokenizer: PairTokenizer, max_length: int) -> None:
    probes = built_in_probes(tokenizer, max_length)
    assert len(probes) == len(set(probes)) == COUNT
    lengths = [probe.tokens for probe in probes]
    assert lengths == sorted(lengths) and (lengths[0], lengths[-1]) == (5, max_length)
    assert all(probe.tokens == len(tokenizer.encode(probe.premise, probe.hypothesis)) for probe in probes)
    assert probes == built_in_probes(tokenizer, max_length)


def test_lengths_of_a_full_size_model(tokenizer: PairTokenizer) -> None:
    lengths = [probe.tokens for probe in built_in_probes(tokenizer, 512)]
    assert sum(lengths) < 13_000
    assert all(any(low < n <= 2 * low for n in lengths) for low in (8, 16, 32, 64, 128, 256))


def test_no_probe_holds_a_special_token_or_a_surrogate(tokenizer: PairTokenizer) -> None:
    for probe in built_in_probes(tokenizer, 512):
        assert "<" not in probe.premise + probe.hypothesis
        (probe.premise + probe.hypothesis).encode()


def test_frames_are_filled(tokenizer: PairTokenizer) -> None:
    filled = list(frame_pairs())
    assert len(filled) == sum(len(f.names) * len(f.values) for f in FRAMES) > 200
    assert not any("{" in text for _, *pairs in filled for pair in pairs for text in pair[:2])
    meant = Counter(pair.meant for _, *pairs in filled for pair in pairs)
    assert len(set(meant.values())) == 1 and len(meant) == 3


def test_merging_drops_repetitions() -> None:
    a, b = Probe("a", "b", 7), Probe("c", "d", 6)
    assert merge([a, b], [a]) == [b, a]
