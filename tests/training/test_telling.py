"""Facts as a text: what stands for a name that was said, and what denies a wording."""

from __future__ import annotations

import random
import re

import pytest

from training.general.wording import denial, fill, told


def test_a_pronoun_or_a_second_clause_stands_for_the_name_that_the_sentence_before_begins_with() -> None:
    facts = [
        ("Ada", "{s} was born in {o}.", "Turku"),
        ("Ada", "{s} has {o} sons.", "3"),
        ("Ada", "The home of {s} is {o}.", "Lund"),
        ("Bo", "{s}'s home is {o}.", "Oslo"),
        ("Bo", "{s} has {o} sons.", "2"),
        ("Ada", "{o} raised {s}.", "Eva"),
        ("Ada", "{s} sold {o}.", "tea"),
    ]
    wanted = r"Ada was born in Turku(\. (It|He|She)| and) has 3 sons\. (Its|His|Her) home is Lund\. "
    wanted += r"Bo's home is Oslo\. (It|He|She) has 2 sons\. Eva raised Ada\. Ada sold tea\."
    texts = [told(facts, random.Random(n)) for n in range(60)]
    names = " ".join(fill(wording, name, value) for name, wording, value in facts)
    with_names = {names, names.replace("Turku. Ada", "Turku and")}
    assert all(re.fullmatch(wanted, text) or text in with_names for text in texts)
    assert 30 < sum(text not in with_names for text in texts) < 60
    assert 10 < sum("Turku and" in text for text in texts) < 40


def test_of_three_clauses_of_one_subject_two_are_joined() -> None:
    facts = [("Ada", wording, "tea") for wording in ("{s} likes {o}.", "{s} sells {o}.", "{s} drinks {o}.")]
    texts = {re.sub("He|She|It", "Ada", told(facts, random.Random(n))) for n in range(40)}
    assert texts == {"Ada likes tea. Ada sells tea. Ada drinks tea.", "Ada likes tea and sells tea. Ada drinks tea."}


@pytest.mark.parametrize(
    ("wording", "opposite"),
    [
        ("{s} is a {o}.", "{s} is not a {o}."),
        ("The home of {s} was {o}.", "The home of {s} was not {o}."),
        ("{s}'s home is {o}.", "{s}'s home is not {o}."),
        ("{s} has a mass of {o}.", "{s} does not have a mass of {o}."),
        ("{s} had {o} sons.", "{s} did not have {o} sons."),
        ("{s} contains {o}.", "{s} does not contain {o}."),
        ("{s} makes {o}.", "{s} does not make {o}."),
        ("{s} has been in {o}.", None),
        ("{s} founded {o}.", None),
        ("{s} is not a {o}.", None),
        ("{s} is {o} and nothing else.", None),
    ],
)
def test_the_opposite_of_a_wording(wording: str, opposite: str | None) -> None:
    assert denial(wording) == opposite
