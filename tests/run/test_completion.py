"""Exit 0 and ``_SUCCESS`` only when everything is there at the end, whatever happened meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scorer.storage.output_folder import LockedOutput, OutputFolder
from scorer.storage.plan import LOCK
from scorer.system.codec import encode
from tests.run.calls import run
from tests.run.calls import scorer as command
from tests.storage.records import make_plan


def before_the_end(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """Do something after the last shard was published, before the totals."""
    real = LockedOutput.totals

    def totals(self: LockedOutput, *given: Any) -> Any:
        act()
        return real(self, *given)

    monkeypatch.setattr(LockedOutput, "totals", totals)


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
        result = command("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", code=3)
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
    said = command("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", code=code).stderr
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

    monkeypatch.setattr("scorer.storage.store.crash_point", taken_over)
    result = command("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", code=2)
    assert "was removed or replaced during the run" in result.stderr
    assert not receipt.exists()
