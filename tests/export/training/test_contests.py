"""True pairs are true and false pairs false, by looking at text and facts again."""

from __future__ import annotations

import random

import pytest

from export.training.general import contests
from export.training.general.contests import Contest, differ, nudged, ordinal
from export.training.general.pairs import Maker
from export.training.general.rows import Corpus, Row
from scorer.metric.triples import Triple
from tests.export.training.examples import made


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return made()


def drawn(maker: Maker, corpus: Corpus, agree: bool, count: int = 200) -> list[tuple[Row, Contest]]:
    rng = random.Random(f"{maker.__name__}/{agree}")
    rows = corpus.rows["rnnlg"]
    found = []
    for _ in range(100 * count):
        row = rng.choice(rows)
        contest = maker(corpus, row, agree, rng)
        if contest is not None:
            found.append((row, contest))
        if len(found) == count:
            return found
    raise AssertionError(f"{maker.__name__} gave {len(found)} contests")


def said(contest: Contest) -> bool:
    """Whether the text of a lamp has colour, weight and length of the facts in their places, and the name."""
    values = {t.predicate: t.object for t in contest.row.triples}
    name = contest.row.triples[0].subject
    return contest.row.text.startswith(
        f"{name} is {values['color']}, weighs {values['weight']}, is {values['length']} long"
    )


@pytest.mark.parametrize("maker", [contests.value, contests.roles, contests.subject])
@pytest.mark.parametrize("agree", [True, False])
def test_text_and_facts_agree_as_asked(maker: Maker, corpus: Corpus, agree: bool) -> None:
    found = drawn(maker, corpus, agree)
    assert all(said(contest) == agree for _, contest in found)
    assert all(contest.fact in contest.row.triples for _, contest in found)
    # Text and facts of a true row are altered too: an altered one is no sign of a false pair.
    altered = [contest.row.text != row.text for row, contest in found]
    assert 0.2 < sum(altered) / len(altered) < 0.9


@pytest.mark.parametrize("agree", [True, False])
def test_yes_and_no_are_as_frequent_in_both(corpus: Corpus, agree: bool) -> None:
    found = drawn(contests.unspoken, corpus, agree, 400)
    for row, contest in found:
        assert (contest.fact in row.triples) == agree
    share = sum(contest.fact.object == "true" for _, contest in found) / len(found)
    assert 0.4 < share < 0.6


def test_a_foreign_fact_is_not_in_the_text(corpus: Corpus) -> None:
    rng = random.Random(0)
    for lamp in corpus.rows["rnnlg"]:
        short = Row(lamp.triples[:1], lamp.text.split(",")[0] + ".", lamp.source, lamp.domain)
        contest = contests.foreign(corpus, short, False, rng)
        if contest is not None:
            assert contest.extra
            assert contest.fact.predicate != "color"
            assert contest.fact.object not in short.text
            assert contest.fact.subject == short.triples[0].subject


def test_a_dropped_fact_is_gone_and_the_text_still_says_it(corpus: Corpus) -> None:
    for row, contest in drawn(contests.dropped, corpus, False):
        assert contest.fact not in contest.row.triples
        assert len(contest.row.triples) == len(row.triples) - 1
        assert contest.row.text == row.text


@pytest.mark.parametrize(
    ("n", "written"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (21, "21st"), (112, "112th")]
)
def test_ordinals(n: int, written: str) -> None:
    assert ordinal(n) == written


def test_a_nudged_number_is_another_number() -> None:
    rng = random.Random(0)
    for value in ("March 9th", "8:30 pm", "$5,118.77", "2014", "1"):
        for _ in range(50):
            changed = nudged(value, rng)
            assert changed != value
            assert "-" not in changed
    assert nudged("red", rng) == "red"


@pytest.mark.parametrize(
    ("a", "b", "excluded"),
    [("red", "blue", True), ("cheap", "budget", False), ("PC", "PlayStation, PC", False), ("8", "18", False),
     ("sport, racing", "racing, sport", False), ("Oslo", "oslo", False)],
)  # fmt: skip
def test_values_that_exclude_each_other(a: str, b: str, excluded: bool) -> None:
    assert differ(a, b) == excluded


MAYOR = Triple("Oslo", "leader", "Ann Berg")
OTHERS = (Triple("Lund", "twin town", "Turku"), Triple("Narvik", "population", "18,000"))
CITIES = Row(
    (MAYOR, *OTHERS), "Oslo is led by Ann Berg. Lund is twinned with Turku. Narvik has 18,000 people.", "x", ""
)


@pytest.mark.parametrize("agree", [True, False])
def test_ends_change_places_where_the_relation_has_a_direction(corpus: Corpus, agree: bool) -> None:
    rng, seen = random.Random(0), set()
    for _ in range(100):
        contest = contests.ends(corpus, CITIES, agree, rng)
        assert contest is not None
        fact, text = contest.fact, contest.row.text
        assert contest.row.triples == (fact, *OTHERS), "a relation that holds both ways, or a number, changed places"
        assert (f"{fact.subject} is led by {fact.object}." in text) == agree
        assert text.endswith("Lund is twinned with Turku. Narvik has 18,000 people.")
        seen.add((text, fact))
    assert len(seen) == 2, "each of both readings, in the text and in the facts"


@pytest.mark.parametrize(
    ("triples", "text"),
    [
        ((MAYOR, Triple("Ann Berg", "party", "Greens")), "Oslo is led by Ann Berg of the Greens."),
        ((MAYOR,), "Oslo is led by Ann."),
        ((Triple("lamp", "color", "red"),), "The lamp is red."),
        ((Triple("Anna Berg", "sibling", "Karl Holm"),), "Anna Berg is a sister of Karl Holm."),
    ],
)
def test_what_has_no_two_ends_stays(corpus: Corpus, triples: tuple[Triple, ...], text: str) -> None:
    assert contests.ends(corpus, Row(triples, text, "x", ""), False, random.Random(0)) is None
