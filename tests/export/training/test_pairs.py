"""The pairs of a pool: balanced, repeatable, and without a hint in either text alone."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from export.training.general.nli import NOT_ENTAILMENT
from export.training.general.pairs import ENTAILMENT, Pair, pairs
from export.training.general.rows import corpus, parts, read
from tests.export.training.examples import made


def words(text: str) -> set[str]:
    """Words and pairs of neighbouring words."""
    found = re.findall(r"\w+", text.lower())
    return {*found, *(f"{a} {b}" for a, b in pairwise(found))}


def guessed(found: list[Pair], side: str) -> float:
    """Accuracy of naive Bayes that sees one text of each pair; learned on the first three quarters."""
    cut = len(found) * 3 // 4
    counts = {ENTAILMENT: Counter[str](), NOT_ENTAILMENT: Counter[str]()}
    for pair in found[:cut]:
        counts[pair.label].update(words(getattr(pair, side)))
    true, false = counts[ENTAILMENT], counts[NOT_ENTAILMENT]
    hits = 0
    for pair in found[cut:]:
        score = math.fsum(math.log((true[w] + 1) / (false[w] + 1)) for w in words(getattr(pair, side)))
        hits += (score > 0) == (pair.label == ENTAILMENT)
    return hits / (len(found) - cut)


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
            assert guessed(part, side) < 0.55, (direction, side)
