"""The bundle that ships: real numbers, so isolation, both precisions and the real data are tested with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.inference.bundle import Bundle
from scorer.inference.engine import Engine
from scorer.inference.shipped import DOMAINS
from scorer.inference.verify import measure
from tests.bundles import RESTAURANTS, SAMPLE, needs_vnni
from tests.faults.harness import assert_equation
from tests.run.calls import run


def pairs(n: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """``n`` pairs of sample texts, of many lengths, every one of them different."""
    texts = [text for text in pq.read_table(SAMPLE)["text"].to_pylist() if text]
    joined = [" ".join(texts[i : i + 1 + i % 3]) for i in range(len(texts))]
    premise, hypothesis = np.divmod(np.arange(n), len(joined))
    return joined, premise.astype(np.int32), hypothesis.astype(np.int32)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_pair_s_numbers_are_its_own(precision: str) -> None:
    """Isolation: the same bits alone, in another order, in other company, at another token budget."""
    texts, premise, hypothesis = pairs(100)
    expected: dict[int, list[float]] = {}
    for budget in (4096, 300):
        with Engine(
            Bundle.load(RESTAURANTS), device="cpu", precision=precision, token_budget=budget, threads=2
        ) as engine:
            for order in (np.arange(100), np.arange(100)[::-1], np.arange(0, 100, 7)):
                found = engine.run(engine.prepare(texts, premise[order], hypothesis[order]))
                for i, numbers in zip(order.tolist(), found.probabilities.tolist(), strict=True):
                    assert expected.setdefault(i, numbers) == numbers


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", pytest.param("int8", marks=needs_vnni)])
def test_the_device_keeps_the_checkpoint_s_labels(precision: str) -> None:
    with Engine(Bundle.load(RESTAURANTS), device="cpu", precision=precision) as engine:
        facts = measure(engine)
    assert facts.label_agreement >= 0.99 and facts.isolated
    assert facts.bound < (1e-3 if precision == "fp32" else 0.3)


def test_the_general_model_sees_what_is_wrong_in_three_domains() -> None:
    """Its two mistakes here are known: *The astronomer Agnes Calder* does not say her occupation to it, and it passes
    *his best game of the season*. A character that it does not know is noted."""
    table = pq.read_table(DOMAINS)
    with Scorer.embedded(device="cpu") as opened:
        found = opened.score_table(table)["fine"].to_pylist()
        known = opened.score([("The Mill", "food", "Thai")], "The Mill serves Thai food.")
        unknown = opened.score([("The Mill", "rating", "\U0001f7e2")], "The rating of The Mill is \U0001f534.")
    rows = zip(table.to_pylist(), found, strict=True)
    wrong = [(row["domain"], row["system"]) for row, label in rows if label != row["gold_fine"]]
    assert wrong == [("people", "faithful"), ("basketball", "chatty")]
    assert known.note is None and unknown.note == "unknown_tokens"


@pytest.mark.parametrize("name", ["e2e_primary", "webnlg17_humeval"])
def test_real_rows_columns_and_order_stay(shared_data: Path, tmp_path: Path, name: str) -> None:
    data, out = shared_data / f"{name}.parquet", tmp_path / "out"
    summary = run(data, out, RESTAURANTS, "--limit", 60)
    before, after = pq.read_table(data).slice(0, 60), pq.read_table(out / data.name)
    assert after.select(before.schema.names).equals(before)
    facts = summary["facts"]
    assert len(after) == summary["rows"]["in"] == 60
    assert_equation(out)
    share = facts["backoff"] / (facts["backoff"] + facts["template"])
    assert share == (0.0 if name.startswith("e2e") else 1.0)
