"""Dates and numbers in two notations: what is drawn, and that text and fact agree exactly when they shall."""

from __future__ import annotations

import random
from datetime import date

from export.training.general.quantities import in_words, quantity
from export.training.general.rows import Row
from scorer.metric.triples import Triple
from tests.export.training.examples import made

ROW = Row((Triple("Oslo", "mayor", "Ann"),), "Ann is the mayor of Oslo", "rel2text", "")


def written(value: date | float) -> set[str]:
    return {in_words(value, random.Random(seed)) for seed in range(200)}


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
