"""Sensitivity, specificity and the checks of the challenge set, with metrics whose answers are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scorer.evaluation.challenge_set import Answers, ChallengeResult, judge, measure, read_challenge, read_templates
from scorer.metric.fact_templates import Templates
from scorer.metric.facts import Triple
from scorer.metric.verdict import FINE
from scorer.scoring.scorer import Scorer

PER_KIND = 6


def _some() -> pa.Table:
    whole = read_challenge()
    kinds = dict.fromkeys(whole["kind"].to_pylist())
    base = whole.filter(pc.equal(whole["variant"], "base"))
    pairs = [base.filter(pc.equal(base["kind"], kind))["pair"].slice(0, PER_KIND) for kind in kinds]
    return whole.filter(
        pc.is_in(whole["pair"], pa.array([one for part in pairs for one in part.to_pylist()], pa.int32()))
    )


TABLE = _some()
Row = dict[str, Any]
ROWS: list[Row] = TABLE.to_pylist()
KINDS = list(dict.fromkeys(row["kind"] for row in ROWS))


def challenge(say: Callable[[Row], tuple[int, float]], table: pa.Table = TABLE) -> ChallengeResult:
    said = [say(row) for row in table.to_pylist()]
    fine, probability = np.array([code for code, _ in said], np.int8), np.array([p for _, p in said])
    fact = np.where([row["fact"] is None for row in table.to_pylist()], np.nan, probability)
    return measure(table, Answers(fine, fact, probability), metric="stub", signature="stub", rows=len(table))


def truth(row: Row) -> tuple[int, float]:
    code = FINE.index(row["gold_fine"])
    return code, 0.9 if code == 0 else 0.1


def test_the_set_has_all_kinds_and_a_template_for_every_fact() -> None:
    whole = read_challenge()
    assert whole["kind"].value_counts().to_pylist()[0]["counts"] >= 400 and len(KINDS) == 26
    assert [variant["counts"] for variant in whole["variant"].value_counts().to_pylist()] == [5200, 5200, 400, 600]
    templates = Templates.from_dict(read_templates())
    facts = {Triple(**fact) for row in whole["triples"].to_pylist() for fact in row}
    assert not any(templates.fill(fact).backoff for fact in facts)


def test_equal_rows_are_scored_once_and_get_equal_answers() -> None:
    class Counting:
        def __init__(self) -> None:
            self.asked: list[tuple[str, str]] = []

        def score_batches(self, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
            for table in tables:
                rows = [(str(row["triples"]), row["text"]) for row in table.to_pylist()]
                self.asked += rows
                entailed = [[float(len(text))] * 99 for _, text in rows]
                yield pa.table({"fine": ["OK"] * len(rows), "fact_entailment": entailed,
                                "text_entailment": [float(len(text)) for _, text in rows]})  # fmt: skip

    metric, twice = Counting(), pa.concat_tables([TABLE, TABLE.slice(0, 40)])
    found, rows = judge(cast(Scorer, metric), twice)
    assert len(set(metric.asked)) == len(metric.asked) == rows <= len(TABLE)
    assert found.text.tolist() == [float(len(text)) for text in twice["text"].to_pylist()]
    assert np.isnan(found.fact).tolist() == [fact is None for fact in twice["fact"].to_pylist()]


def test_a_perfect_metric_and_one_that_passes_everything() -> None:
    found = challenge(truth)
    assert found.score == found.sensitivity.value == found.specificity.value == 1.0
    assert [kind.kind for kind in found.kinds] == KINDS
    assert all(kind.pairs.count == kind.pairs.n == PER_KIND for kind in found.kinds)
    assert all((kind.p or 0) < 0.05 if kind.expected != "OK" else kind.p == 1 for kind in found.kinds)
    assert [check.broken.count for check in found.checks] == [0, 0, 0, 0]
    found = challenge(lambda row: (0, 0.9))
    assert {kind.p for kind in found.kinds} == {1.0}
    assert (found.sensitivity.value, found.specificity.value) == (0.0, 1.0)
    assert found.score == pytest.approx((0.5 * 19 + 7) / 26)  # 19 kinds of errors, 7 of correct texts


def test_what_is_found_in_one_kind_counts_less_among_many() -> None:
    """Four of six: beyond chance alone, but not as the best of 26 kinds."""
    flagged = [row["pair"] for row in ROWS if row["kind"] == "date" and row["variant"] == "edited"][:4]

    def dates(row: Row) -> tuple[int, float]:
        return (3 if row["pair"] in flagged and row["variant"] == "edited" else 0), 0.5

    alone = challenge(dates, TABLE.filter(pc.equal(TABLE["kind"], "date"))).kinds[0]
    among = next(kind for kind in challenge(dates).kinds if kind.kind == "date")
    assert (alone.right, alone.base, alone.pairs) == (among.right, among.base, among.pairs)
    assert alone.p is not None and among.p == pytest.approx(min(1.0, 26 * alone.p))
    assert alone.p < 0.05 < among.p


def test_the_side_of_an_error_counts_and_rows_with_errors_are_flagged() -> None:
    found = challenge(lambda row: (0, 0.9) if row["variant"] == "base" else (1, 0.1))
    assert (found.specificity.count, found.specificity.n) == (26 * PER_KIND, 33 * PER_KIND)
    kinds = {kind.kind: kind for kind in found.kinds}
    assert kinds["omission"].right.value == kinds["wrong value"].right.value == 1.0
    assert (kinds["extra fact"].right.value, kinds["extra fact"].flagged.value) == (0.0, 1.0)
    found = challenge(lambda row: (-1, float("nan")))
    assert found.errors == len(TABLE)
    kinds = {kind.kind: kind for kind in found.kinds}
    assert kinds["wrong value"].right.value == 1.0
    assert kinds["omission"].right.value == kinds["paraphrase"].right.value == 0.0
    assert [check.name for check in found.checks] == [
        "the order of the facts does not matter",
        "irrelevant facts do not matter",
    ]


def test_checks_find_what_must_not_be() -> None:
    def found(say: Callable[[Row], tuple[int, float]]) -> list[tuple[int, float]]:
        return [(one.broken.count // PER_KIND, round(one.largest or 0.0, 9)) for one in challenge(say).checks]

    edited = found(lambda row: (0, 0.8 if row["variant"] == "edited" else 0.3))
    assert edited[:3] == [(1, 0.5), (1, 0.5), (0, 0.0)]
    assert found(lambda row: (2, 0.2) if row["variant"] == "reordered" else (0, 0.9))[2] == (2, 0.7)
    assert found(lambda row: (3, 0.2) if row["variant"] == "extended" else (0, 0.9))[3] == (3, 0.7)
    omissions = found(lambda row: (int(row["variant"] == "extended"), 0.9))
    assert omissions[3] == (0, 0.0), "omissions may well be found"
