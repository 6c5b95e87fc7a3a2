"""Two metrics on the same gold, against counts over the rows and scipy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from scorer.errors import ColumnError, UsageError
from scorer.evaluation import EvaluateOptions
from scorer.evaluation.report import evaluate
from tests.evaluation.scored import save, scored
from tests.run.calls import scorer

LABELS = ("OK", "omission", "hallucination", "omission+hallucination")
ROWS = 240


@pytest.fixture(scope="module")
def gold() -> list[str]:
    return np.random.default_rng(1).choice(LABELS, ROWS).tolist()


def judged(gold: list[str], right: float, seed: int, path: Path, rows: range = range(ROWS), **more: Any) -> Path:
    """An output of a metric that is right in so many rows; its confidence follows the gold as well."""
    rng = np.random.default_rng(seed)
    labels = [one if rng.random() < right else str(rng.choice(LABELS)) for one in gold]
    confidence = np.array([label == "OK" for label in gold]) * right + rng.random(len(gold))
    keys = pa.array([b"%016d" % row for row in range(len(gold))], pa.binary(16))
    columns = {
        "confidence": confidence,
        "row_key": keys,
        "triples": [[f"s{row // 3} | p | o"] for row in range(len(gold))],
        **more,
    }
    return save(scored(labels, **columns).take(pa.array(rows)), path)


@pytest.fixture(scope="module")
def both(gold: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("against")
    ratings = [3.0 if label == "OK" else 1.0 for label in gold]
    first = judged(gold, 0.9, 2, folder / "first.parquet", gold_fine=gold, human_semantics=ratings)
    return first, judged(gold, 0.6, 3, folder / "second.parquet", range(ROWS - 1, 4, -1))  # in another order


def test_accuracies_and_correlations_are_those_of_the_rows_that_both_have(
    both: tuple[Path, Path], gold: list[str]
) -> None:
    import pyarrow.parquet as pq

    notes: list[str] = []
    found = evaluate(both[0], EvaluateOptions(against=both[1], resamples=50), notes.append)["against"]
    assert (found["rows"], found["missing"]) == (ROWS - 5, 5) and any("lacks 5 of the rows" in one for one in notes)
    first, second = (pq.read_table(path) for path in both)
    labels = first["fine"].to_pylist()[5:], second["fine"].to_pylist()[::-1]
    right = [np.array([one == true for one, true in zip(each, gold[5:], strict=True)]) for each in labels]
    fine = found["accuracy"]["fine"]
    assert (fine.first.value, fine.second.value) == pytest.approx((right[0].mean(), right[1].mean()))
    assert fine.low < fine.difference < fine.high and fine.difference == pytest.approx(
        right[0].mean() - right[1].mean()
    )
    assert fine.p < 1e-6 and fine.low > 0
    rough = found["accuracy"]["rough"]
    agree = [np.array([(one == "OK") == (true == "OK") for one, true in zip(each, gold[5:], strict=True)])
             for each in labels]  # fmt: skip
    assert (rough.first.value, rough.second.value) == pytest.approx((agree[0].mean(), agree[1].mean()))
    rating = [float(label == "OK") for label in gold[5:]]
    line = next(one for one in found["correlations"] if one["kind"] == "spearman")
    values = first["confidence"].to_numpy()[5:], second["confidence"].to_numpy()[::-1]
    assert line["first"] == pytest.approx(stats.spearmanr(values[0], rating)[0])
    assert line["second"] == pytest.approx(stats.spearmanr(values[1], rating)[0])
    assert line["interval"] and line["interval"][0] < line["difference"] < line["interval"][1]


def test_a_metric_against_itself_differs_in_nothing(both: tuple[Path, Path]) -> None:
    found = evaluate(both[0], EvaluateOptions(against=both[0], resamples=20))["against"]
    assert {(one.difference, one.p) for one in found["accuracy"].values()} == {(0.0, 1.0)}
    assert {one["difference"] for one in found["correlations"]} == {0.0}


def test_what_cannot_be_matched_is_one_line(both: tuple[Path, Path], tmp_path: Path) -> None:
    other = save(scored(["OK"] * 3), tmp_path / "no_keys.parquet")
    with pytest.raises(ColumnError, match="says which rows agree"):
        evaluate(both[0], EvaluateOptions(against=other))
    strange = pa.array([b"x" * 16] * 3, pa.binary(16))
    with pytest.raises(UsageError, match="has none of these rows"):
        evaluate(both[0], EvaluateOptions(against=save(scored(["OK"] * 3, row_key=strange), tmp_path / "x.parquet")))


def test_the_command_prints_both(both: tuple[Path, Path]) -> None:
    printed = scorer("evaluate", both[0], "--against", both[1], "--resamples", 20).stdout
    assert "Compared with" in printed and "FINE labels that are right" in printed
    found = json.loads(scorer("evaluate", both[0], "--against", both[1], "--resamples", 0, "--json").stdout)
    assert found["against"]["accuracy"]["fine"]["p"] < 0.05
