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


def python(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [str(PYTHON), *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == code, done.stderr
    return done


def scored(out: Path) -> list[int]:
    return sorted(ds.dataset(out, format="parquet").to_table(columns=["id"])["id"].to_pylist())


def test_each_version_has_the_rows_that_the_package_reads(tmp_path: Path) -> None:
    table, bundle = tmp_path / "table", make_bundle(tmp_path / "tiny")
    python("-m", "tests.storage.delta_rows", "make", table)
    latest = python("-m", "scorer", "run", table, "--bundle", bundle, "--out", tmp_path / "latest").stderr
    assert f"Delta table {table}@v3: " in latest
    versions = {}
    for version in range(4):
        out = tmp_path / f"v{version}"
        python("-m", "scorer", "run", f"{table}@v{version}", "--bundle", bundle, "--out", out)
        versions[version] = json.loads(python("-m", "tests.storage.delta_rows", "rows", table, version).stdout)
        assert scored(out) == versions[version]
    assert scored(tmp_path / "latest") == versions[3] == [0, 10, 11, 20, 21]
    assert versions[1] == [0, 1, 10, 11, 20, 21]
    # The table went on, and the same command still reads the same version.
    again = python("-m", "scorer", "run", f"{table}@v1", "--bundle", bundle, "--out", tmp_path / "v1").stderr
    assert "0 rows to score" in again
    assert len({path.parent.name for path in (tmp_path / "v1").rglob("country=*/*.parquet")}) == 2
    refused = python("-m", "scorer", "plan", f"{table}@v9", "--bundle", bundle, code=2).stderr
    assert f"the Delta table {table} cannot be read at version 9" in refused
    # A later version has deletion vectors, which are in none of its data files.
    log = len(list((table / "_delta_log").glob("*.json")))
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"],
                "writerFeatures": ["deletionVectors"]}  # fmt: skip
    (table / "_delta_log" / f"{log:020}.json").write_text(json.dumps({"protocol": protocol}) + "\n")
    said = python("-m", "scorer", "run", table, "--bundle", bundle, "--out", tmp_path / "out", code=2).stderr
    assert "has the feature deletionVectors" in said and not (tmp_path / "out").exists()
