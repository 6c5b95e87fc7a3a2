"""The ceiling by sentence against Shrout & Fleiss's own example, and by system on made-up ratings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from benchmarks.paper.reliability import ceilings, sentence_ceiling, system_ceiling
from tests.evaluation.scored import save, scored

# Shrout & Fleiss (1979), Table 2: six targets, four judges. Table 4: ICC(1, 1) = .17, ICC(1, 4) = .44.
TABLE_2 = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)


def test_the_published_example() -> None:
    found = sentence_ceiling(np.repeat(np.arange(6), 4), TABLE_2.reshape(-1))
    assert (found["texts"], found["ratings"]) == (6, 24)
    assert found["icc_1"] == pytest.approx(0.17, abs=0.005)
    assert found["icc_k"] == pytest.approx(0.44, abs=0.005)
    assert found["ceiling"] == pytest.approx(0.44**0.5, abs=0.005)


def test_the_interval_draws_inputs_with_all_their_texts() -> None:
    rng = np.random.default_rng(1)
    inputs, texts = np.repeat(np.arange(30), 8), np.repeat(np.arange(60), 4)
    ratings = rng.normal(size=30)[inputs] + rng.normal(size=60)[texts] + rng.normal(size=240)
    found = sentence_ceiling(texts, ratings, inputs, 4000)

    def of(drawn: np.ndarray) -> float:
        rows = (drawn.astype(int)[:, None] * 8 + np.arange(8)).ravel()
        return sentence_ceiling(np.repeat(np.arange(2 * len(drawn)), 4), ratings[rows])["ceiling"] or 0.0

    ends = stats.bootstrap(
        (np.arange(30),), of, vectorized=False, method="percentile", n_resamples=1500, rng=np.random.default_rng(0)
    ).confidence_interval
    assert found["interval"] == pytest.approx((ends.low, ends.high), abs=0.01)
    apart = sentence_ceiling(texts, ratings, None, 4000)["interval"]
    assert apart[1] - apart[0] < found["interval"][1] - found["interval"][0]
    assert sentence_ceiling(texts, ratings, inputs)["interval"] is None


def test_by_system_the_published_example_and_its_interval() -> None:
    """ICC(3, 4) = .91 in the same table; its limits from F as in McGraw & Wong (1996), Table 7. A fifth input, which
    one system lacks, counts for none."""
    systems, inputs = np.repeat(np.arange(6), 5), np.tile(np.arange(5), 6)
    ratings = np.column_stack([TABLE_2, [1, 2, 3, 4, 5, np.nan]]).reshape(-1)
    found = system_ceiling(ratings, systems, inputs)
    assert (found["systems"], found["inputs"]) == (6, 4)
    assert found["icc_k"] == pytest.approx(0.91, abs=0.005)
    low, high = (1 - stats.f.ppf(q, 5, 15) * (1 - found["icc_k"]) for q in (0.975, 0.025))
    assert found["interval"] == pytest.approx((low**0.5, high**0.5))
    few = inputs < 3
    assert system_ceiling(ratings[few], systems[few], inputs[few])["ceiling"] is None


def test_the_ceiling_is_of_the_texts_that_are_evaluated(tmp_path: Path) -> None:
    raw = pa.table({"row_id": [1, 1, 2, 2, 3, 3, 4, 4], "human_correctness": [1.0, 2, 3, 4, 5, 7, 90, 0]})
    file = save(raw, tmp_path / "raw.parquet", None)
    table = scored(["OK"] * 4, human_correctness=[1.5, 3.5, 6.0, 2.0], id=["1", "2", "3", "9"], system=list("aabb"))
    found = ceilings(save(table, tmp_path / "out.parquet"), file, (), 0)["human_correctness"]
    # Of texts 1, 2, 3, whose means are 1.5, 3.5 and 6: mean squares 61/6 between texts, and 1 within.
    assert found["sentence"]["ratings"] == 6
    assert found["sentence"]["icc_k"] == pytest.approx(1 - 6 / 61)
    assert found["system"]["systems"] == 2
    assert ceilings(tmp_path / "out.parquet", None, ("a",), 0)["human_correctness"]["system"]["systems"] == 1
