"""Finished outputs whose metric errs as told, with the truth as a column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tests.scored_outputs import finish, scored


def output(out: Path, rows: int = 400, wrong: float = 0.1, seed: int = 1, **settings: Any) -> Path:
    """Two shards of rows with one fact; a quarter is not OK (an omission), and the metric is wrong at random.

    Columns: ``system`` (a, b), ``truth`` (FINE), ``rating`` (3 where OK, else 1).
    """
    rng = np.random.default_rng(seed)
    bad = rng.random(rows) < 0.25
    said = np.where(bad ^ (rng.random(rows) < wrong), rng.uniform(0.01, 0.4, rows), rng.uniform(0.6, 0.99, rows))
    table = pa.table(
        {
            "text": [f"text {row}" for row in range(rows)],
            "triples": [[f"s{row} | food | o{row}"] for row in range(rows)],
            "system": ["a" if row % 4 else "b" for row in range(rows)],
            "truth": ["omission" if one else "OK" for one in bad],
            "rating": np.where(bad, 1.0, 3.0),
        }
    )
    whole = scored(table, said, np.full(rows, 0.9))
    half = rows // 2
    shards = {"x/part-0.parquet": whole.slice(0, half), "x/part-1.parquet": whole.slice(half)}
    return finish(out, shards, **settings)
