from __future__ import annotations

import random

import pytest

from scorer.metric.facts import Triple
from scorer.metric.selection import MOST_SUBJECTS, FactIndex, FactTerms, terms_of, terms_of_fact

SAID = {
    "PTS": "{} scored {} points.",
    "REB": "{} grabbed {} rebounds.",
    "AST": "{} had {} assists.",
    "TEAM_CITY": "{} plays for {}.",
    "FIRST_NAME": "The first name of {} is {}.",
}
ROW = [
    Triple("LeBron James", "FIRST_NAME", "LeBron"),
    Triple("LeBron James", "TEAM_CITY", "Cleveland"),
    Triple("LeBron James", "AST", "7"),
    Triple("LeBron James", "PTS", "27"),
    Triple("Kyrie Irving", "PTS", "19"),
    Triple("Kyrie Irving", "REB", "7"),
    Triple("James Jones", "PTS", "3"),
    Triple("James Jones", "AST", "27"),
    Triple("Cleveland Cavaliers", "PTS", "113"),
]


def facts(row: list[Triple]) -> list[FactTerms]:
    return [terms_of_fact(triple, SAID[triple.predicate].format(triple.subject, triple.object)) for triple in row]


def chosen(*sentences: str, row: list[Triple] | None = None) -> list[list[int]]:
    """The facts chosen for each sentence of a text."""
    index = FactIndex(facts(row or ROW), 512)
    subjects: dict[int, float] = {}
    found = []
    for sentence in sentences:
        terms = terms_of(sentence)
        subjects = index.subjects(terms) or subjects
        found.append(index.choose(terms, subjects))
    return found


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        # LeBron's 27 points, what else is known of him, and the other James who has 27 of something.
        ("LeBron James scored 27 points.", [3, 0, 1, 2, 7]),
        ("James had a good night.", [0, 1, 2, 3, 6, 7]),  # both are called so
        ("LeBron James and Jones had a good night.", [0, 1, 2, 3, 6, 7]),
        ("Cleveland Cavaliers beat them.", [8, 1]),
        # An object that is part of its subject does not count, or "LeBron" would be the most telling of all facts.
        ("LeBron had 27.", [3, 0, 1, 2, 7]),
        ("What a night!", []),
    ],
)
def test_facts_are_ranked_by_subject_and_object_then_subject_then_object(sentence: str, expected: list[int]) -> None:
    assert chosen(sentence) == [expected]


def test_a_sentence_without_a_subject_speaks_of_those_before_it() -> None:
    first, second, third = chosen("Kyrie Irving scored 19 points.", "He also grabbed 7 rebounds.", "What a night!")
    assert first[0] == 4
    assert second == [5, 4, 2]
    assert third == [4, 5]


def naive(row: list[Triple], sentence: str) -> set[int]:
    """Facts that share an entity or a number with a sentence, by looking at every one."""
    terms, every = terms_of(sentence), facts(row)
    said = [terms & fact.subject for fact in every]
    named = {words for words in said if words and not any(words < more for more in said)}
    return {i for i, fact in enumerate(every) if said[i] in named or terms & fact.object}


def test_agrees_with_looking_at_every_fact() -> None:
    draw = random.Random(3)
    names = [f"{a} {b}" for a in ("Ann", "Bob", "Cy") for b in ("Ash", "Birch", "Cedar", "Dogwood")]
    for _ in range(200):
        row = [
            Triple(draw.choice(names), draw.choice(["PTS", "REB", "AST"]), str(draw.randrange(12)))
            for _ in range(draw.randrange(1, 60))
        ]
        sentence = f"{draw.choice(names)} had {draw.randrange(14)} and {draw.randrange(14)} with {draw.choice(names)}."
        assert set(chosen(sentence, row=row)[0]) == naive(row, sentence)


def league(players: int, facts_each: int) -> list[Triple]:
    return [
        Triple(f"Player{'abcdefghij'[p % 10]} Number{chr(97 + p % 26)}{p}", "PTS", str(f))
        for p in range(players)
        for f in range(facts_each)
    ]


@pytest.mark.parametrize("row", [league(400, 25), league(1, 10_000), league(10_000, 1)], ids=["league", "one", "all"])
def test_ten_thousand_facts_are_not_looked_at_by_every_sentence(row: list[Triple]) -> None:
    """Counted, not timed: no list of the index is longer than what can fit the model, and few are chosen."""
    most = 100
    index = FactIndex(facts(row), most)
    for lists in (index._subjects, index._about, index._saying, index._both):
        assert max(map(len, lists.values())) <= most
    for fact in row[:: len(row) // 50]:
        terms = terms_of(f"{fact.subject} scored {fact.object} points and one more.")
        subjects = index.subjects(terms)
        assert len(subjects) <= MOST_SUBJECTS
        assert 0 < len(index.choose(terms, subjects)) <= 6 * most


def test_facts_that_are_sentences_are_ranked_by_shared_words() -> None:
    said = ["The Mill serves food.", "Blue Spice is near the river.", "The Mill is near the river.", "It has 5 stars."]
    index = FactIndex([terms_of_fact(Triple("", one, ""), one) for one in said], 512)
    sentence = terms_of("The Mill, near the river, has five stars.")
    assert index.subjects(sentence) == {}
    assert index.choose(sentence, {}) == [2, 1, 3, 0]


def test_rare_words_of_facts_without_a_subject_are_looked_for_first() -> None:
    said = ["Apples are sold here.", "Apples are red.", "Apples are green.", "Zebras are rare."]
    index = FactIndex([terms_of_fact(Triple("", one, ""), one) for one in said], 2)
    assert 3 in index.choose(terms_of("Apples and zebras."), {})


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("LeBron James scored 24 points.", {"lebron", "james", "scored", "points", "24"}),
        ("the 24-point, Alan_Bean's", {"point", "alan", "bean", "24"}),
        ("Škoda, Straße STRASSE", {"skoda", "strasse"}),
        ("It was one of the best.", {"best", "1"}),
        ("twenty-five, thirty two and forty, twenty zero", {"25", "32", "40", "20", "0"}),
        ("1,200 1200.0 01200, 1,20 and 12,3456", {"1200", "1", "20", "12", "3456"}),
        ("ﬁfteen ① 東京 is big", {"15", "1", "東京", "big"}),
        (f"0{'9' * 10_000}.00 points", {"9" * 10_000, "points"}),  # more digits than Python reads as an integer
        ("000", {"0"}),
    ],
)
def test_words_and_numbers(text: str, terms: set[str]) -> None:
    assert terms_of(text) == terms


def test_what_a_fact_is_about() -> None:
    fact = terms_of_fact(Triple("James Jones", "PTS", "12"), "James Jones scored 12 points in 2 halves.")
    assert fact == FactTerms(
        frozenset({"james", "jones"}), frozenset({"12"}), frozenset({"scored", "points", "halves"})
    )
    assert terms_of_fact(Triple("The Who", "genre", "rock"), "The Who play rock.").subject == {"the", "who"}
