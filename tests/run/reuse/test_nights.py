"""Nights over earlier outputs, each compared with a full run: the same labels, and only what changed is scored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq

from tests.run.calls import bytes_of, run
from tests.run.reuse.nights import SHARD, Before, assert_labels_of, rows


def test_a_run_over_unchanged_rows_asks_the_model_nothing(yesterday: Before, tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    out = tmp_path / "out"
    summary = run(data, out, bundle, "--reuse", before)
    assert_labels_of(before, out)
    labelled, errors, notes = 3 * SHARD - 6, {"null_text": 6}, {"empty_text": 6}
    assert summary["rows"] == {"in": 3 * SHARD, "scored": 0, "reused": labelled, "errors": errors, "notes": notes}
    used = {"signature_equal": True, "differs": [], "keys": labelled, "shards_used": 3, "shards_refused": {}}
    assert summary["reuse"] == [{"out": str(before)} | used]
    assert summary["checks"]["all"] == 0
    assert (out / "_SUCCESS").exists()


def test_the_same_plan_gives_the_same_bytes(yesterday: Before, tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    data = Path(shutil.copytree(data, tmp_path / "in"))
    pq.write_table(rows(range(30, 70)), data / "b.parquet")
    one, other = tmp_path / "one", tmp_path / "other"
    first = run(data, one, bundle, "--reuse", before)
    assert 0 < first["rows"]["reused"] < first["rows"]["in"]
    run(data, other, bundle, "--reuse", before)
    assert bytes_of(one) == bytes_of(other)
    again = run(data, other, bundle, "--reuse", before)
    assert (again["shards"]["skipped"], again["reuse"][0]["keys"]) == (3, None)


def test_another_reuse_on_a_resume_mixes_nothing(yesterday: Before, tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    out = tmp_path / "out"
    run(data, out, bundle, "--reuse", before)
    for arguments in ((), ("--reuse", before)):
        summary = run(data, out, bundle, *arguments)
        assert summary["shards"]["skipped"] == 0
        assert bool(summary["rows"]["reused"]) == bool(arguments)
    planned = json.loads((out / "_plan.json").read_text())["reuse"]
    assert [(one["out"], one["signature"]) for one in planned] == [(str(before), summary["signature"])]
    # A receipt more in the earlier output makes it another one.
    fewer = Path(shutil.copytree(before, tmp_path / "fewer"))
    (fewer / "_receipts" / "a.parquet.json").unlink()
    assert run(data, out, bundle, "--reuse", fewer)["shards"]["skipped"] == 0


def test_several_earlier_outputs_and_one_that_is_not_finished(yesterday: Before, tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    one, other = (Path(shutil.copytree(before, tmp_path / name)) for name in ("one", "other"))
    for folder, gone in ((one, ("b.parquet", "deep/c.parquet")), (other, ("b.parquet",))):
        (folder / "_SUCCESS").unlink()
        (folder / "_run.json").unlink()
        for name in gone:
            (folder / "_receipts" / f"{name}.json").unlink()
    summary = run(data, tmp_path / "out", bundle, "--reuse", one, "--reuse", other, "--reuse", one)
    assert_labels_of(before, tmp_path / "out")
    # a.parquet is in both, and the first serves it.
    assert [(source["shards_used"], source["keys"]) for source in summary["reuse"]] == [(1, SHARD - 2), (2, SHARD - 2)]
    assert summary["rows"]["reused"] == 2 * (SHARD - 2)


def test_a_chain_of_runs_keeps_where_labels_come_from(yesterday: Before, tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    elsewhere = Path(shutil.copytree(before, tmp_path / "elsewhere"))
    told = json.loads((elsewhere / "_run.json").read_text())
    told["origins"][0]["device"]["name"] = "another machine"
    told["origins"][0]["bound"] = 0.25
    (elsewhere / "_run.json").write_text(json.dumps(told))
    second = run(data, tmp_path / "second", bundle, "--reuse", elsewhere)
    third = run(data, tmp_path / "third", bundle, "--reuse", tmp_path / "second")
    assert third["rows"]["reused"] == second["rows"]["reused"] == 3 * SHARD - 6
    for summary in (second, third):
        assert [one["device"]["name"] == "another machine" for one in summary["origins"]] == [False, True]
