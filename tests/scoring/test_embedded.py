"""Bundles with real numbers: both precisions of one keep labels, and the one that ships sees what is wrong."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.inference import DOMAINS
from scorer.inference.bundle import Bundle
from scorer.inference.verification import measure, open_engine
from tests.bundles import RESTAURANTS, needs_vnni


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", pytest.param("int8", marks=needs_vnni)])
def test_the_device_keeps_the_checkpoint_s_labels(precision: str) -> None:
    with open_engine(Bundle.load(RESTAURANTS), device="cpu", precision=precision) as engine:
        facts = measure(engine, engine.grid.token_budget)
    assert facts.agreement >= 0.99 and facts.isolated
    assert facts.bound < (1e-3 if precision == "fp32" else 0.3)


def test_the_general_model_sees_what_is_wrong_in_three_domains() -> None:
    """Its mistakes are known: it passes *his best game of the season* and, on one side of two, 109 points for 104. A
    character that it does not know is noted."""
    table = pq.read_table(DOMAINS)
    with Scorer.embedded(device="cpu") as opened:
        found = opened.score_table(table)["fine"].to_pylist()
        known = opened.score([("The Mill", "food", "Thai")], "The Mill serves Thai food.")
        unknown = opened.score([("The Mill", "rating", "\U0001f7e2")], "The rating of The Mill is \U0001f534.")
    rows = zip(table.to_pylist(), found, strict=True)
    wrong = [(row["domain"], row["system"]) for row, label in rows if label != row["gold_fine"]]
    assert wrong == [("basketball", "chatty"), ("basketball", "wrong")]
    assert known.note is None and unknown.note == "unknown_tokens"
