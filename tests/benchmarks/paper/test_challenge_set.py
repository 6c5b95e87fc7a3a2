"""The challenge set: every change is what its kind says, checked from the texts alone."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.paper.challenge.build import build_cases, write
from benchmarks.paper.challenge.kinds import KINDS, EditedText, templates
from benchmarks.paper.challenge.texts import MONTHS
from scorer.evaluation.challenge_set import CHALLENGE, TEMPLATES, read_challenge
from scorer.metric.fact_templates import Templates

PER_KIND = 40
CASES = build_cases(PER_KIND)
KEPT = {"paraphrase", "other order", "pronoun", "formatting", "repetition"}


def of(kind: str) -> list[EditedText]:
    return [one.pair for one in CASES if one.kind.name == kind]


def changed_words(one: EditedText) -> tuple[list[str], list[str]]:
    """Words that only the base text has, and words that only the edited one has."""
    base, edited = (Counter(re.findall(r"[\w',.-]*\w", text)) for text in (one.base, one.edited))
    return list((base - edited).elements()), list((edited - base).elements())


def test_the_files_of_the_package_are_those_that_the_generator_makes(tmp_path: Path) -> None:
    write(tmp_path)
    assert pq.read_table(tmp_path / CHALLENGE.name).equals(read_challenge(), check_metadata=True)
    assert (tmp_path / TEMPLATES.name).read_bytes() == TEMPLATES.read_bytes()


def test_every_kind_has_its_cases_whose_facts_have_templates_and_are_in_the_base_text() -> None:
    assert Counter(one.kind.name for one in CASES) == dict.fromkeys([kind.name for kind in KINDS], PER_KIND)
    assert len(KINDS) == 26
    assert len({(one.kind.name, one.pair.edited) for one in CASES}) == len(CASES)
    found = Templates.from_dict(templates())
    for one in (case.pair for case in CASES):
        for triple in one.triples:
            fact = found.fill(triple)
            assert not fact.backoff, triple
            assert triple.object.split()[0].lower() in fact.text.lower()
            assert triple.object in one.base, one
        assert not re.search(r"\ba [aeiou]", one.base + one.edited), one
        assert one.base[0].isupper() and one.base.endswith(".") and one.base != one.edited


@pytest.mark.parametrize(
    "kind", ["omission", "wrong value", "number by one", "unit", "date", "negation", "hypernym", "hyponym"]
)
def test_the_changed_fact_is_named(kind: str) -> None:
    for one in of(kind):
        assert one.fact is not None
        value = one.triples[one.fact].object
        kept = one.edited.count(value)
        # A denied fact keeps its value, and a narrower word may hold the wider one; other changes take it away.
        assert kept == one.base.count(value) if kind in ("negation", "hyponym") else kept < one.base.count(value), one


def test_numbers_are_one_off_and_units_and_dates_another() -> None:
    for one in of("number by one"):
        (before,), (after,) = changed_words(one)
        assert abs(int(before.replace(",", "")) - int(after.replace(",", ""))) == 1
    for one in of("unit"):
        assert not any(word[0].isdigit() for words in changed_words(one) for word in words)
    for one in of("date"):
        (before,), (after,) = changed_words(one)
        assert (before in MONTHS) == (after in MONTHS)
        assert before in MONTHS or {abs(int(before) - int(after))} <= {1, 27}


def test_right_changes_keep_all_that_is_said() -> None:
    assert {kind.name for kind in KINDS if kind.expected == "OK"} == KEPT | {"number words", "date format"}
    for one in (pair for kind in KEPT for pair in of(kind)):
        assert all(triple.object.lower() in one.edited.lower() for triple in one.triples)
    for one in of("other order"):
        assert set(re.findall(r"\w+", one.base)) == set(re.findall(r"\w+", one.edited))
    assert all(re.search(r"\. (It|She|He) ", one.edited) for one in of("pronoun"))
