"""Tables of a text and a fact, and what of the text the fact does not have."""

from __future__ import annotations

import pytest

from scorer.metric.numbers.support import of_fact, unsupported
from scorer.metric.triples import Triple

SAME = [
    ("It has 12,450 seats.", "12450"),
    ("It has 12450 seats.", "12,450"),
    ("It has 12\xa0450 seats.", "12450"),
    ("It has 1.234.567 visitors.", "1234567"),
    ("It cost 12,5 euros.", "12.5"),
    ("He was born on March 7, 1954.", "1954-03-07"),
    ("He was born on 7 March 1954.", "1954-03-07"),
    ("He was born on the 7th of March, 1954.", "1954-03-07"),
    ("He was born on Mar. 7th 1954.", "1954-03-07T00:00:00"),
    ("He was born on 3/7/1954.", "1954-03-07"),
    ("He was born on 07.03.1954.", "1954-03-07"),
    ("He was born in March 1954.", "1954-03-07"),
    ("He was born in 1954.", "March 7, 1954"),
    ("He was born in nineteen fifty-four.", "1954"),
    ("It was announced in October 2020.", "2020, October 28"),
    ("It was highest on April 28, 2020.", "value.2020-04-28"),
    ("It grew from 1950 on.", "value.1950"),
    ("It opens at 2:30 pm.", "14:30"),
    ("It opens at 2 p.m.", "2024-01-04 14:00:00"),
    ("A 512-gigabyte disk.", "512 GB"),
    ("A 512GB disk.", "512 gigabytes"),
    ("It has twelve rooms.", "12"),
    ("It has 12 rooms.", "twelve"),
    ("It has two hundred and six rooms.", "206"),
    ("It has twenty-five rooms.", "25"),
    ("It weighs 11 lb.", "5 kg"),
    ("It weighs 11.02 pounds.", "5 kg"),
    ("It is 20 mm long.", "2 cm"),
    ("It is 2.5 km long.", "2500 m"),
    ("It is −5 °C.", "-5 °C"),
    ("It is minus five degrees.", "-5"),
    ("It is 5 degrees below zero.", "-5 °C"),
    ("It is 41 °F.", "5 °C"),
    ("It is 5 degrees.", "5 °C"),
    ("It has 1.2 million inhabitants.", "1,234,567"),
    ("It costs $3k.", "3000"),
    ("They won 3-2.", "3 - 2"),
    ("The F-16 and the A320 fly.", "nothing"),
    ("One of the best.", "nothing"),
    ("In the 1990s.", "nothing"),
    ("It runs version 5.1.2.", "nothing"),
    ("Half of 50 %.", "50 percent"),
    ("It is 24 inches wide.", "24 (inches)"),
    ("It was built in 1950 in Paris.", "1950"),
]
OTHER = [
    ("It has 12,451 seats.", "12450", ["12,451"]),
    ("It is 5 °C.", "-5 °C", ["5 °C"]),
    ("It is -5 °C.", "5 °C", ["-5 °C"]),
    ("It is 20 cm long.", "20 mm", ["20 cm"]),
    ("It is 2 cm long.", "18 mm", ["2 cm"]),
    ("It weighs 75 lb.", "75 kg", ["75 lb"]),
    ("It weighs 12 lb.", "5 kg", ["12 lb"]),
    ("It costs $5.", "€5", ["$5"]),
    ("He was born on March 8, 1954.", "1954-03-07", ["March 8, 1954"]),
    ("He was born on March 7, 1955.", "1954-03-07", ["March 7, 1955"]),
    ("He was born on March 7.", "1954", ["March 7"]),
    ("It opens at 2:30 am.", "14:30", ["2:30 am"]),
    ("It has twelve rooms and 13 doors.", "12", ["13"]),
    ("It has 13 rooms, 13 doors and 14 roofs.", "12", ["13", "14"]),
    ("It has 1.3 million inhabitants.", "1,234,567", ["1.3 million"]),
    ("A 256-gigabyte disk.", "512 GB", ["256-gigabyte"]),
    ("He has seven children.", "1954-03-07", ["seven"]),
    ("It is 50 %.", "50 kg", ["50 %"]),
]


@pytest.mark.parametrize(("text", "value"), SAME)
def test_a_number_in_another_form_is_the_same(text: str, value: str) -> None:
    assert unsupported(text, of_fact(Triple("X", "value", value))) == []
    assert unsupported(text, of_fact(Triple("", f"The value is {value}.", ""))) == []


@pytest.mark.parametrize(("text", "value", "expected"), OTHER)
def test_another_number_date_or_unit_is_named_as_written(text: str, value: str, expected: list[str]) -> None:
    assert unsupported(text, of_fact(Triple("X", "value", value))) == expected


def test_the_unit_at_the_end_of_a_predicate_is_that_of_its_number() -> None:
    fact = of_fact(Triple("bolt", "length_mm", "20"))
    assert unsupported("The bolt is 2 cm long.", fact) == [] and unsupported("It is 20 cm long.", fact) == ["20 cm"]
    assert unsupported("It is 20 cm long.", of_fact(Triple("bolt", "length", "20"))) == []


@pytest.mark.parametrize("text", ["9" * 100_000, "1." * 50_000, "twenty " * 20_000, "1,234" * 20_000, "-" * 100_000])
def test_hostile_texts_are_read(text: str) -> None:
    assert isinstance(unsupported(text, []), list)
