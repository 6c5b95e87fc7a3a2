"""Exit 0 and ``_SUCCESS`` only when everything is there at the end, whatever happened meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import scorer.run.driver
from scorer.scoring.plan import Plan
from scorer.storage import lease
from tests.plans import made_plan
from tests.run.calls import bytes_of, rows, run
from tests.run.calls import scorer as command


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, n in (("a.parquet", 30), ("b.parquet", 25)):
        pq.write_table(rows(n), folder / name)
    return folder


def before_the_end(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """Do something after the last shard was committed, before the totals."""
    real = scorer.run.driver._Run._confirm_plan

    def confirm(self: Any) -> None:
        act()
        real(self)

    monkeypatch.setattr(scorer.run.driver._Run, "_confirm_plan", confirm)


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("lost", ["receipt", "output", "overwritten"])
def test_what_is_lost_during_a_run_is_exit_3(
    data: Path, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, lost: str, resumed: bool
) -> None:
    """``resumed``: the shard was skipped by this run, not written."""
    out = tmp_path / "out"
    if resumed:
        run(data, out, bundle)

    def lose() -> None:
        if lost == "overwritten":
            content = bytearray((out / "a.parquet").read_bytes())
            content[len(content) // 2] ^= 1
            (out / "a.parquet").write_bytes(content)
        else:
            (out / {"receipt": "_receipts/a.parquet.json", "output": "a.parquet"}[lost]).unlink()

    with monkeypatch.context() as patch:
        before_the_end(patch, lose)
        result = command("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", code=3)
    assert "1 shards lost their output or receipt during the run (a.parquet)" in result.stderr
    assert not (out / "_SUCCESS").exists()
    assert json.loads((out / "_run.json").read_text())["shards"]["missing"] == 1
    assert run(data, out, bundle)["shards"] == {"done": 2, "skipped": 1, "failed": 0}
    assert (out / "_SUCCESS").exists()


def test_a_plan_that_was_removed_is_written_again(
    data: Path, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    before_the_end(monkeypatch, (out / "_plan.json").unlink)
    result = command("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1")
    assert "it is written again" in result.stderr
    assert Plan.load(out) is not None and (out / "_SUCCESS").exists()


def test_a_plan_that_was_replaced_ends_the_run(
    data: Path, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    before_the_end(monkeypatch, lambda: (out / "_plan.json").write_bytes(made_plan().content))
    result = command("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", code=2)
    assert "_plan.json was replaced during the run" in result.stderr
    assert not (out / "_SUCCESS").exists()


def test_a_folder_without_a_plan_whose_receipts_agree_is_accepted(data: Path, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    run(data, out, bundle)
    before = bytes_of(out)
    (out / "_plan.json").unlink()
    assert run(data, out, bundle)["shards"]["skipped"] == 2
    assert bytes_of(out) == before and (out / "_SUCCESS").exists()
    (out / "_plan.json").unlink()
    (out / "notes.txt").write_text("somebody's")
    result = command("run", data, "--out", out, "--bundle", bundle, code=2)
    assert "is not an output folder of this program" in result.stderr


def test_names_that_some_file_systems_take_for_one(tmp_path: Path, bundle: Path) -> None:
    pairs = (("A.parquet", "a.parquet"), ("\u00e9.parquet", "e\u0301.parquet"), ("stra\u00dfe.pq", "STRASSE.pq"))
    for one, other in pairs:
        folder = tmp_path / one
        folder.mkdir()
        for name in (one, other):
            pq.write_table(rows(2), folder / name)
        result = command("run", folder, "--out", tmp_path / "out", "--bundle", bundle, code=2)
        assert "are the same file on some file systems" in result.stderr
        assert not (tmp_path / "out").exists()


def test_a_writer_that_was_stopped_does_not_overwrite_a_newer_receipt(
    data: Path, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped between the rename and the receipt; meanwhile another run has taken the folder over."""
    out = tmp_path / "out"
    newer = b"the receipt of the run that took the folder over"
    receipt = out / "_receipts" / "a.parquet.json"

    def taken_over(point: str) -> None:
        if point == "output.published" and not receipt.exists():
            (out / lease.LOCK).write_bytes(b'{"pid": 1, "host": "other", "started": "now", "boot": "x", "token": "y"}')
            receipt.parent.mkdir(parents=True, exist_ok=True)
            receipt.write_bytes(newer)

    monkeypatch.setattr("scorer.storage.durable.crash_point", taken_over)
    result = command("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", code=2)
    assert "another run took over this output" in result.stderr
    assert receipt.read_bytes() == newer
