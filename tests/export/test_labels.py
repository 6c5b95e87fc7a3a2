"""The order of the labels, from the checkpoint or from the user."""

from __future__ import annotations

from typing import Any

import pytest

from export.labels import Answers, choose_scheme
from scorer.errors import CheckpointError, UsageError
from scorer.inference.bundle import BINARY, NLI, SCORE, Scheme

MNLI = ("contradiction", "neutral", "entailment")


def scheme(id2label: object, answers: Answers = Answers(), **config: Any) -> Scheme:  # noqa: B008 - a frozen value
    return choose_scheme({"id2label": id2label, **config}, answers, "config.json", lambda _: None)


@pytest.mark.parametrize(
    "id2label",
    [
        {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
        {"0": "contradiction", "1": "neutral", "2": "neutral"},
        {"1": "contradiction", "2": "neutral", "3": "entailment"},
        None,
    ],
)
def test_unclear_labels_are_refused_unless_the_user_says(id2label: object) -> None:
    with pytest.raises(CheckpointError, match=r"id2label is .*--labels contradiction,neutral,entailment"):
        scheme(id2label, num_labels=3)
    assert scheme(id2label, Answers(["Entailment", "neutral", "CONTRADICTION"]), num_labels=3).labels == MNLI[::-1]


TWO = {"0": "LABEL_0", "1": "LABEL_1"}
UNNAMED = ("label_0", "label_1")
NAMED = ("entailment", "not_entailment")
VERDICTS = ("not supported", "supported")


@pytest.mark.parametrize(
    ("id2label", "answers", "expected"),
    [
        ({"0": "entailment", "1": "neutral", "2": "contradiction"}, Answers(), Scheme(NLI, MNLI[::-1])),
        ({"1": " neutral ", "2": "Entailment", "0": "contradiction"}, Answers(), Scheme(NLI, MNLI)),
        (dict(zip("01", NAMED, strict=True)), Answers(), Scheme(BINARY, NAMED, "entailment")),
        ({"0": "Not Supported", "1": "Supported"}, Answers(), Scheme(BINARY, VERDICTS, "supported")),
        (TWO, Answers(scheme="binary", supported="label_0", threshold=0.7), Scheme(BINARY, UNNAMED, "label_0", 0.7)),
        (TWO, Answers(["no", "yes"], supported="yes"), Scheme(BINARY, ("no", "yes"), "yes")),
        ({"0": "LABEL_0"}, Answers(scheme="score", threshold=0.3), Scheme(SCORE, ("label_0",), None, 0.3)),
        (None, Answers(supported="label_1"), Scheme(BINARY, UNNAMED, "label_1")),
    ],
)  # fmt: skip
def test_schemes_from_labels_and_options(id2label: object, answers: Answers, expected: Scheme) -> None:
    assert scheme(id2label, answers) == expected


def test_a_config_without_labels_has_as_many_as_the_weights() -> None:
    """As configs of 2019 are: the three labels are asked for, and not which of two means supported."""
    with pytest.raises(CheckpointError, match=r"id2label is None.*--labels contradiction,neutral,entailment"):
        choose_scheme({}, Answers(), "config.json", lambda _: None, 3)
    assert choose_scheme({}, Answers(MNLI), "config.json", lambda _: None, 3) == Scheme(NLI, MNLI)


@pytest.mark.parametrize(
    ("id2label", "answers", "error", "message"),
    [
        (TWO, Answers(), CheckpointError, "nothing says which means .* --supported LABEL_1"),
        (TWO, Answers(supported="LABEL_2"), UsageError, "--supported is 'LABEL_2'; the labels are label_0, label_1"),
        ({"0": "LABEL_0"}, Answers(), CheckpointError, "one logit.*--scheme score"),
        (TWO, Answers(supported="LABEL_1", threshold=1.5), UsageError, "--threshold is 1.5"),
        (dict(zip("012", MNLI, strict=True)), Answers(threshold=0.5), UsageError, "one or two logits; remove them"),
    ],
)
def test_schemes_that_are_not_guessed(id2label: object, answers: Answers, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        scheme(id2label, answers)
