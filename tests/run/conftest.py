from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.bundles import make_bundle
from tests.run.calls import rows
from tests.storage.backends import memory as memory
from tests.storage.backends import target as target


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("run") / "tiny")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    for name, n in (("a.parquet", 30), ("deep/b.parquet", 25), ("deep/er/c.parquet", 1), ("none.parquet", 0)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows(n), folder / name, row_group_size=8)
    (folder / "_skipped.parquet").write_bytes(b"not Parquet")
    return folder
