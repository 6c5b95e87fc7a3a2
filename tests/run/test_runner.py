from __future__ import annotations

import json
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scorer.metric.columns import OUTPUT
from tests.bundles import edit_manifest
from tests.faults.harness import launch, summary
from tests.run.calls import bytes_of, command, run, scorer
from tests.sweeps import sampled


def test_a_run_records_that_its_bundle_is_random_and_forced(data: Path, tmp_path: Path, bundle: Path) -> None:
    made = Path(shutil.copytree(bundle, tmp_path / "bundle"))
    source = json.loads((made / "bundle.json").read_text())["source"]
    edit_manifest(made, source={**source, "random_init": True}, forced=["parity"])
    recorded = run(data, tmp_path / "out", made)
    assert (recorded["random_weights"], recorded["forced"]) == (True, ["parity"])


def test_limit_keep_prefix_and_details(data: Path, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    more = ["--limit", 40, "--keep", "weight", "--prefix", "nli_", "--details", "--json"]
    result = scorer(*command(data, out, bundle), *more)
    assert json.loads(result.stdout) == json.loads((out / "_run.json").read_text()) and "FINE" in result.stderr
    found = {name: pq.read_table(out / name) for name in bytes_of(out)}
    assert {name: len(table) for name, table in found.items()} == {"a.parquet": 30, "deep/b.parquet": 10}
    added = [f"nli_{name}" for name in (*OUTPUT.names, "worded_facts", "details")]
    assert found["a.parquet"].schema.names == ["weight", *added]


@pytest.mark.parametrize("after_ms", sampled(range(5, 2005, 160), 5))
def test_sigterm_during_the_start(data: Path, tmp_path: Path, bundle: Path, after_ms: int) -> None:
    """Thirteen moments of the first two seconds; a library that is being loaded swallows exceptions."""
    out = tmp_path / "out"
    process = launch(data, out, bundle)
    with suppress(subprocess.TimeoutExpired):
        process.wait(after_ms / 1000)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    if process.returncode == 0:
        assert summary(out)["shards"]["done"] == 4 and (out / "_SUCCESS").exists()
    else:
        assert process.returncode in (143, -signal.SIGTERM), said
        assert "Traceback" not in said and "not installed" not in said
