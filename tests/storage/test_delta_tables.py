"""Real Delta tables, in the environment with the package ``deltalake``, which ``make test-slow`` makes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tests.bundles import make_bundle
from tests.conftest import ROOT

PYTHON = ROOT / ".venv-delta" / "bin" / "python"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="deltalake has its own environment, which `make test-slow` makes"),
]


MAKE = """
import json, sys
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake

def table(ids, country):
    texts = [f"Row {i} is a pub." for i in ids]
    return pa.table({"id": ids, "text": texts, "facts": [[text] for text in texts], "country": [country] * len(ids)})

folder, found = sys.argv[1], []
write_deltalake(folder, pa.concat_tables([table([0, 1], "DE"), table([10, 11], "a b")]), partition_by=["country"])
write_deltalake(folder, table([20, 21], "DE"), mode="append")
DeltaTable(folder).delete("id = 1")
DeltaTable(folder).optimize.compact()
for version in range(4):
    # Not by to_pyarrow_table: threads of pyarrow then call into Python, and some processes abort as they end.
    query = QueryBuilder().register("rows", DeltaTable(folder, version=version)).execute("select id from rows")
    found.append(sorted(pa.table(query.read_all())["id"].to_pylist()))
print(json.dumps(found))
"""
"""Makes a table of four versions, and prints the rows of each as the package itself reads them."""


def python(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(PYTHON), *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def scored(out: Path) -> list[int]:
    return sorted(ds.dataset(out, format="parquet").to_table(columns=["id"])["id"].to_pylist())


def test_each_version_has_the_rows_that_the_package_reads(tmp_path: Path) -> None:
    table, bundle = tmp_path / "table", make_bundle(tmp_path / "tiny")
    versions = json.loads(python("-c", MAKE, table).stdout)
    latest = python("-m", "scorer", "run", table, "--bundle", bundle, "--out", tmp_path / "latest").stderr
    assert f"Delta table {table}@v3: " in latest
    for version, rows in enumerate(versions):
        out = tmp_path / f"v{version}"
        python("-m", "scorer", "run", f"{table}@v{version}", "--bundle", bundle, "--out", out)
        assert scored(out) == rows
    assert scored(tmp_path / "latest") == versions[3] == [0, 10, 11, 20, 21]
    assert versions[1] == [0, 1, 10, 11, 20, 21]
