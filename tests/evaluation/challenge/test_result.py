"""Sensitivity, specificity and the checks, with metrics whose answers are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from scorer.evaluation.challenge.build import ABOUT, build_cases
from scorer.evaluation.challenge.case import Case
from scorer.evaluation.challenge.judging import Answers, Row
from scorer.evaluation.challenge.result import challenge

CASES = build_cases(6)
SIDES = {"OK": 0, "omission": 1, "hallucination": 2, "not_OK": 3}


class Stub:
    """Gives each row a FINE code and P(entailment) of everything."""

    signature = "stub"

    def __init__(self, name: str, say: Callable[[Row], tuple[int, float]]) -> None:
        self.name, self._say = name, say

    def fits(self, case: Case) -> bool:
        return True

    def answer(self, rows: Sequence[Row], progress: Callable[[int], None]) -> Answers:
        said = [self._say(row) for row in rows]
        facts: list[list[float | None] | None] = [[p] * len(row[0]) for row, (_, p) in zip(rows, said, strict=True)]
        progress(len(rows))
        return Answers(np.array([code for code, _ in said], np.int8), facts, np.array([p for _, p in said]))


TRUTH = {one.edited: SIDES[one.expected] for one in CASES} | {one.base: 0 for one in CASES}


def test_a_perfect_metric() -> None:
    seen = []
    metric = Stub("perfect", lambda row: (TRUTH[row[1]], 0.9 if TRUTH[row[1]] == 0 else 0.1))
    found = challenge(CASES, metric, progress=lambda done, rows: seen.append((done, rows)))
    assert found.score == found.sensitivity.value == found.specificity.value == 1.0
    assert [kind.kind for kind in found.kinds] == list(ABOUT)
    assert all(kind.pairs.count == kind.pairs.n == 6 for kind in found.kinds)
    assert all((kind.p or 0) < 0.05 if kind.expected != "OK" else kind.p == 1 for kind in found.kinds)
    assert [check.broken.count for check in found.checks[:3]] == [0, 0, 0]
    assert seen == [(found.rows, found.rows)]


def test_a_metric_that_passes_everything_distinguishes_no_kind() -> None:
    found = challenge(CASES, Stub("OK", lambda row: (0, 0.9)))
    assert {kind.p for kind in found.kinds} == {1.0}
    assert (found.sensitivity.value, found.specificity.value) == (0.0, 1.0)
    wrong = sum(kind.expected != "OK" for kind in found.kinds)
    assert wrong == 19
    assert found.score == pytest.approx((0.5 * wrong + 7) / 26)


def test_what_is_found_in_one_kind_counts_less_among_many() -> None:
    """Four of six: beyond chance alone, but not as the best of 26 kinds."""
    found_in = {one.edited for one in [one for one in CASES if one.kind == "date"][:4]}
    metric = Stub("dates", lambda row: (3 if row[1] in found_in else 0, 0.5))
    alone = challenge([one for one in CASES if one.kind == "date"], metric).kinds[0]
    among = next(kind for kind in challenge(CASES, metric).kinds if kind.kind == "date")
    assert (alone.right, alone.base, alone.pairs) == (among.right, among.base, among.pairs)
    assert alone.p is not None and among.p == pytest.approx(min(1.0, 26 * alone.p))
    assert alone.p < 0.05 < among.p


def test_specificity_is_of_all_right_texts_and_the_side_of_an_error_counts() -> None:
    unchanged = {one.base for one in CASES}
    found = challenge(CASES, Stub("unchanged passes", lambda row: (0, 0.9) if row[1] in unchanged else (1, 0.1)))
    right = len(CASES) + sum(one.passes for one in CASES)
    assert (found.specificity.count, found.specificity.n) == (len(CASES), right)
    kinds = {kind.kind: kind for kind in found.kinds}
    assert kinds["omission"].right.value == kinds["wrong value"].right.value == 1.0
    assert kinds["extra fact"].right.value == 0.0
    assert kinds["extra fact"].flagged.value == 1.0


def test_errors_count_as_flagged_but_name_no_side() -> None:
    found = challenge(CASES, Stub("broken", lambda row: (-1, float("nan"))))
    assert found.errors == found.rows
    kinds = {kind.kind: kind for kind in found.kinds}
    assert kinds["wrong value"].right.value == 1.0
    assert kinds["omission"].right.value == kinds["paraphrase"].right.value == 0.0
    assert [check.name for check in found.checks] == [
        "the order of the facts does not matter",
        "irrelevant facts do not matter",
    ]


def test_checks_find_what_must_not_be() -> None:
    bases = {one.base for one in CASES}
    rising = challenge(CASES, Stub("rising", lambda row: (0, 0.3 if row[1] in bases else 0.8)))
    removed, added, order, irrelevant = rising.checks
    assert (removed.broken.count, removed.largest) == (6, pytest.approx(0.5))
    assert (added.broken.count, added.largest) == (6, pytest.approx(0.5))
    assert order.broken.count == irrelevant.broken.count == 0
    orders = {(one.triples, one.base) for one in CASES}
    moody = challenge(CASES, Stub("moody", lambda row: (0, 0.9) if row in orders else (2, 0.2)))
    assert moody.checks[2].broken.count == moody.checks[2].broken.n == 12
    assert moody.checks[2].largest == pytest.approx(0.7)


def test_irrelevant_facts_must_not_change_whether_a_text_is_a_hallucination() -> None:
    """A metric that is confused by many facts, of right texts and of wrong ones; omissions may well be found."""
    most = {one.edited: len(one.triples) for one in CASES} | {one.base: len(one.triples) for one in CASES}
    confused = Stub("confused", lambda row: (3, 0.2) if len(row[0]) > most[row[1]] else (0, 0.9))
    found = challenge(CASES, confused).checks[-1]
    assert found.broken.count == found.broken.n == 18
    assert found.largest == pytest.approx(0.7)
    omissions = Stub("omissions", lambda row: (1, 0.9) if len(row[0]) > most[row[1]] else (0, 0.9))
    assert challenge(CASES, omissions).checks[-1].broken.count == 0
