"""The order of the labels, from the checkpoint or from the user."""

from __future__ import annotations

import pytest

from export.labels import label_order
from scorer.errors import CheckpointError, UsageError

MNLI = ("contradiction", "neutral", "entailment")


def order(id2label: object, given: list[str] | None = None) -> tuple[str, ...]:
    return label_order(id2label, given, "config.json", lambda _: None)


@pytest.mark.parametrize(
    ("id2label", "expected"),
    [
        ({"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}, MNLI),
        ({"0": "entailment", "1": "neutral", "2": "contradiction"}, MNLI[::-1]),
        ({"2": "Neutral", "0": "Entailment", "1": " contradiction "}, ("entailment", "contradiction", "neutral")),
        ({0: "contradiction", 1: "entailment", 2: "neutral"}, ("contradiction", "entailment", "neutral")),
    ],
)
def test_any_order_and_case(id2label: object, expected: tuple[str, ...]) -> None:
    assert order(id2label) == expected


@pytest.mark.parametrize(
    "id2label",
    [
        {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
        {"0": "contradiction", "1": "neutral", "2": "neutral"},
        {"0": "contradiction", "1": "entailment"},
        {"0": "contradiction", "1": "neutral", "2": "entailment", "3": "other"},
        {"1": "contradiction", "2": "neutral", "3": "entailment"},
        {"0": "contradiction", "1": "neutral", "2": "entail"},
        {"a": "contradiction", "b": "neutral", "c": "entailment"},
        ["contradiction", "neutral", "entailment"],
        None,
    ],
)
def test_unclear_labels_are_refused_unless_the_user_says(id2label: object) -> None:
    with pytest.raises(CheckpointError, match=r"id2label is .*--labels contradiction,neutral,entailment"):
        order(id2label)
    assert order(id2label, ["Entailment", "neutral", "CONTRADICTION"]) == MNLI[::-1]


@pytest.mark.parametrize("given", [["entailment", "neutral"], ["entailment"] * 3, ["yes", "no", "maybe"], []])
def test_given_labels_must_be_the_three_words(given: list[str]) -> None:
    with pytest.raises(UsageError, match="three words"):
        order({"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, given)


def test_overriding_the_checkpoint_is_logged() -> None:
    lines: list[str] = []
    named = {"0": "contradiction", "1": "neutral", "2": "entailment"}
    assert label_order(named, list(MNLI[::-1]), "config.json", lines.append) == MNLI[::-1]
    assert len(lines) == 1 and "overrides" in lines[0]
    assert label_order(named, list(MNLI), "config.json", lines.append) == MNLI
    assert len(lines) == 1
