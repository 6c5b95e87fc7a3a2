"""The pairs of a pool: balanced, repeatable, without a hint in either text alone; and that true pairs are true and
false pairs false, by looking at text and facts again."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from scorer.metric.facts import Triple
from tests.training.examples import guessed, made
from training.general import contests
from training.general.contests import Contest, in_words, quantity
from training.general.pairs import ENTAILMENT, Maker, joined, pairs
from training.general.rows import Corpus, Row, corpus, parts, read


def test_every_kind_is_half_true_and_the_seed_decides() -> None:
    found = pairs(made(), 1200, random.Random(1))
    kinds = Counter(pair.kind for pair in found)
    true = Counter(pair.kind for pair in found if pair.label == ENTAILMENT)
    assert len(found) == 1200
    assert len(kinds) >= 12
    assert all(true[kind] * 2 == count for kind, count in kinds.items())
    assert found == pairs(made(), 1200, random.Random(1))
    assert found != pairs(made(), 1200, random.Random(2))


def test_a_subject_that_begins_two_texts_in_a_row_becomes_a_pronoun() -> None:
    facts = (Triple("Oslo", "river", "Alna"), Triple("Bergen", "coast", "long"))
    texts = ("Oslo lies on the Alna.", "Bergen has a long coast.")
    rows = [Row((fact,), text, "rel2text", "towns") for fact, text in zip(facts, texts, strict=True)]
    assert joined(rows, True, "It").text == "Oslo lies on the Alna. It has a long coast."
    assert joined(rows, True).text == "Oslo lies on the Alna. Oslo has a long coast."
    assert joined(rows, True, "It").triples == (facts[0], facts[1]._replace(subject="Oslo"))
    assert joined(rows, False, "It").text == " ".join(texts)


@pytest.mark.slow
@pytest.mark.parametrize("held_out", [False, True])
def test_neither_text_alone_tells_the_label(shared_data: Path, held_out: bool) -> None:
    rows = parts(read(shared_data.parent / "nli" / "d2t_train.parquet"))[held_out]
    found = pairs(corpus(rows), 12000, random.Random(0))
    for direction in ("text_to_fact:", "facts_to_text:"):
        part = [pair for pair in found if pair.kind.startswith(direction)]
        for side in ("premise", "hypothesis"):
            texts = [(getattr(pair, side), pair.label == ENTAILMENT) for pair in part]
            assert guessed(texts) < 0.55, (direction, side)


@pytest.fixture(scope="module")
def pool() -> Corpus:
    return made()


def drawn(maker: Maker, pool: Corpus, agree: bool, count: int = 200) -> list[tuple[Row, Contest]]:
    rng = random.Random(f"{maker.__name__}/{agree}")
    rows = pool.rows["rnnlg"]
    found = []
    for _ in range(100 * count):
        row = rng.choice(rows)
        contest = maker(pool, row, agree, rng)
        if contest is not None:
            found.append((row, contest))
        if len(found) == count:
            return found
    raise AssertionError(f"{maker.__name__} gave {len(found)} contests")


def said(contest: Contest) -> bool:
    """Whether the text of a lamp has colour, weight and length of the facts in their places, and the name."""
    name, values = contest.row.triples[0].subject, {t.predicate: t.object for t in contest.row.triples}
    start = f"{name} is {values['color']}, weighs {values['weight']}, is {values['length']} long"
    return contest.row.text.startswith(start)


@pytest.mark.parametrize("maker", [contests.value, contests.roles, contests.subject])
@pytest.mark.parametrize("agree", [True, False])
def test_text_and_facts_agree_as_asked(maker: Maker, pool: Corpus, agree: bool) -> None:
    found = drawn(maker, pool, agree)
    assert all(said(contest) == agree for _, contest in found)
    assert all(contest.fact in contest.row.triples for _, contest in found)
    # Text and facts of a true row are altered too: an altered one is no sign of a false pair.
    altered = [contest.row.text != row.text for row, contest in found]
    assert 0.2 < sum(altered) / len(altered) < 0.9


@pytest.mark.parametrize("agree", [True, False])
def test_yes_and_no_are_as_frequent_in_both(pool: Corpus, agree: bool) -> None:
    found = drawn(contests.unspoken, pool, agree, 400)
    for row, contest in found:
        assert (contest.fact in row.triples) == agree
    share = sum(contest.fact.object == "true" for _, contest in found) / len(found)
    assert 0.4 < share < 0.6


def test_a_date_or_number_has_one_value_in_both_notations_exactly_when_they_agree(pool: Corpus) -> None:
    row = Row((Triple("Oslo", "mayor", "Ann"),), "Ann is the mayor of Oslo", "rel2text", "")
    false = set()
    for seed in range(300):
        contest = quantity(pool, row, seed % 2 == 0, random.Random(seed))
        if contest is None:
            continue
        assert contest.fact in contest.row.triples and len(contest.row.triples) == 2
        assert "Ann is the mayor of Oslo." in contest.row.text and contest.fact.subject == "Oslo"
        text = contest.row.text.replace("Ann is the mayor of Oslo.", "")
        is_date = "-" in contest.fact.object
        value = date.fromisoformat(contest.fact.object) if is_date else float(contest.fact.object)
        written = {in_words(value, random.Random(i)) for i in range(200)}
        same = any((one if is_date else f" {one}") in f" {text}" for one in written)
        if seed % 2 == 0:
            assert same, (contest.fact, text)
        else:
            false.add(same)
    assert False in false
