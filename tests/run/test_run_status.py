"""How far a run is, over one output and over the parts of one; outputs without an input, to be removed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.run.calls import rows, run, scorer
from tests.storage.test_finished_output import SHARDS, part

pytestmark = pytest.mark.usefixtures("inline_runs")


def test_an_output_without_its_input_is_named_and_its_files_are_listed(tmp_path: Path, bundle: Path) -> None:
    data, out = tmp_path / "in", tmp_path / "out"
    for name in ("a.parquet", "deep/b.parquet"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows(12), data / name)
    run(data, out, bundle, "--max-error-rate", 1)
    assert scorer("status", out, "--stale").stdout == ""
    (data / "deep/b.parquet").unlink()
    run(data, out, bundle, "--max-error-rate", 1, "--allow-stale")
    found = json.loads(scorer("status", out, "--json").stdout)
    assert (found["finished"], found["planned"], found["done"], found["stale"]) == (True, 1, 1, ["deep/b.parquet"])
    assert "outputs without an input: deep/b.parquet" in scorer("status", out).stdout
    files = scorer("status", out, "--stale").stdout.splitlines()
    assert files == [f"{out}/deep/b.parquet", f"{out}/_receipts/deep/b.parquet.json"]
    for name in files:
        Path(name).unlink()
    assert json.loads(scorer("status", out, "--json").stdout)["stale"] == []
    assert run(data, out, bundle, "--max-error-rate", 1)["shards"]["skipped"] == 1


def test_parts_are_one_run(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        part(tmp_path / "out" / f"part-{number}", number)
    found = json.loads(scorer("status", tmp_path / "out", "--json").stdout)
    assert (found["finished"], found["done"], found["missing_parts"]) == (True, len(SHARDS), [])
    assert found["rows"] == sum(SHARDS.values())
    shutil.rmtree(tmp_path / "out" / "part-2")
    found = json.loads(scorer("status", tmp_path / "out", "--json").stdout)
    assert (found["finished"], found["missing_parts"]) == (False, [2])
    assert "parts that were not given: 2" in scorer("status", tmp_path / "out").stdout
    shutil.copytree(tmp_path / "out" / "part-1", tmp_path / "out" / "again")
    assert "part 1 of 3 is there twice" in scorer("status", tmp_path / "out", code=2).stderr
