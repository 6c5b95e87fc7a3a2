"""Made pairs: neither side tells the label, every kind is as often true as false, and a second reading of the texts
finds true pairs true and false pairs false."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from scorer.metric.facts import Triple
from tests.training.examples import check_untold, guessed, made
from training.general import contests, edits
from training.general.bindings import Bindings
from training.general.contests import Contest, in_words, quantity
from training.general.pairs import ENTAILMENT, Maker, pairs
from training.general.relations import sequenced
from training.general.rows import Corpus, Row, corpus, parts, read
from training.general.values import twins
from training.general.wording import denial

KINDS = ("crossed", "exchanged", "reference", "detailed", "sequenced", "confused", "related", "listed")


@pytest.fixture(scope="module")
def pool() -> Corpus:
    return made()


@pytest.fixture(scope="module")
def bindings() -> Bindings:
    return Bindings(made(mills=200))


def test_every_kind_is_half_true_and_the_seed_decides(pool: Corpus, bindings: Bindings) -> None:
    found = pairs(pool, 1200, random.Random(1))
    kinds = Counter(pair.kind for pair in found)
    true = Counter(pair.kind for pair in found if pair.label == ENTAILMENT)
    assert len(found) == 1200 and len(kinds) >= 12
    assert all(true[kind] * 2 == count for kind, count in kinds.items())
    assert found == pairs(pool, 1200, random.Random(1))
    assert found != pairs(pool, 1200, random.Random(2))
    for others in (bindings.pairs(600, random.Random(0)), edits.pairs(600, random.Random(0))):
        assert len(others) == 600 and sum(entailed for *_, entailed in others) == 300


@pytest.mark.parametrize("kind", edits.KINDS, ids=lambda kind: kind.__name__)
def test_neither_side_of_an_edit_tells_the_label(kind: edits.Kind) -> None:
    rng = random.Random(1)
    check_untold([(*kind(agree, rng), agree) for _ in range(1500) for agree in (True, False)])


@pytest.mark.parametrize("name", KINDS)
def test_neither_side_of_a_binding_tells_the_label(bindings: Bindings, name: str) -> None:
    (kind,) = [one for one in bindings.kinds if one.__name__ == name]
    found = bindings.pairs(3000, random.Random(1), kind)
    check_untold(found)
    assert all(true[:2] != false[:2] for true, false in zip(found[::2], found[1::2], strict=True))


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


def drawn(maker: Maker, pool: Corpus, agree: bool, count: int = 200) -> list[tuple[Row, Contest]]:
    rng = random.Random(f"{maker.__name__}/{agree}")
    found: list[tuple[Row, Contest]] = []
    while len(found) < count:
        row = rng.choice(pool.rows["rnnlg"])
        contest = maker(pool, row, agree, rng)
        found += [] if contest is None else [(row, contest)]
    return found


def said(contest: Contest) -> bool:
    """Whether the text of a lamp has colour, weight and length of the facts in their places, and the name."""
    name, values = contest.row.triples[0].subject, {t.predicate: t.object for t in contest.row.triples}
    start = f"{name} is {values['color']}, weighs {values['weight']}, is {values['length']} long"
    return contest.row.text.startswith(start)


@pytest.mark.parametrize("maker", [contests.value, contests.roles, contests.subject])
@pytest.mark.parametrize("agree", [True, False])
def test_text_and_facts_agree_as_asked(maker: Maker, pool: Corpus, agree: bool) -> None:
    found = drawn(maker, pool, agree)
    assert all(said(contest) == agree and contest.fact in contest.row.triples for _, contest in found)
    # Text and facts of a true row are altered too: an altered one is no sign of a false pair.
    altered = [contest.row.text != row.text for row, contest in found]
    assert 0.2 < sum(altered) / len(altered) < 0.9


@pytest.mark.parametrize("agree", [True, False])
def test_yes_and_no_are_as_frequent_in_both(pool: Corpus, agree: bool) -> None:
    found = drawn(contests.unspoken, pool, agree, 400)
    assert all((contest.fact in row.triples) == agree for row, contest in found)
    assert 0.4 < sum(contest.fact.object == "true" for _, contest in found) / len(found) < 0.6


def test_a_date_or_number_has_one_value_in_both_notations_exactly_when_they_agree(pool: Corpus) -> None:
    row = Row((Triple("Oslo", "mayor", "Ann"),), "Ann is the mayor of Oslo", "rel2text", "")
    false = set()
    for seed in range(300):
        contest = quantity(pool, row, seed % 2 == 0, random.Random(seed))
        if contest is None:
            continue
        assert contest.fact in contest.row.triples and contest.fact.subject == "Oslo"
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


def _named(sentence: str, topic: str) -> str:
    """The sentence with the name of what it is about in the place of a pronoun."""
    sentence = re.sub(r"^(?:Its|His|Her) (.+?) is ", rf"The \1 of {topic} is ", sentence)
    return re.sub(r"^(?:It|He|She) ", f"{topic} ", sentence)


_TOWN = re.compile(r"(?:(?:The p|P)opulation of (.+?) is (.+?)|(.+?) has (.+?) inhabitants)\.(?: |$)", re.IGNORECASE)


def _inhabitants(text: str) -> set[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for sentence in re.split(r"(?<=\.) ", text):
        whole = _named(sentence, found[-1][0] if found else "")
        found += [tuple(part.lower() for part in parts if part) for parts in _TOWN.findall(whole)]
    return set(found)


def test_crossed_sides_agree_when_their_facts_do(pool: Corpus) -> None:
    rng, bindings = random.Random(2), Bindings(pool)
    for agree in (True, False) * 200:
        one, other = (_inhabitants(side) for side in bindings.crossed(agree, rng))
        assert one and other
        assert (one <= other or other <= one) == agree


def test_a_sequence_is_told_in_its_order_or_exchanged_and_the_order_of_the_names_does_not_tell() -> None:
    rng, same, other = random.Random(4), dict.fromkeys((True, False), 0), {"Ann": "Bo", "Bo": "Ann"}
    for _ in range(1000):
        right, wrong = twins(lambda agree, rng: sequenced("Ann", "Bo", "Ostby", agree=agree, rng=rng), rng)
        assert right[0] == wrong[0] and right[1] == re.sub(r"\b(?:Ann|Bo)\b", lambda name: other[name[0]], wrong[1])
        for agree, sides in ((True, right), (False, wrong)):
            first, second = (re.findall(r"\b(?:Ann|Bo)\b", side) for side in sides)
            same[agree] += first == second
    assert abs(same[True] - same[False]) < 100


@pytest.mark.parametrize(
    ("wording", "opposite"),
    [
        ("The home of {s} was {o}.", "The home of {s} was not {o}."),
        ("{s} has a mass of {o}.", "{s} does not have a mass of {o}."),
        ("{s} makes {o}.", "{s} does not make {o}."),
        ("{s} founded {o}.", None),
        ("{s} is not a {o}.", None),
    ],
)
def test_the_opposite_of_a_wording(wording: str, opposite: str | None) -> None:
    assert denial(wording) == opposite
