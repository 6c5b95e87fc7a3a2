"""True pairs are true and false pairs false, by looking at text and facts again."""

from __future__ import annotations

import random

import pytest

from export.training.general import contests
from export.training.general.contests import Contest
from export.training.general.pairs import Maker
from export.training.general.rows import Corpus, Row
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
