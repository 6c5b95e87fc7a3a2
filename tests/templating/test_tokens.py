from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorer.templating.tokens import tokens

UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def keys(text: str) -> list[str]:
    return [token.key for token in tokens(text)]


@pytest.mark.parametrize(
    "spellings",
    [
        ("Köln", "KÖLN", "koln", "Ko\u0308ln"),
        ("Ağrı", "agri"),
        ("486.2 (square kilometres)", "486.2 Square Kilometers", "486.2 square kilometer"),
        ("1982.0", "1,982", "1982", "1982.00", "nineteen hundred and eighty-two"),
        ("50000", "50,000", "50.000e3", "fifty thousand", "50 thousand"),
        ("5200000", "5.2 million", "5,200,000"),
        ("13017.0", "13017,0"),
        ("250021", "two hundred and fifty thousand and twenty-one"),
        ("1st", "first", "01st"),
        ("-12", "-12.0"),
        ("٣٤", "34"),
    ],
)
def test_spellings_that_agree(spellings: tuple[str, ...]) -> None:
    assert len({tuple(keys(spelling)) for spelling in spellings}) == 1, [keys(s) for s in spellings]


@pytest.mark.parametrize(
    "text",
    [
        "1923-11-18", "1923/11/18", "1923 11 18", "18/11/1923", "11/18/1923", "18.11.1923", "November 18, 1923",
        "Nov 18th, 1923", "Nov. 18 1923", "18 November 1923", "the 18th of November 1923", "18th November, 1923",
        "November 18,1923", "november the 18th 1923",
    ],
)  # fmt: skip
def test_spellings_of_a_date(text: str) -> None:
    assert keys(text) == ["@1923-11-18"]
    (token,) = tokens(f"Born {text}.")[1:]
    assert (token.start, token.end) == (5, 5 + len(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3/4/1999", ["#3", "#4", "#1999"]),  # two dates: not guessed
        ("1999-13-45", ["#1999", "#13", "#45"]),
        ("0-7653-0633-6", ["#0", "#7653", "#0633", "#6"]),  # leading zeros are part of a name
        ("17R/35L", ["#17", "r", "#35", "l"]),
        ("one of two", ["one", "of", "#2"]),
        ("A.S. Roma's", ["a", "s", "roma", "s"]),
        ("4.8g", ["#4.8", "g"]),
        ("1 0", ["#1", "#0"]),
        ("¿?!", []),
    ],
)
def test_what_stays_apart(text: str, expected: list[str]) -> None:
    assert keys(text) == expected


@UNTIMED
@given(st.integers(0, 10**30), st.integers(0, 999))
def test_the_key_of_a_number_is_its_value(whole: int, thousandths: int) -> None:
    for text in (f"{whole}.{thousandths:03}", f"{whole:,}.{thousandths:03}"):
        (key,) = keys(text)
        assert Decimal(key[1:]) == Decimal(f"{whole}.{thousandths:03}")


@UNTIMED
@given(st.text(max_size=80))
def test_tokens_are_in_order_and_within_the_text(text: str) -> None:
    end = 0
    for token in tokens(text):
        assert end <= token.start < token.end <= len(text)
        assert token.key
        end = token.end
