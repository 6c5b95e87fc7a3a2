"""A bundle, and a data set with a run over it that nights can build on."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.bundles import make_bundle
from tests.run.calls import run
from tests.run.reuse.nights import SHARD, rows


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # int8 on a CPU computes each pair by itself, so that a pair's numbers are the same bits in any company.
    return make_bundle(tmp_path_factory.mktemp("reuse") / "tiny", precisions=["int8"])


@pytest.fixture(scope="module")
def yesterday(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> tuple[Path, Path]:
    """A data set of three shards, and the output of a run over it."""
    base = tmp_path_factory.mktemp("yesterday")
    for i, name in enumerate(("a.parquet", "b.parquet", "deep/c.parquet")):
        path = base / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows(range(i * SHARD, (i + 1) * SHARD)), path)
    run(base / "in", base / "out", bundle)
    return base / "in", base / "out"
