from __future__ import annotations

import pytest

from scorer.metric.facts import Triple
from scorer.metric.selection import number, terms_of, terms_of_fact


@pytest.mark.parametrize(
    ("text", "words", "numbers"),
    [
        ("LeBron James scored 24 points.", {"lebron", "james", "scored", "points"}, {"24"}),
        ("the 24-point, Alan_Bean's", {"point", "alan", "bean"}, {"24"}),
        ("Škoda Auto, Nürburgring", {"skoda", "auto", "nurburgring"}, set()),
        ("Straße STRASSE", {"strasse"}, set()),
        ("It was one of the best.", {"best"}, {"1"}),
        ("twenty-five, thirty two and forty", set(), {"25", "32", "40"}),
        ("twenty twenty zero", set(), {"20", "0"}),
        ("1,200 1200 1200.0 01200", set(), {"1200"}),
        ("1,20 and 12,3456", set(), {"1", "20", "12", "3456"}),
        ("ﬁfteen ①", set(), {"15", "1"}),
        ("東京 is big", {"東京", "big"}, set()),
    ],
)
def test_words_and_numbers(text: str, words: set[str], numbers: set[str]) -> None:
    found = terms_of(text)
    assert (found.words, found.numbers) == (words, numbers)
    assert found.all == words | numbers


def test_a_number_as_long_as_a_book_is_a_number() -> None:
    """Python refuses to read integers of more than 4,300 digits."""
    long = "9" * 10_000
    assert terms_of(f"0{long}.00 points").numbers == {long}
    assert number("000") == "0"


def test_what_a_fact_is_about() -> None:
    fact = terms_of_fact(Triple("James Jones", "PTS", "12"), "James Jones scored 12 points.")
    assert fact.subject == {"james", "jones"}
    assert fact.object == {"12"}
    assert fact.said == {"scored", "points"}
    assert terms_of_fact(Triple("The Who", "genre", "rock"), "The Who play rock.").subject == {"the", "who"}
