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
from scorer.evaluation.challenge import CHALLENGE, TEMPLATES, read_challenge
from scorer.metric.templates import Templates

PER_KIND = 40
CASES = build_cases(PER_KIND)
ONE_ENTITY = {"omission", "wrong value", "number by one", "unit", "date", "negation", "hypernym", "hyponym"}


def of(kind: str) -> list[EditedText]:
    return [one.pair for one in CASES if one.kind.name == kind]


def changed_words(one: EditedText) -> tuple[list[str], list[str]]:
    """Words that only the base text has, and words that only the edited one has."""
    base, edited = (Counter(re.findall(r"[\w',.-]*\w", text)) for text in (one.base, one.edited))
    return list((base - edited).elements()), list((edited - base).elements())


def test_every_kind_has_its_cases_and_the_seed_decides_them() -> None:
    names = [kind.name for kind in KINDS]
    assert Counter(one.kind.name for one in CASES) == dict.fromkeys(names, PER_KIND)
    assert len(names) == len(set(names)) == 26
    assert build_cases(3, seed=2) != build_cases(3) == [one for i, one in enumerate(CASES) if i % PER_KIND < 3]
    assert len({(one.kind.name, one.pair.edited) for one in CASES}) == len(CASES)
    assert all(one.pair.base != one.pair.edited for one in CASES)


def test_every_fact_has_a_template_and_its_value_is_in_the_base_text() -> None:
    found = Templates.from_dict(templates())
    for one in (case.pair for case in CASES):
        for triple in one.triples:
            fact = found.fill(triple)
            assert not fact.backoff, triple
            assert triple.object.split()[0].lower() in fact.text.lower()
            assert triple.object in one.base, one
        assert not re.search(r"\ba [aeiou]", one.base + one.edited), one
        assert one.base[0].isupper() and one.base.endswith(".")


def test_the_files_of_the_package_are_those_that_the_generator_makes(tmp_path: Path) -> None:
    write(tmp_path)
    assert pq.read_table(tmp_path / CHALLENGE.name).equals(read_challenge(), check_metadata=True)
    assert (tmp_path / TEMPLATES.name).read_bytes() == TEMPLATES.read_bytes()
    assert CHALLENGE.stat().st_size < 500_000


@pytest.mark.parametrize("kind", sorted(ONE_ENTITY))
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
        before, after = changed_words(one)
        assert not any(word[0].isdigit() for word in before + after)
    for one in of("date"):
        (before,), (after,) = changed_words(one)
        assert (before in MONTHS) == (after in MONTHS)
        assert before in MONTHS or {abs(int(before) - int(after))} <= {1, 27}


def test_right_changes_keep_all_that_is_said() -> None:
    kinds = {"paraphrase", "other order", "pronoun", "formatting", "repetition"}
    assert {kind.name for kind in KINDS if kind.expected == "OK"} == kinds | {"number words", "date format"}
    for kind in kinds:
        for one in of(kind):
            assert all(triple.object.lower() in one.edited.lower() for triple in one.triples)
    for one in of("other order"):
        assert sorted(re.findall(r"\w+", one.base)) != re.findall(r"\w+", one.base)
        assert set(re.findall(r"\w+", one.base)) == set(re.findall(r"\w+", one.edited))
    for one in of("pronoun"):
        assert re.search(r"\. (It|She|He) ", one.edited)
