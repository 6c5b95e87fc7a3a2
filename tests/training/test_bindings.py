"""Pairs about who has what: labels by a second reading of the texts, and neither side alone tells the label."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest

from scorer.metric.facts import Triple
from tests.training.examples import check_untold, made
from training.general.bindings import NARROWER, Bindings
from training.general.relations import KINDS, RELATIONS, directed, leads, worded
from training.general.rows import Row, corpus
from training.general.wording import denial

SENTENCES = (
    "Anna Moss moved from Turku to Narvik after the war.",
    "In 1987, Karl Lund sold the mill to Vera Holt for 900 crowns.",
    "The national museum lent the musical clock to the Royal Society of Aarhus.",
)
Named = Callable[[bool, random.Random], tuple[str, str] | None]


@pytest.fixture(scope="module")
def bindings() -> Bindings:
    return Bindings(made(), SENTENCES)


@pytest.mark.parametrize(
    "name", ["crossed", "exchanged", "reference", "rearranged", "detailed", "sequenced", "confused"]
)
def test_neither_side_tells_the_label(bindings: Bindings, name: str) -> None:
    (kind,) = [one for one in bindings.kinds if one.__name__ == name]
    found = bindings.pairs(3000, random.Random(1), kind)
    check_untold(found)


def test_relations_are_worded_with_either_of_the_two_first_and_as_often_turned_as_not() -> None:
    rng = random.Random(7)
    drawn = [directed(rng) for _ in range(2000)]
    assert all(kind in KINDS and {leads(one) for one in wordings} == {True, False} for kind, wordings in drawn)
    pairs = [worded(wordings, rng) for _, wordings in drawn]
    assert 900 < sum(leads(first) == leads(second) for first, second in pairs) < 1100
    assert sum(first == second for first, second in pairs) < 300


def _sentences(text: str) -> list[str]:
    """The sentences of a text without their full stops; one with two clauses as two that begin with its subject."""
    found = []
    for sentence in text.removesuffix(".").split(". "):
        first, *more = sentence.split(" and ")
        subject = re.match(r"(\S+(?: [A-Z]\S*)*?) (?=[a-z])", first)
        found += [first, *(f"{subject[1]} {clause}" for clause in more if subject)]
    return found


def _named(sentence: str, topic: str) -> str:
    """The sentence with the name of what it is about in the place of a pronoun."""
    sentence = re.sub(r"^(?:Its|His|Her) (.+?) is ", rf"The \1 of {topic} is ", sentence)
    return re.sub(r"^(?:It|He|She) ", f"{topic} ", sentence)


MILL = {
    "founder": "{s} was founded by {o}.", "heir": "{s} was left to {o}.", "judge": "{s} took {o} to court.",
    "guard": "{s} is watched by {o}.", "tenant": "{s} has {o} for a tenant.",
}  # fmt: skip


def _mills(text: str) -> set[tuple[str, ...]]:
    """The facts of a text: whether denied, relation, mill, person."""
    found: list[tuple[str, ...]] = []
    for sentence in _sentences(text):
        whole = _named(sentence, found[-1][2] if found else "")
        for relation, wording in MILL.items():
            data = f"The {relation} of {{s}} is {{o}}."
            for known in (wording, data, denial(wording), denial(data)):
                pattern = (known or "").removesuffix(".").replace("{s}", "(.+)").replace("{o}", "((?!not ).+)")
                match = re.fullmatch(pattern, whole)
                found += [(f"{' not ' in whole}", relation, *match.groups())] if match else []
    return set(found)


@pytest.mark.parametrize("name", ["related", "listed"])
def test_of_relations_the_second_side_says_what_the_first_does_and_neither_side_tells(name: str) -> None:
    rng = random.Random(4)
    people = ("Ada Lind", "Bo Ek", "Eva Moe", "Ida Dahl", "Per Holm", "Kari Lie", "Tor Vik", "Siv Berg", "Jon Aas")
    found = [(f"Mill-{n}", rng.choice(list(MILL)), rng.choice(people)) for n in range(200)]
    mills = [Row((Triple(*f),), MILL[f[1]].format(s=f[0], o=f[2]), "rel2text", "mills") for f in found]
    bindings = Bindings(corpus(mills), ())
    (kind,) = [one for one in bindings.kinds if one.__name__ == name]
    pairs = bindings.pairs(2000, rng, kind)
    check_untold(pairs)
    for premise, hypothesis, entailed in pairs:
        assert _mills(hypothesis)
        assert (_mills(hypothesis) <= _mills(premise)) == entailed


def test_a_narrower_description_needs_its_ground_and_neither_side_tells() -> None:
    rng = random.Random(5)
    houses = [(f"House {n}", "use", rng.choice(("mill", "post office", "school"))) for n in range(99)]
    rows = [Row((Triple(*f),), f"{f[0]} serves as a {f[2]}.", "rel2text", "houses") for f in houses]
    bindings = Bindings(corpus(rows), ())
    pairs = bindings.pairs(2000, rng, bindings.narrowed)
    check_untold(pairs)
    for premise, hypothesis, entailed in pairs:
        one, other = ({word for word in NARROWER if f" {word} " in side} for side in (premise, hypothesis))
        said, asked = (re.search(r"mill|post office|school", side) for side in (premise, hypothesis))
        assert said and asked
        assert (other <= one and said[0] == asked[0]) == entailed


def _related(sentence: str) -> set[tuple[int, int, str, str]]:
    """Family, relation, and both names of every reading of a sentence."""
    found = set()
    for family, relations in enumerate(RELATIONS):
        for relation, wording in ((n, wording) for n, wordings in enumerate(relations) for wording in wordings):
            pattern = re.escape(wording).replace(r"\{s\}", "(?P<s>.+)").replace(r"\{o\}", "(?P<o>.+)")
            if match := re.fullmatch(pattern, sentence):
                found.add((family, relation, match["s"].lower(), match["o"].lower()))
    return found


def test_a_relation_is_the_same_in_other_words_or_one_of_its_family() -> None:
    facts = [Triple(f"House {n}", "use", "mill") for n in range(9)]
    houses = [Row((fact,), f"{fact.subject} serves as a mill.", "rel2text", "houses") for fact in facts]
    bindings = Bindings(corpus(houses), ())
    pairs = bindings.pairs(3000, random.Random(7), bindings.confused)
    alone = [pair for pair in pairs if "mill" not in pair[0] + pair[1]]
    assert len(alone) > 300
    for premise, hypothesis, entailed in alone:
        one, other = _related(premise), _related(hypothesis)
        assert one and other
        assert bool(one & other) == entailed


def test_a_fact_holds_or_is_denied_and_neither_side_tells(bindings: Bindings) -> None:
    pairs = bindings.pairs(2000, random.Random(6), bindings.denied)
    check_untold(pairs)
    for premise, hypothesis, entailed in pairs:
        assert ((" not " in premise) == (" not " in hypothesis)) == entailed


def test_a_denial_of_another_fact_does_not_tell_whether_a_pair_is_true(bindings: Bindings) -> None:
    pairs = bindings.pairs(2000, random.Random(9), bindings.detailed)
    one_sided = [
        entailed for premise, hypothesis, entailed in pairs if " not " in premise and " not " not in hypothesis
    ]
    assert len(one_sided) > 100
    assert 0.4 < sum(one_sided) / len(one_sided) < 0.6


@pytest.mark.parametrize("sentences", [SENTENCES, ()])
def test_every_kind_is_true_as_often_as_false(sentences: tuple[str, ...]) -> None:
    found = Bindings(made(), sentences).pairs(600, random.Random(0))
    assert len(found) == 600 and sum(entailed for *_, entailed in found) == 300


_TOWN = re.compile(r"(?:(?:The p|P)opulation of (.+?) is (.+?)|(.+?) has (.+?) inhabitants)\.(?: |$)", re.IGNORECASE)


def _inhabitants(text: str) -> set[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for sentence in re.split(r"(?<=\.) ", text):
        whole = _named(sentence, found[-1][0] if found else "")
        found += [tuple(part.lower() for part in parts if part) for parts in _TOWN.findall(whole)]
    return set(found)


def test_crossed_sides_agree_when_their_facts_do(bindings: Bindings) -> None:
    rng = random.Random(2)
    for agree in (True, False) * 200:
        one, other = (_inhabitants(side) for side in bindings.crossed(agree, rng))
        assert one and other
        assert (one <= other or other <= one) == agree


def test_a_rearranged_sentence_has_its_names_in_their_places_exactly_when_they_agree(bindings: Bindings) -> None:
    rng = random.Random(3)
    for agree in (True, False) * 200:
        found = bindings.rearranged(agree, rng)
        if found is not None:
            one, other = (_words(side) for side in found)
            assert sorted(one) == sorted(other)
            assert (one == other) == agree


def _words(sentence: str) -> list[str]:
    """In lower case; a year at the end comes first."""
    found = re.fullmatch(r"(.*) (in \d+)\.?", sentence)
    return re.findall(r"\w+", (f"{found[2]} {found[1]}" if found else sentence).lower())
