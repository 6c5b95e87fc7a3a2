"""Which pairs are trained on: those whose licence allows to ship the weights."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from export.training.general import nli


def test_only_rows_that_may_ship_are_read(tmp_path: Path) -> None:
    rows = {name: [name, "other"] for name in ("premise", "hypothesis", "label", "source", "tier")}
    pq.write_table(pa.table({**rows, "may_ship": [True, False]}), tmp_path / "nli_train.parquet")
    assert nli.read(tmp_path / "nli_train.parquet")["label"] == ["label"]
    assert nli.read(tmp_path / "nli_train.parquet", all_licences=True)["label"] == ["label", "other"]
