from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.paper.spans.agreement import Votes, agreement, fleiss_kappa, majority
from benchmarks.paper.spans.files import read_votes
from scorer.errors import InputError
from scorer.evaluation.label_figures import drawn_rows

FLEISS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip
"""The worked example that encyclopaedias print: fourteen raters, ten subjects, five categories, kappa .210."""


def test_the_worked_example_of_fleiss() -> None:
    assert fleiss_kappa(np.array(FLEISS))[0] == pytest.approx(0.210, abs=5e-4)


def test_kappa_at_its_ends() -> None:
    assert fleiss_kappa(np.array([[3, 0], [0, 3]]))[0] == pytest.approx(1)
    assert fleiss_kappa(np.array([[1, 1], [1, 1]]))[0] == pytest.approx(-1)
    assert np.isnan(fleiss_kappa(np.array([[3, 0], [3, 0]]))[0]), "only one label"
    for few in ([[1, 0]], [[3, 0], [2, 0]]):
        with pytest.raises(InputError, match="two annotators or more, as many for each item"):
            fleiss_kappa(np.array(few))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["number", "number", "no_error"], "number"),
        (["number", "word", "no_error"], "no_majority"),
        (["number", "no_error", "no_error"], None),
        (["number", "number", "word", "no_error"], "no_majority"),
        (["number", "no_type", "no_error"], "no_majority"),
        (["name", "name", "no_error", "no_error"], None),
    ],
)
def test_majority(labels: list[str], expected: str | None) -> None:
    assert majority(Votes.collect(["a"] * len(labels), labels)) == [expected]


def test_annotators_joined_are_the_gold_that_is_published(shared_data: Path) -> None:
    votes, _ = read_votes(shared_data / "tr_annotations.parquet")
    gold = {row["id"]: row for row in pq.read_table(shared_data / "tr_gold_errors.parquet").to_pylist()}
    joined = dict(zip(votes.items, majority(votes), strict=True))
    assert joined.keys() == gold.keys()
    for item, category in joined.items():
        assert (category is not None) == gold[item]["is_gold_error"], item
        assert category == gold[item]["category"], item


def test_kappa_of_the_published_annotations(shared_data: Path) -> None:
    """Both by the data's own description: .77 over items that all three typed, .50 over all."""
    found = agreement(read_votes(shared_data / "tr_annotations.parquet")[0])
    assert found["annotators"] == 3
    assert found["fleiss_kappa"]["typed_by_all"]["kappa"] == pytest.approx(0.77, abs=0.005)
    assert found["fleiss_kappa"]["all_items"]["kappa"] == pytest.approx(0.50, abs=0.005)
    assert found["fleiss_kappa"]["all_items"]["n"] == 335


def test_the_interval_of_kappa_draws_texts() -> None:
    """Five items a text that share their difficulty, three annotators; against samples drawn one by one."""
    rng = np.random.default_rng(6)
    texts = np.repeat(np.arange(30), 5)
    hard = rng.random(30)[texts]
    labels = np.where(rng.random((150, 3)) < hard[:, None] / 2, "name", "number")
    votes = Votes.collect(np.repeat([f"i{i}" for i in range(150)], 3).tolist(), labels.reshape(-1).tolist())
    found = agreement(votes, [f"t{text}" for text in texts], 3000)["fleiss_kappa"]["all_items"]["interval"]
    drawn = [fleiss_kappa(votes.counts[rows])[0] for rows in drawn_rows(texts, 1500, 4)]
    assert found == pytest.approx(np.percentile(drawn, (2.5, 97.5)), abs=0.02)
