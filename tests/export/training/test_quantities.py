"""Dates and numbers in two notations: what is drawn, and that text and fact agree exactly when they shall."""

from __future__ import annotations

import random
from datetime import date

from export.training.general.quantities import in_data, in_words, quantity
from export.training.general.rows import Row
from scorer.metric.triples import Triple
from tests.export.training.examples import made

ROW = Row((Triple("Oslo", "mayor", "Ann"),), "Ann is the mayor of Oslo", "rel2text", "")
DAY = date(1934, 1, 2)


def written(value: date | float) -> set[str]:
    return {in_words(value, random.Random(seed)) for seed in range(200)}


def test_dates_and_numbers_have_these_notations() -> None:
    assert written(DAY) == {
        "January 2, 1934", "2 January 1934", "January 2nd, 1934", "2nd January 1934", "the 2nd of January 1934",
        "1934-01-02",
    }  # fmt: skip
    assert written(10252.0) == {"10,252", "10252", "10252.0"}
    assert written(1_800_000.0) >= {"1.8 million", "1,800,000", "1800000"}
    assert written(3992.88) == {"3,992.88", "3992.88"}
    assert {in_data(610.0, random.Random(seed)) for seed in range(40)} == {"610", "610.0"}


def test_text_and_fact_have_one_value_exactly_when_they_agree() -> None:
    seen, corpus = set(), made()
    for seed in range(300):
        agree = seed % 2 == 0
        contest = quantity(corpus, ROW, agree, random.Random(seed))
        if contest is None:
            continue
        assert contest.fact in contest.row.triples and len(contest.row.triples) == 2
        assert "Ann is the mayor of Oslo." in contest.row.text and contest.fact.subject == "Oslo"
        said = contest.row.text.replace("Ann is the mayor of Oslo.", "")
        if "-" in contest.fact.object:
            same = any(one in said for one in written(date.fromisoformat(contest.fact.object)))
        else:
            same = any(f" {one}" in f" {said}" for one in written(float(contest.fact.object)))
        if agree:
            assert same, (contest.fact, said)
        else:
            seen.add(same)
    assert False in seen
