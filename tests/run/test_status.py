"""How far a run is, over one output and over the parts of one; outputs without an input, to be removed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq

from tests.run.calls import rows, run, scorer


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
