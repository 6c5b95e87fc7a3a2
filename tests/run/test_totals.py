"""What the totals of a run say of its bundle."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from typer.testing import CliRunner

from scorer.commands import app
from tests.bundles import RESTAURANTS

SAMPLE = Path(__file__).resolve().parents[2] / "scorer" / "embedded" / "domains.parquet"


def test_a_run_records_that_its_bundle_is_random_and_forced(tmp_path: Path) -> None:
    bundle, out = tmp_path / "bundle", tmp_path / "out"
    shutil.copytree(RESTAURANTS, bundle)
    content = json.loads((bundle / "bundle.json").read_text())
    content["source"]["random_init"] = True
    (bundle / "bundle.json").write_text(json.dumps({**content, "forced": ["parity"]}))
    command = ["run", str(SAMPLE), "--bundle", str(bundle), "--device", "cpu", "--out", str(out), "--limit", "2"]
    assert CliRunner().invoke(app, command).exit_code == 0
    recorded = json.loads((out / "_run.json").read_text())
    assert (recorded["random_weights"], recorded["forced"]) == (True, ["parity"])
