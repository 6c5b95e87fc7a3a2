"""Made pairs: labels by a second reading of the texts, and neither side alone tells the label."""

from __future__ import annotations

import math
import random
import re

import pytest

from tests.training.examples import check_untold
from training.general import edits
from training.general.values import CONVERSIONS, units


@pytest.mark.parametrize("kind", edits.KINDS, ids=lambda kind: kind.__name__)
def test_neither_side_tells_the_label(kind: edits.Kind) -> None:
    rng = random.Random(1)
    check_untold([(*kind(agree, rng), agree) for _ in range(1500) for agree in (True, False)])


def test_every_kind_is_true_as_often_as_false() -> None:
    found = edits.pairs(600, random.Random(0))
    assert sum(entailed for *_, entailed in found) == 300


def _size(text: str) -> float:
    found = re.search(r"([\d.,]*\d) (\w+)\.?$", text)
    assert found is not None
    (factor,) = {size for units in CONVERSIONS.values() for *names, size in units if found[2] in names}
    return float(found[1].replace(",", "")) * factor


def test_measures_agree_when_their_sizes_do() -> None:
    rng = random.Random(4)
    read = 0
    for agree in (True, False) * 300:
        one, other = units(agree, rng)
        if all(re.search(r"\d \w+\.$", side) for side in (one, other)):
            assert math.isclose(_size(one), _size(other), rel_tol=1e-4) == agree, (one, other)
            read += 1
    assert read > 300


def _levels(text: str) -> set[tuple[str, int]]:
    """Scale and level of each sentence in `text`, whatever thing it is about."""
    known = edits.SCALES.items()
    found = set()
    for sentence in re.split(r"(?<=\.) ", text):
        for scale, by_level in known:
            for number, wordings in enumerate(by_level):
                for words in wordings:
                    pattern = re.escape(words).replace(r"\{f\}", f"The {scale} of .+? is").replace(r"\{s\}", ".+?")
                    if re.fullmatch(pattern, sentence, re.IGNORECASE):
                        found.add((scale, number))
    return found


def test_descriptions_agree_when_their_levels_do() -> None:
    rng = random.Random(5)
    read = 0
    for agree in (True, False) * 150:
        premise, hypothesis = (_levels(side.replace(" and ", ". It ")) for side in edits.levels(agree, rng))
        if premise and hypothesis:
            assert (hypothesis <= premise or premise <= hypothesis) == agree
            read += 1
    assert read > 200
