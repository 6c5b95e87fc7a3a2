"""Facts said wrongly and left out, against counts of slots, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scorer.evaluation.gold import Scored
from scorer.evaluation.omission_kinds import kind_figures
from scorer.metric import ColumnNames

sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is of the development environment")
POSITIONS = pa.list_(pa.int32())


def table(rng: np.random.Generator, rows: int = 400) -> dict[str, Any]:
    omitted = [sorted(rng.permutation(6)[: rng.integers(0, 4)].tolist()) for _ in range(rows)]
    wrong: list[Any] = [[i for i in one if rng.random() < 0.4] for one in omitted]
    return {
        "omitted": pa.array(omitted, POSITIONS),
        "contradicted": pa.array([None if i % 50 == 0 else one for i, one in enumerate(wrong)], POSITIONS),
        "gold_valerr": [None if i % 70 == 0 else int(rng.integers(0, 2)) for i in range(rows)],
        "gold_missing": rng.integers(0, 3, rows),
    }


def test_precision_and_recall_by_row() -> None:
    rows = pa.table(table(np.random.default_rng(3)))
    found = kind_figures(Scored(rows, None, True), ColumnNames())
    assert found is not None
    lines = [line for line in rows.to_pylist() if line["contradicted"] is not None and line["gold_valerr"] is not None]
    pairs = {
        "said_wrongly": [(line["gold_valerr"] > 0, bool(line["contradicted"])) for line in lines],
        "left_out": [(line["gold_missing"] > 0, {*line["omitted"]} > {*line["contradicted"]}) for line in lines],
    }
    for kind, figures in found.items():
        gold, said = zip(*pairs[kind], strict=True)
        assert figures["precision"].value == pytest.approx(sklearn.precision_score(gold, said))
        assert figures["recall"].value == pytest.approx(sklearn.recall_score(gold, said))
        assert (figures["rows"], figures["recall"].n, figures["precision"].n) == (sum(gold), sum(gold), sum(said))


@pytest.mark.parametrize("missing", ["contradicted", "omitted", "gold_valerr", "gold_missing"])
def test_nothing_is_said_without_the_columns(missing: str) -> None:
    columns = table(np.random.default_rng(4), 20)
    del columns[missing]
    assert kind_figures(Scored(pa.table(columns), None, True), ColumnNames()) is None


def test_nothing_is_said_where_no_row_knows_its_contradicted_facts() -> None:
    columns = table(np.random.default_rng(4), 20) | {"contradicted": pa.nulls(20, POSITIONS)}
    assert kind_figures(Scored(pa.table(columns), None, True), ColumnNames()) is None
    renamed = {name.removeprefix("gold_"): column for name, column in table(np.random.default_rng(4), 20).items()}
    found = kind_figures(Scored(pa.table(renamed), None, True), ColumnNames())
    assert found is not None and found["said_wrongly"]["gold"] == "valerr"
