"""The threshold of contradiction, by an independent search, and the pairs that it is measured on."""

from __future__ import annotations

import numpy as np
import pytest

from scorer.evaluation.contradiction import choose_threshold, contradiction_pairs
from scorer.inference.bundle import NLI, Bundle, Contradiction
from scorer.inference.verification import open_engine


def _probabilities(contradiction: list[float], entailed: list[bool]) -> np.ndarray:
    rows = [(c, 0.0, 1 - c) if passes else (c, 1 - c, 0.0) for c, passes in zip(contradiction, entailed, strict=True)]
    return np.array(rows, np.float32)


def test_the_smallest_threshold_that_spares_left_out_facts() -> None:
    rng = np.random.default_rng(7)
    wrong = rng.random(400) < 0.5
    contradiction = np.where(wrong, rng.beta(5, 2, 400), rng.beta(2, 5, 400))
    measured = choose_threshold(_probabilities(contradiction.tolist(), [False] * 400), wrong)
    assert measured is not None
    left_out = np.sort(contradiction[~wrong])[::-1]
    allowed = len(left_out) // 20  # so many may be called contradicted
    assert left_out[allowed] < measured.threshold <= left_out[allowed - 1] + 0.001
    assert measured.threshold - 0.001 <= left_out[allowed]
    assert measured.left_out_rate == pytest.approx(float((left_out >= measured.threshold).mean()), abs=1e-4)
    assert measured.wrong_value_rate == pytest.approx(
        float((contradiction[wrong] >= measured.threshold).mean()), abs=1e-4
    )


def test_facts_that_pass_the_check_do_not_count() -> None:
    wrong = np.array([True, True, False, False])
    measured = choose_threshold(_probabilities([0.9, 0.2, 0.3, 0.4], [False, True, False, True]), wrong)
    assert measured == Contradiction(0.301, 1.0, 0.0)


@pytest.mark.parametrize(
    ("contradiction", "wrong"),
    [([0.2, 0.9], [True, False]), ([1.0, 1.0], [True, False]), ([0.9, 0.9], [True, True])],
)
def test_no_threshold_where_nothing_tells_them_apart(contradiction: list[float], wrong: list[bool]) -> None:
    assert choose_threshold(_probabilities(contradiction, [False, False]), np.array(wrong)) is None


def test_the_set_has_as_many_of_both_and_a_fact_that_each_text_does_not_say() -> None:
    pairs, wrong = contradiction_pairs()
    assert len(set(pairs)) > 390 and wrong.sum() == 200 and len(pairs) == 400
    text, fact = pairs[0]
    assert "cheap price range" in fact and "price" not in text


def test_the_embedded_bundle_has_what_its_model_gives() -> None:
    bundle = Bundle.load("embedded")
    assert bundle.scheme.kind == NLI and bundle.languages == ("en",)
    pairs, wrong = contradiction_pairs()
    with open_engine(bundle, device="cpu", precision="fp32") as engine:
        measured = choose_threshold(bundle.scheme.probabilities(engine.logits(*map(list, zip(*pairs)))), wrong)  # noqa: B905
    assert measured is not None and bundle.contradiction is not None
    assert measured.threshold == pytest.approx(bundle.contradiction.threshold, abs=0.002)
    assert measured.wrong_value_rate == pytest.approx(bundle.contradiction.wrong_value_rate, abs=0.011)
