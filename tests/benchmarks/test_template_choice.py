"""The experiment behind the figures on choosing: its references, and its arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.template_choice import compare, rough_references
from scorer.metric.triples import Triple

MILL = [
    Triple("The Mill", "eatType", "pub"),
    Triple("The Mill", "near", "Café Rouge"),
    Triple("The Mill", "familyFriendly", "yes"),
]


@pytest.mark.parametrize(
    ("text", "slots", "expected"),
    [
        ("The Mill is a pub. The Mill is near Cafe Rouge.", 1, [("eatType", 0), ("near", 1)]),
        ("The Mill is a pub near Café Rouge.", 1, []),
        ("The Mill is a pub near Café Rouge.", 2, [("eatType", 0), ("near", 0)]),
        ("The Mill welcomes kids. It is a pub.", 1, [("familyFriendly", 0)]),
        ("The Mill is a pub for families.", 1, []),
    ],
)
def test_rough_references(text: str, slots: int, expected: list[tuple[str, int]]) -> None:
    sentences = text.replace(". ", ".\n").split("\n")
    found = rough_references(MILL, text, slots)
    assert [(triple.predicate, sentences.index(sentence)) for triple, sentence in found] == expected


def test_differences_to_the_mean_of_the_random_ones() -> None:
    def counts(right: int) -> tuple[np.ndarray, np.ndarray]:
        """Five inputs of ten outputs each, all of them omissions; so many of each are found, the others called OK."""
        fine = np.zeros((5, 4, 5), np.int64)
        fine[:, 1, 1], fine[:, 1, 0] = right, 10 - right
        rough = np.zeros((5, 2, 3), np.int64)
        rough[:, 1, 1], rough[:, 1, 0] = right, 10 - right
        return fine, rough

    result = compare({"nli": counts(8), "random-0": counts(5), "random-1": counts(7)}, 2)
    assert (result["inputs"], result["rows"]) == (5, 50)
    assert result["figures"]["nli"]["rough.accuracy"] == [0.8, 0.8, 0.8]
    line = result["against_random"]["nli"]["rough.accuracy"]
    # All inputs are equal, so that only the seeds vary: two drawn of .5 and .7 have the mean .5 or .7 half of the time.
    assert line == {"random_mean": 0.6, "difference": 0.2, "interval": [0.1, 0.3], "seeds_beaten": 2}
    assert set(result["against_random"]) == {"nli"}
