"""What a run writes, and exit 0 and ``_SUCCESS`` only when everything is there at the end, whatever happened."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from scorer.metric.columns import OUTPUT
from scorer.storage.output_folder import OutputFolder
from scorer.storage.output_writer import OutputWriter
from scorer.storage.run_plan import LOCK
from scorer.system.codec import encode
from tests.bundles import edit_manifest
from tests.faults.harness import launch, summary
from tests.run.calls import bytes_of, command, run, scorer
from tests.storage.records import make_plan
from tests.sweeps import sampled

pytestmark = pytest.mark.usefixtures("inline_runs")


def before_the_end(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """Do something after the last shard was published, before the totals."""
    real = OutputWriter.totals

    def totals(self: OutputWriter, *given: Any) -> Any:
        act()
        return real(self, *given)

    monkeypatch.setattr(OutputWriter, "totals", totals)


@pytest.mark.parametrize("lost", ["receipt", "output", "damaged"])
def test_what_is_lost_during_a_run_is_exit_3(
    data: Path, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    out = tmp_path / "out"
    output, receipt = out / "a.parquet", out / "_receipts" / "a.parquet.json"
    if lost != "receipt":  # the shard is skipped by this run, not written
        run(data, out, bundle)
    lose = {
        "receipt": receipt.unlink,
        "output": output.unlink,
        "damaged": lambda: output.write_bytes(output.read_bytes().replace(b"pub", b"pup")),
    }[lost]
    with monkeypatch.context() as patch:
        before_the_end(patch, lose)
        result = scorer("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", code=3)
    assert "Outputs or receipts of 1 shards disappeared during the run (a.parquet)" in result.stderr
    assert not (out / "_SUCCESS").exists()
    assert json.loads((out / "_run.json").read_text())["shards"]["missing"] == 1
    assert run(data, out, bundle)["shards"] == {"done": 4, "skipped": 3, "failed": 0}
    assert (out / "_SUCCESS").exists()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_removed_plan_is_written_again_and_a_replaced_one_ends_the_run(
    data: Path, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    out = tmp_path / "out"
    plan = out / "_plan.json"
    before_the_end(monkeypatch, (lambda: plan.write_bytes(encode(make_plan([])))) if replaced else plan.unlink)
    code = 2 if replaced else 0
    said = scorer("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", code=code).stderr
    assert ("Another run replaced _plan.json" in said) == replaced
    assert OutputFolder(out).read_plan() is not None and (out / "_SUCCESS").exists() == (not replaced)


def test_a_run_that_lost_its_lock_publishes_nothing(
    data: Path, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped between the rename and the receipt; meanwhile the lock was removed."""
    out = tmp_path / "out"
    receipt = out / "_receipts" / "a.parquet.json"

    def taken_over(*point: str) -> None:
        if point == ("output", "published") and not receipt.exists():
            (out / LOCK).unlink(missing_ok=True)

    monkeypatch.setattr("scorer.storage.local_files.crash_point", taken_over)
    result = scorer("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", code=2)
    assert "was removed or replaced during the run" in result.stderr
    assert not receipt.exists()


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
    """Moments of the first two seconds; a library that is being loaded swallows exceptions. What comes before the first
    line of the program is the interpreter's own end."""
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
