"""Values in texts, and the texts' own words as candidates for templates."""

from __future__ import annotations

import pytest

from scorer.metric.fact_templates import Templates
from scorer.templating.mining import (
    put_slots,
    side_by_side,
    split,
    stands_in,
    words_of_one,
    words_of_several,
)

MATCH = {"home": "Eastholm", "away": "Brayford United", "goals": "2", "against": "0", "place": "Harbour Ground"}


@pytest.mark.parametrize(
    ("value", "text", "stands"),
    [
        ("2", "won 2-0", True),
        ("2", "won 12-0", False),
        ("5", "5.5 kg", False),
        ("5.5", "It weighs 5.5 kg.", True),
        ("5", "It is 5.", True),
        ("thai", "Thai food", True),
        ("Tha", "Thai food", False),
        ("a.b", "axb", False),
    ],
)
def test_a_value_stands_in_a_text_as_a_whole(value: str, text: str, stands: bool) -> None:
    assert stands_in(value, text) is stands


def test_slots_are_put_for_values_the_longest_first_and_equal_ones_in_turn() -> None:
    sentence = "Eastholm beat Brayford United 2-0 at Harbour Ground."
    assert put_slots(sentence, MATCH) == "<home> beat <away> <goals>-<against> at <place>."
    assert put_slots("They drew 1-1.", {"goals": "1", "against": "1"}) == "They drew <goals>-<against>."
    assert put_slots("United won.", {"long": "United States", "short": "United"}) == "<short> won."
    assert put_slots("As it is.", {"empty": ""}) == "As it is."


@pytest.mark.parametrize(
    ("text", "said"), [("won 2-0.", "2-0"), ("2 : 0", "2 : 0"), ("2-05", None), ("12-0", None), ("2 to 0", None)]
)
def test_two_numbers_side_by_side(text: str, said: str | None) -> None:
    assert side_by_side("2", "0", text) == said


def test_words_of_one_predicate_are_those_of_two_sentences_at_least() -> None:
    sentences = ["<subject> met <who>.", "<subject> met <who>.", "<who> came.", "<who> came.", "Only <who>."]
    sentences += ["<home> won at <place>.", "<away> lost at <place>."]
    assert words_of_one(sentences, "who", 3, one_subject=False) == ["<subject> met <object>."]
    assert words_of_one(sentences, "place", 3, one_subject=False) == ["<subject> was at <object>."]
    assert words_of_one(sentences, "absent", 3, one_subject=False) == []


def test_words_of_one_predicate_name_its_subject_where_rows_have_several() -> None:
    sentences = ["It was from <origin>.", "A crowd of <crowd> came.", "<subject> left <origin> for <place>."] * 2
    for predicate in ("origin", "crowd", "place"):
        for words in words_of_one(sentences, predicate, 3, one_subject=False):
            assert Templates.from_dict({predicate: words}).without_slot() == {}
    assert words_of_one(sentences, "crowd", 3, one_subject=True)[0] == "A crowd of <object> came."


def test_words_of_several_predicates_leave_other_slots_out() -> None:
    beat = "<home> beat <away> <goals>-<against> at <place> on <date>."
    drew = "<home> and <away> shared the points in a <goals>-<against> draw at <place>."
    core = ["goals", "against", "home", "away"]
    assert words_of_several([beat, beat, drew, drew], core, 3) == [
        "<home> beat <away> <goals>-<against>.",
        "<home> and <away> shared the points in a <goals>-<against> draw.",
    ]
    between = "<home> met <place> and <away>, <goals>-<against>."
    assert words_of_several([between, between], core, 3) == []
    assert words_of_several(["On <date>, <home> met <away>."] * 2, ["home", "away"], 3) == ["<home> met <away>."]


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Flight <subject> flies from <a> to <b>.", "Flight <subject> flies from <a> to <b>."),
        ("On <date>, <subject> flies from <a> to <b> at <time>.", "<subject> flies from <a> to <b>."),
        ("From <a>, <subject> flies to <b>.", "From <a>, <subject> flies to <b>."),
        ("On <date>, a plane left <a> for <b>.", None),  # "<a> for <b>" is no sentence
        ("<gate> is the gate from <a> to <b>.", None),
        ("Rain fell on <date>, and <a> met <b>.", "<a> met <b>."),
    ],
)
def test_words_of_several_predicates_begin_where_a_clause_does(sentence: str, words: str | None) -> None:
    assert words_of_several([sentence] * 2, ["a", "b"], 3) == ([] if words is None else [words])


def test_sentences_of_a_text() -> None:
    assert split("**Report**\n\nOne. Two!  Three") == ["**Report**", "One.", "Two!", "Three"]
