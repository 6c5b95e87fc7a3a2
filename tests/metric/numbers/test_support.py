"""Tables of a text and a fact, and what of the text the fact does not have."""

from __future__ import annotations

import pytest

from scorer.metric.numbers import support
from scorer.metric.numbers.dates import _places
from scorer.metric.numbers.support import known_of, of_fact, unsupported
from scorer.metric.triples import Triple


def left(text: str, *triples: Triple) -> list[str]:
    return unsupported(text, known_of(triples, [one for triple in triples for one in of_fact(triple)]))


SAME = [
    ("It has 12450 seats.", "12,450"),
    ("It has 12\xa0450 seats.", "12450"),
    ("It has 1.234.567 visitors.", "1234567"),
    ("It cost 12,5 euros.", "12.5"),
    ("He was born on March 7, 1954.", "1954-03-07"),
    ("He was born on the 7th of March, 1954.", "1954-03-07"),
    ("He was born on Mar. 7th 1954.", "1954-03-07T00:00:00"),
    ("He was born on 3/7/1954.", "1954-03-07"),
    ("He was born on 07.03.1954.", "1954-03-07"),
    ("He was born in March 1954.", "1954-03-07"),
    ("He was born in 1954.", "March 7, 1954"),
    ("He was born in nineteen fifty-four.", "1954"),
    ("It was announced in October 2020.", "2020, October 28"),
    ("It was highest on April 28, 2020.", "value.2020-04-28"),
    ("It opens at 2:30 pm.", "14:30"),
    ("It opens at 2 p.m.", "2024-01-04 14:00:00"),
    ("A 512-gigabyte disk.", "512 GB"),
    ("It has two hundred and six rooms.", "206"),
    ("It has twenty-five rooms.", "25"),
    ("It weighs 11.02 pounds.", "5 kg"),
    ("It is 20 mm long.", "2 cm"),
    ("It is −5 °C.", "-5 °C"),
    ("It is minus five degrees.", "-5"),
    ("It is 5 degrees below zero.", "-5 °C"),
    ("It is 41 °F.", "5 °C"),
    ("It has 1.2 million inhabitants.", "1,234,567"),
    ("It costs $3k.", "3000"),
    ("It costs 5 US dollars.", "$5"),
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
    ("It is 5 °C.", "-5 °C", ["5 °C"]),
    ("It is 2 cm long.", "18 mm", ["2 cm"]),
    ("It costs 5 US dollars.", "€5", ["5 US dollars"]),
    ("He was born on March 8, 1954.", "1954-03-07", ["March 8, 1954"]),
    ("He was born on March 7.", "1954", ["March 7"]),
    ("It opens at 2:30 am.", "14:30", ["2:30 am"]),
    ("It has 13 rooms, 13 doors and 14 roofs.", "12", ["13", "14"]),
    ("It has 1.3 million inhabitants.", "1,234,567", ["1.3 million"]),
    ("He has seven children.", "1954-03-07", ["seven"]),
    ("It is 50 %.", "50 kg", ["50 %"]),
]


@pytest.mark.parametrize(("text", "value"), SAME)
def test_a_number_in_another_form_is_the_same(text: str, value: str) -> None:
    assert left(text, Triple("X", "value", value)) == []
    assert left(text, Triple("", f"The value is {value}.", "")) == []


@pytest.mark.parametrize(("text", "value", "expected"), OTHER)
def test_another_number_date_or_unit_is_named_as_written(text: str, value: str, expected: list[str]) -> None:
    assert left(text, Triple("X", "value", value)) == expected


def test_the_unit_at_the_end_of_a_predicate_is_that_of_its_number() -> None:
    fact = Triple("bolt", "length_mm", "20")
    assert left("The bolt is 2 cm long.", fact) == [] and left("It is 20 cm long.", fact) == ["20 cm"]
    assert left("It is 20 cm long.", Triple("bolt", "length", "20")) == []
    assert left("It is 20 °C.", Triple("day", "temp_min", "20")) == [], "the least, and not minutes"


ROUNDED = [
    ("a rate of 0.38", "0.3817", True),
    ("1,240 people", "1,239.6", True),
    ("80 people", "79.59", False),
    ("about 1,200 people", "1,173", True),
    ("about 1,300 people", "1,173", False),
    ("around 5 °C", "5.2 °C", True),
    ("around 10 °C", "7.2 °C", False),
    ("0.381700", "0.3817", True),
    ("0.38174", "0.3817", False),
]


@pytest.mark.parametrize(("said", "value", "same"), ROUNDED)
def test_a_rounding_has_fewer_digits_than_the_fact(said: str, value: str, same: bool) -> None:
    assert (left(f"It has {said}.", Triple("X", "value", value)) == []) == same


def test_what_follows_from_several_facts_is_supported() -> None:
    goals = [Triple("match", "goal", f"minute {minute} by {name}") for minute, name in ((7, "A"), (31, "B"), (88, "C"))]
    assert left("There were three goals, the 2nd by B.", *goals) == []
    assert left("There were four goals, the 5th by B.", *goals) == ["four", "5th"]
    life = [Triple("Ada", "born", "1815-12-10"), Triple("Ada", "died", "1852-11-27")]
    assert left("She lived for 36 years, and died at 36 on the 27th.", *life) == []
    assert left("She lived for 37 years and died on the 28th.", *life) == ["37 years", "28th"]
    days = [Triple("Rome", f"forecast 2024-01-{day:02}", "5.5") for day in range(3, 9)]
    assert left("Over the next five days, or 6 days.", *days) == [] and left("In seven days.", *days) == ["seven days"]
    assert left("There are three facts.", *(Triple("", f"Fact {name}.", "") for name in "abc")) == ["three"]
    halves = [Triple("match", "first half", "3 goals"), Triple("match", "second half", "2 goals")]
    assert left("They scored 3 and 2, 5 in all, 1 more at first.", *halves) == []
    assert left("They scored 6 in all.", *halves) == ["6"]
    assert left("It is 5 kg.", Triple("x", "box", "3 kg"), Triple("x", "lid", "2 lb")) == ["5 kg"]
    assert left("It was 31 days.", Triple("x", "from", "2024-02-30"), Triple("x", "to", "2024-03-31")) == ["31 days"]


def test_a_number_is_compared_with_those_alone_that_it_may_be() -> None:
    facts = [Triple("x", "value", f"{i}.25 kg") for i in range(2_000)]
    facts += [Triple("x", "on", f"{1500 + i % 500}-03-{i % 28 + 1:02}") for i in range(1_000)]
    known = known_of(facts, [one for fact in facts for one in of_fact(fact)])
    said = " ".join(f"{i}.25 kg, {i}.75 kg, {i} cm;" for i in range(1_000, 1_200))
    assert len(unsupported(f"{said} 2 May 1700, 11:30.", known)) == 402
    assert known.near.compared < 1_000


def test_what_is_written_alike_is_looked_up_once_and_dates_only_where_one_may_be() -> None:
    fact = Triple("x", "value", "12.25 kg")
    known = known_of([fact], of_fact(fact))
    assert unsupported("It is 12 kg, about 12 kg, 13 kg or 12.25 kg. " * 1_000, known) == ["13 kg"]
    assert known.near.compared < 20
    text = "It is 12.5 kg, 1,234 m and 1/2. " * 1_000
    assert list(_places(text)) == []
    assert sum(end - start for start, end in _places(f"{text} 2 June 2020, {text} 2020-05-01, {text}")) < 200


@pytest.mark.parametrize("size", [30, 40])
def test_a_long_text_is_read_in_pieces(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"It weighs {i} kg. It cost $ {i} on 3 May 20{i}." for i in range(10, 40))
    whole = left(text, Triple("x", "weight", "12 kg"))
    monkeypatch.setattr(support, "_PIECE", size)
    assert left(text, Triple("x", "weight", "12 kg")) == whole
    assert left("9" * (size + 6)) == ["9" * size, "9" * 6]  # nowhere to divide it


@pytest.mark.parametrize(
    "text",
    [
        "9" * 100_000,
        "1." * 50_000,
        "twenty " * 20_000,
        "1,234" * 20_000,
        "-" * 100_000,
        "2 auguſt, 3 inchesſ, 4 mıllion",
    ],
)
def test_hostile_texts_are_read(text: str) -> None:
    assert isinstance(left(text), list)
