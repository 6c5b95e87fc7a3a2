from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from scorer.inference.engine import Predictions
from scorer.metric.facts import Triple
from scorer.status import SCORED
from scorer.templating.extract import Candidate, Key, find_candidates, score_candidates, template_file


def overlap(premise: str, hypothesis: str) -> float:
    """The share of the hypothesis' words that the premise has."""
    words = hypothesis.rstrip(".").split()
    return sum(word in premise.rstrip(".").split() for word in words) / len(words)


class WordModel:
    """Stands in for an engine: P(entailment) is :func:`overlap`. ``asked``: all pairs so far."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def encode(self, texts: list[str], premise: Any, hypothesis: Any) -> Any:
        assert len(set(texts)) == len(texts)
        return [(texts[p], texts[h]) for p, h in zip(premise.tolist(), hypothesis.tolist(), strict=True)]

    def predict(self, work: Any, stop: Any = None) -> Predictions:
        self.asked += work
        entailment = np.array([overlap(*pair) for pair in work], np.float32)
        probabilities = np.stack([(1 - entailment) / 2] * 2 + [entailment], axis=1)
        return Predictions(probabilities, np.full(len(work), SCORED, np.int8), np.zeros(len(work), bool))


def extraction(*references: tuple[str, str, str, str]) -> dict[Key, list[Candidate]]:
    counts = Counter((Triple(*parts), text) for *parts, text in references)
    return find_candidates(counts, Counter())


NEAR = extraction(
    ("A", "near", "B", "A is a cheap pub near B."),
    ("C", "near", "D", "C is near D."),
    ("E", "near", "F", "E is near F."),
    ("G", "near", "H", "G lies near H."),
    ("A", "kids", "yes", "A welcomes kids."),
    ("A", "kids", "no", "A is for adults."),
)


def test_the_file_by_hand() -> None:
    content = template_file({key: found[-1].template for key, found in NEAR.items()})
    assert content == {
        "$version": 1,
        "kids": {"no": "<subject> is for adults.", "yes": "<subject> welcomes kids."},
        "near": "<subject> lies near <object>.",
    }
    assert template_file({("p", None): "<subject>.", ("p", "yes"): "yes"}) == {"$version": 1, "p": "<subject>."}
    assert [one.count for one in NEAR["near", None]] == [1, 2, 1]


def test_nli_scores_by_hand() -> None:
    model = WordModel()
    assert score_candidates(NEAR, model, 16, 0) == 2 * (3 + 2 + 3 + 0 + 0)
    assert len(model.asked) == 16
    scores = {c.template: c.score for c in NEAR["near", None]}
    # Against "C is near D.", "E is near F." and "G lies near H.": all 4 words of the first two are in the filled
    # sentence of 7, 3 of 4 of the third ("lies" is not); of its 7 words the references have 4, 4 and 3.
    assert scores["<subject> is a cheap pub near <object>."] == pytest.approx(
        ((1 + 4 / 7) + (1 + 4 / 7) + (3 / 4 + 3 / 7)) / 6, abs=1e-6
    )
    # Against the pub (4 of 4, 4 of 7) and "G lies near H." (3 of 4 both ways).
    assert scores["<subject> is near <object>."] == pytest.approx(((1 + 4 / 7) + (3 / 4 + 3 / 4)) / 4, abs=1e-6)
    assert [c.score for c in NEAR["kids", "yes"]] == [None], "there is nothing to compare it with"


def test_nli_never_asks_about_a_candidate_s_own_references_and_stops_at_the_limit() -> None:
    many = extraction(*((f"S{i}", "near", f"O{i}", f"S{i} is near O{i}.") for i in range(9)),
                      ("A", "near", "B", "A, near B."), ("A", "near", "B", "A lies close to B."))  # fmt: skip
    own = {text for candidate in many["near", None] if candidate.count == 9 for _, text in candidate.sources}
    for seed in range(5):
        model = WordModel()
        score_candidates(many, model, 4, seed)
        filled_by_own = {pair for pair in model.asked if pair[0] in own and pair[1] in own}
        assert not filled_by_own
        per_candidate = {"is near": 2, ", near": 4, "lies close": 4}  # references of other triples first
        assert len(model.asked) == 2 * sum(per_candidate.values())
        assert ("A, near B.", "A lies close to B.") not in model.asked, "same triple: only where no other is left"
