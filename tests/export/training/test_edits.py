"""Made pairs: labels by a second reading of the texts, and neither side alone tells the label."""

from __future__ import annotations

import math
import random
import re
from collections import Counter

import pytest

from export.training.general import edits, measures
from export.training.general.measures import UNITS


@pytest.mark.parametrize("kind", edits.KINDS, ids=lambda kind: kind.__name__)
def test_neither_side_tells_the_label(kind: edits.Kind) -> None:
    """Naive Bayes on the words of one side, trained on half of the pairs, guesses on the other half."""
    rng = random.Random(1)
    drawn = [(kind(agree, rng), agree) for _ in range(1500) for agree in (True, False)]
    for side in (0, 1):
        counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        for sides, agree in drawn[:1500]:
            counts[agree].update(set(sides[side].lower().split()))
        hits = 0
        for sides, agree in drawn[1500:]:
            words = set(sides[side].lower().split())
            score = sum(math.log((counts[True][w] + 1) / (counts[False][w] + 1)) for w in words)
            hits += (score > 0) == agree
        assert hits / 1500 < 0.58


def test_every_kind_is_true_as_often_as_false() -> None:
    found = edits.pairs(600, random.Random(0))
    assert sum(entailed for *_, entailed in found) == 300


def _size(text: str) -> float:
    found = re.search(r"([\d.,]*\d) (\w+)\.?$", text)
    assert found is not None
    (factor,) = {size for units in UNITS.values() for *names, size in units if found[2] in names}
    return float(found[1].replace(",", "")) * factor


def test_measures_agree_when_their_sizes_do() -> None:
    rng = random.Random(4)
    read = 0
    for agree in (True, False) * 300:
        one, other = measures.units(agree, rng)
        if all(re.search(r"\d \w+\.$", side) for side in (one, other)):
            assert math.isclose(_size(one), _size(other), rel_tol=1e-4) == agree, (one, other)
            read += 1
    assert read > 300
