"""NLI pairs: what is read, what is seen per pass, and tokenised once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from export.training.general import nli
from export.training.general.vocabulary import SPECIAL, make_tokenizer

PIECES = {piece: i for i, piece in enumerate([*SPECIAL, "a", "b", "c", "##a", "##b"])}


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


def test_a_pass_sees_all_short_human_pairs_and_a_share_of_the_others(file: Path, tmp_path: Path) -> None:
    pairs = nli.pairs(nli.read(file), make_tokenizer(PIECES), tmp_path)
    order = pairs.order(0, seed=1)
    assert len(set(order.tolist())) == len(order)
    assert np.sum(order < 400) == 400
    assert 160 < np.sum((order >= 400) & (order < 800)) < 240  # half of the long ones
    assert 30 < np.sum(order >= 800) < 70  # a quarter of the recast ones
    assert np.array_equal(order, pairs.order(0, seed=1))
    assert not np.array_equal(order, pairs.order(1, seed=1))
