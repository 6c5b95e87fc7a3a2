"""When a reused row counts as another one, and which rows are asked again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import softmax

from scorer.metric.checks import Options, build_checks
from scorer.metric.columns import OUTPUT, to_columns
from scorer.metric.rows import from_pairs
from scorer.metric.templates import Templates
from scorer.metric.triples import Triple
from scorer.metric.verdict import decide
from scorer.scoring.origin import ROUNDING, Device, Origin, agree, allowed_difference, is_within
from scorer.scoring.reuse import DISAGREED, Disagreement, RecheckLog, Reuse, Sources
from scorer.scoring.reuse.recheck import disagreements
from scorer.scoring.signature import Signature
from scorer.scoring.summary import Recheck
from scorer.status import SCORED
from scorer.storage.counts import Counts, RecheckCounts

HERE = Origin(Device("cpu", "x", 2), "1.20", 0.1, 0.0)


@pytest.mark.parametrize("bound", [1e-4, 0.01, 0.5, 2.0])
def test_logits_that_move_by_a_bound_move_probabilities_by_no_more_than_is_allowed(bound: float) -> None:
    rng = np.random.default_rng(7)
    logits = rng.normal(0, 3, (5000, 3))
    moved = logits + rng.choice([-bound, bound], logits.shape)
    most = np.abs(softmax(logits, axis=1) - softmax(moved, axis=1)).max()
    assert most <= allowed_difference(bound)
    if bound < 1:  # and the limit is not a loose one
        assert most > 0.9 * allowed_difference(bound)


def test_bounds_add_up_and_agreement_allows_for_rounding_but_never_for_nan() -> None:
    assert allowed_difference(0.02, 0.04) == pytest.approx(0.03)
    assert allowed_difference() == 0.0
    assert agree(0.5, 0.5 + ROUNDING / 2, 0.0)
    assert not agree(0.5, 0.5 + 2 * ROUNDING, 0.0)
    assert agree(0.7, 0.5, 0.2)
    assert not agree(math.nan, 0.5, 1.0)
    assert not is_within(math.nan, 1.0)


def test_only_one_device_with_numbers_of_their_own_must_agree_closely() -> None:
    elsewhere = Origin(Device("cpu", "y", 2), "1.20", 0.3, 0.0)
    newer = Origin(HERE.device, "1.21", 0.1, 0.0)
    in_company = Origin(HERE.device, "1.20", 0.1, 0.01)
    exact = Origin(HERE.device, "1.20", 1e-6, 0.0)
    assert HERE.allowed(HERE) == 1e-4
    assert exact.allowed(exact) == 2e-6
    assert HERE.allowed(elsewhere) == elsewhere.allowed(HERE) == pytest.approx(0.4)
    other_margin = Origin(HERE.device, "1.20", 0.1, 0.0, 0.3)
    assert HERE.allowed(other_margin) == pytest.approx(0.2)
    assert other_margin.allowed(other_margin) == 1e-4
    assert HERE.allowed(newer) == HERE.allowed(in_company) == in_company.allowed(in_company) == pytest.approx(0.2)


ROWS = from_pairs([([Triple("a", "b", "c"), Triple("d", "e", "f")], "text")])
CHECKS = build_checks(ROWS, Templates(), Options("nlgi_eval"))


def judged(*margins: float) -> tuple[dict[str, Any], np.ndarray]:
    """A row's columns, and probabilities of its checks, from the logits of entailment against two of 0: of the two
    facts, of the text, of all facts."""
    probabilities = softmax([[0.0, 0.0, margin] for margin in margins], axis=1).astype(np.float32)
    columns = to_columns(ROWS, decide(ROWS, CHECKS, probabilities, np.full(len(CHECKS), SCORED, np.int8)))
    return {name: column[0].as_py() for name, column in zip(OUTPUT.names, columns, strict=True)}, probabilities


def compared(stored: dict[str, Any], margins: tuple[float, ...], bound: float) -> str | None:
    fresh, probabilities = judged(*margins)
    as_arrays = [{name: pa.array([value]) for name, value in row.items()} for row in (stored, fresh)]
    found = list(disagreements(*as_arrays, ROWS, CHECKS, probabilities, 0, np.array([bound])))
    assert [position for position, _ in found] in ([], [0])
    return found[0][1] if found else None


GOOD = (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("bound", [0.0, 0.1])
def test_a_probability_may_move_by_half_the_bound(which: int, bound: float) -> None:
    stored, _ = judged(*GOOD)
    for moved, expected in ((0.0, True), (0.9 * bound, True), (4 * bound + 0.01, False)):
        margins = tuple(margin + moved * (i == which) for i, margin in enumerate(GOOD))
        assert (compared(stored, margins, bound) is None) == expected


@pytest.mark.parametrize("which", range(4))
def test_a_label_may_flip_only_near_a_tie(which: int) -> None:
    def at(margin: float) -> tuple[float, ...]:
        return tuple(margin if i == which else 1.0 for i in range(4))

    stored, _ = judged(*at(0.05))
    assert stored["fine"] == "OK"
    assert compared(stored, at(-0.05), 0.1) is None
    assert compared(stored, at(-0.05), 0.0) is not None
    # The numbers of tonight, and a label that they do not have far from a tie.
    flipped, _ = judged(*at(-1.0))
    honest, _ = judged(*GOOD)
    forged = {**honest, **{name: flipped[name] for name in ("fine", "rough", "omitted")}}
    said = compared(forged, GOOD, 0.1)
    assert said is not None
    assert said.startswith("omitted: [" if which < 2 else "fine: ")


def test_a_near_tie_of_one_side_excuses_no_other() -> None:
    margins = (0.01, 1.0, 1.0, 1.0)
    stored, _ = judged(*margins)
    assert compared({**stored, "fine": "hallucination", "rough": "not_OK"}, margins, 0.1) == (
        "fine: hallucination stored, OK now"
    )
    assert compared({**stored, "omitted": [1], "fine": "omission", "rough": "not_OK"}, margins, 0.1) == (
        "omitted: [1] stored, [] now"
    )
    assert compared({**stored, "rough": "not_OK"}, margins, 0.1) == "rough: not_OK stored, OK now"


@pytest.mark.parametrize(
    ("name", "value"),
    [("note", "truncated"), ("text_entailment", None), ("text_entailment", math.nan), ("fact_entailment", [0.5])],
)
def test_nothing_else_may_differ(name: str, value: Any) -> None:
    stored, _ = judged(*GOOD)
    said = compared({**stored, name: value}, GOOD, 5.0)
    assert said is not None
    assert said.startswith(f"{name}: ")


def chosen(salt: int, n: int = 400_000) -> np.ndarray:
    words = np.random.default_rng(1).integers(0, 2**64, (n, 2), np.uint64)
    reuse = Reuse(Sources([], Signature(""), HERE, pa.schema([])))
    reuse._salt = np.uint64(salt)
    reuse._first_of_shard = False
    return reuse._chosen(words)


def test_a_thousandth_is_rechecked_and_another_one_in_the_next_run() -> None:
    one, other = chosen(0), chosen(2**63 + 12345)
    for found in (one, other):  # 400 expected, with a standard deviation of 20
        assert 300 < len(found) < 500
    assert len(np.intersect1d(one, other)) < 10
    assert one.tolist() == chosen(0).tolist()


def test_a_recheck_log_names_the_rows_of_a_shard_and_forgets_them_with_it() -> None:
    log = RecheckLog(Sources([], Signature(""), HERE, pa.schema([])))
    counted = Counts(recheck=RecheckCounts(2, 0))
    log.window(100, counted, [])
    assert log.end_shard("good") is None
    log.window(100, counted, [])
    log.window(50, counted, [Disagreement(i, f"{i:032x}", "fine: x") for i in range(5)])
    error = log.end_shard("bad")
    assert error is not None and error.kind == DISAGREED
    for said in ("bad: 5 of 4 reused rows", f"row 100 (key {0:032x}): fine: x; row 101", "and 2 more"):
        assert said in str(error)
    assert log.end_shard("good") is None
    assert log.figures(Counts(recheck=RecheckCounts(10, 0))) == Recheck(14, 5, 1e-6)
