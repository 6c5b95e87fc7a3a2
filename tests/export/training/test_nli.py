"""NLI pairs: which rows are read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from export.training.general import nli


def column(text: str, n: int) -> list[str]:
    return [text] * n


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = {
        "premise": [*column("a b", 400), *column("a " * 100, 400), *column("b", 200)],
        "hypothesis": column("c", 1000),
        "label": [*column("entailment", 999), "not_entailment"],
        "source": column("s", 1000),
        "tier": [*column("human", 400), *column("human", 400), *column("recast", 200)],
        "may_ship": [True] * 999 + [False],
    }
    pq.write_table(pa.table(rows), tmp_path / "nli_train.parquet")
    return tmp_path / "nli_train.parquet"


def test_only_rows_that_may_ship_are_read(file: Path) -> None:
    assert len(nli.read(file)["label"]) == 999
    assert nli.read(file, all_licences=True)["label"][-1] == "not_entailment"
