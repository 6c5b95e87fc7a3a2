"""The pairs of a pool: balanced, repeatable, and without a hint in either text alone."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from export.training.general.pairs import ENTAILMENT, pairs
from export.training.general.rows import corpus, parts, read
from tests.export.training.examples import guessed, made


def test_every_kind_is_half_true_and_the_seed_decides() -> None:
    found = pairs(made(), 1200, random.Random(1))
    kinds = Counter(pair.kind for pair in found)
    true = Counter(pair.kind for pair in found if pair.label == ENTAILMENT)
    assert len(found) == 1200
    assert len(kinds) >= 12
    assert all(true[kind] * 2 == count for kind, count in kinds.items())
    assert found == pairs(made(), 1200, random.Random(1))
    assert found != pairs(made(), 1200, random.Random(2))


@pytest.mark.slow
@pytest.mark.parametrize("held_out", [False, True])
def test_neither_text_alone_tells_the_label(shared_data: Path, held_out: bool) -> None:
    rows = parts(read(shared_data.parent / "nli" / "d2t_train.parquet"))[held_out]
    found = pairs(corpus(rows), 12000, random.Random(0))
    for direction in ("text_to_fact:", "facts_to_text:"):
        part = [pair for pair in found if pair.kind.startswith(direction)]
        for side in ("premise", "hypothesis"):
            texts = [(getattr(pair, side), pair.label == ENTAILMENT) for pair in part]
            assert guessed(texts) < 0.55, (direction, side)
