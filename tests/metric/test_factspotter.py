"""FactSpotter's question: how a triple and a text are written, which checks are asked, and what a row comes to."""

from __future__ import annotations

import pytest

from scorer.errors import ColumnError
from scorer.metric import Options, factspotter
from scorer.metric.checks import build_checks
from scorer.metric.facts import Triple
from scorer.metric.objects import from_fact_pairs, from_pairs
from scorer.metric.templates import Templates, parse_optional
from tests.metric.reference import verdicts

SPOTTING = Options(protocol="factspotter")
NAN = float("nan")


@pytest.mark.parametrize(
    ("triple", "predicate", "subject", "value"),
    [
        (("Tomás_Rivera", "almaMater", '"Straße",_Bonn'), "alma mater", "tomas rivera", '"strasse", bonn'),
        (("X", "is_part_of", "Łódź?"), "is part of", "x", "lodz?"),
        (("X", "ISBN_number", "东京"), "isbn number", "x", "dong jing"),
    ],
)
def test_triples_in_the_words_of_the_classifier(
    triple: tuple[str, str, str], predicate: str, subject: str, value: str
) -> None:
    said = f"predicate: {predicate}, subject: {subject}, object: {value}"
    assert factspotter.describe(Triple(*triple)) == said


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Is Łódź  in\nPoland?! ", "is lodz in poland"),
        ("...No. 5 is “Ümit”.", 'no. 5 is "umit"'),
    ],
)
def test_texts_in_the_words_of_the_classifier(text: str, expected: str) -> None:
    assert factspotter.read(text) == expected


A, B = ("Blue_Spice", "eatType", "pub"), ("Blue Spice", "area", "riverside")


def test_blank_texts_and_rows_whose_facts_are_all_optional() -> None:
    options = Options(protocol="factspotter", optional=parse_optional(["eatType=pub"]))
    rows = from_pairs([([B], " "), ([A], "t"), ([A, B], "t")])
    blank, optional, both = verdicts(rows, [(NAN, NAN, 0.25)], options)
    assert (blank["fine"], blank["confidence"], blank["note"]) == ("omission", 0.0, "empty_text")
    assert (optional["fine"], optional["confidence"], optional["omitted"]) == ("OK", 1.0, [])
    assert (both["fine"], both["confidence"], both["omitted"]) == ("omission", 0.25, [1])


def test_facts_as_sentences_have_no_parts_to_ask_about() -> None:
    with pytest.raises(ColumnError, match="takes triples, and these facts are sentences"):
        build_checks(from_fact_pairs([(["Blue Spice is a pub."], "t")]), Templates(), SPOTTING)
