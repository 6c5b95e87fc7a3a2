"""The worst sentence decides as much as the whole text: against a loop over the rows, and where it must not."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.metric import FINE
from scorer.metric.checks import HALLUCINATION, KIND_NAMES, OMISSION, SENTENCE, Checks
from scorer.metric.verdict import by_worst_sentence, decide
from scorer.scoring.output_columns import worst_sentence
from scorer.scoring.tables import from_pairs
from scorer.status import NOT_FINITE, SCORED, RowError
from tests.metric.test_sentences import ANN, BOB, TEXT, ask

ONE = "Ann is a pub near a river."
PROBABILITIES = st.tuples(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0.01, 1))


def label(checks: Checks, answers: np.ndarray, row: int, threshold: float | None) -> str:
    """The label of a row by the rule as it is written down."""
    margins = defaultdict(list)
    for kind, owner, (c, n, e) in zip(checks.kind, checks.row, answers.tolist(), strict=True):
        if owner == row:
            margins[KIND_NAMES[kind]].append((e, e - max(c, n) if threshold is None else e - threshold))
    omission = any(margin <= 0 for _, margin in margins["omission"])
    added = margins["hallucination"][0][1]
    if len(margins["sentence"]) > 1:
        added += min(margins["sentence"], key=lambda one: one[0])[1]
    return FINE[omission + 2 * (added <= 0)]


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_labels_are_those_of_the_rule(data: st.DataObject) -> None:
    rows = from_pairs([([ANN, BOB], TEXT), ([ANN], ONE), ([BOB], TEXT), ([ANN], " ")])
    checks = ask(rows, 60, sides="both")
    raw = np.array(data.draw(st.lists(PROBABILITIES, min_size=len(checks.row), max_size=len(checks.row))))
    answers = (raw / raw.sum(axis=1, keepdims=True)).astype(np.float32)
    found = decide(rows, checks, answers, np.zeros(len(checks.row), np.int8), worst_sentence=True)
    fine = found.columns["fine"].to_pylist()
    assert fine[:3] == [label(checks, answers, row, None) for row in range(3)] and fine[3] == "omission"
    plain = decide(rows, checks, answers, np.zeros(len(checks.row), np.int8))
    for name in ("confidence", "text_entailment", "omitted", "fact_entailment"):
        assert found.columns[name].equals(plain.columns[name]), "a sentence changes the label of its side alone"
    assert fine[1] == plain.columns["fine"].to_pylist()[1], "a single sentence decides nothing"


def test_a_model_of_two_classes_has_margins_from_its_threshold() -> None:
    rows = from_pairs([([ANN, BOB], TEXT)])
    checks = ask(rows, 60, sides="hallucination")
    answers = np.full((3, 3), np.nan, np.float32)
    answers[:, 2] = [0.8, 0.9, 0.5]  # the whole text, and two sentences
    for threshold, expected in ((0.6, "OK"), (0.7, "hallucination")):
        found = decide(rows, checks, answers, np.zeros(3, np.int8), worst_sentence=True, threshold=threshold)
        assert found.columns["fine"].to_pylist() == [expected]


def test_a_sentence_without_an_answer_costs_the_label() -> None:
    rows = from_pairs([([ANN, BOB], TEXT)])
    checks = ask(rows, 60, sides="hallucination")
    answers, status = np.full((3, 3), 1 / 3, np.float32), np.array([SCORED, SCORED, NOT_FINITE], np.int8)
    found = decide(rows, checks, answers, status, worst_sentence=True)
    assert found.errors == {0: RowError("not_finite", ("hallucination",))}
    assert found.columns["fine"].to_pylist() == [None]
    assert decide(rows, checks, answers, status).errors == {}


def test_only_checks_of_texts_of_several_sentences_count() -> None:
    checks = ask(from_pairs([([ANN, BOB], TEXT), ([ANN], ONE)]), 60, sides="both")
    chosen = by_worst_sentence(checks)
    assert {(int(row), int(kind)) for row, kind in zip(checks.row[chosen], checks.kind[chosen], strict=True)} == {
        (0, HALLUCINATION),
        (0, SENTENCE),
    }
    assert not chosen[checks.kind == OMISSION].any()


@pytest.mark.parametrize(
    ("entailments", "expected"),
    [([0.9, 0.2], "two (0.200)"), ([0.2, 0.2], "one (0.200)"), ([0.9, None], None), ([0.3], None), ([], None)],
)
def test_the_worst_sentence_in_words(entailments: list[float | None], expected: str | None) -> None:
    spans = [(0, 3), (4, 7)]
    sentences = [
        {"start": start, "end": end, "entailment": value}
        for (start, end), value in zip(spans, entailments, strict=False)
    ]
    assert worst_sentence("one two", sentences) == expected
