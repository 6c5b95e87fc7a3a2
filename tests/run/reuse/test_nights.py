"""Nights over earlier outputs, each compared with a full run: only what changed is scored, and what is believed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.run.reuse import KeyIndex
from tests.bundles import make_bundle
from tests.run.calls import bytes_of, run, scorer
from tests.run.reuse.nights import SHARD, Before, assert_labels_of, full_run, replaced, rows

pytestmark = pytest.mark.usefixtures("inline_runs")


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


def test_another_signature_is_named_part_by_part(yesterday: Before, tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    templates = tmp_path / "t.json"
    templates.write_text('{"eatType": "<subject> is a <object>."}')
    more = ("--templates", templates, "--protocol", "nlgi_eval")
    arguments = ("--out", tmp_path / "out", "--bundle", bundle, "--max-error-rate", "1", *more, "--reuse", before)
    said = scorer("run", data, *arguments).stderr
    summary = json.loads((tmp_path / "out" / "_run.json").read_text())
    found = summary["reuse"][0]
    assert not found["signature_equal"]
    assert [part.partition(":")[0] for part in found["differs"]] == ["templates", "protocol"]
    assert found["shards_refused"] == {"other signature": 3}
    assert "its signature differs (templates: " in said
    assert summary["rows"]["reused"] == 0
    together = assert_labels_of(full_run(data, tmp_path / "full", bundle, *more), tmp_path / "out")
    assert together["all_facts_entailment"].null_count < len(together)


def test_details_and_prefix(yesterday: Before, tmp_path: Path, bundle: Path) -> None:
    data, _ = yesterday
    detailed, out = tmp_path / "detailed", tmp_path / "out"
    run(data, detailed, bundle, "--details", "--prefix", "p_")
    # Tonight's input holds the columns of an earlier scoring, which are not yesterday's labels of these rows.
    inner = tmp_path / "in"
    for name in bytes_of(detailed):
        table = pq.read_table(detailed / name)
        (inner / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(replaced(table, "p_fine", 1, "OK"), inner / name)
    more = ("--details", "--prefix", "q_")
    assert run(inner, out, bundle, *more, "--reuse", detailed)["rows"]["scored"] == 0
    run(inner, tmp_path / "full", bundle, *more)
    for name in bytes_of(out):
        full, found = pq.read_table(tmp_path / "full" / name), pq.read_table(out / name)
        assert found.drop_columns("q_reused").equals(full.drop_columns("q_reused"))


def test_a_row_under_another_ones_number_is_not_believed(
    yesterday: Before, tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, before = yesterday
    find = KeyIndex.find
    monkeypatch.setattr(KeyIndex, "find", lambda self, words: np.roll(find(self, words), 1))
    assert run(data, tmp_path / "out", bundle, "--reuse", before)["rows"]["reused"] == 0
    assert_labels_of(before, tmp_path / "out")


def test_errors_of_yesterday_are_asked_again(tmp_path: Path) -> None:
    bad = make_bundle(tmp_path / "bad", bad={"fp32": ("Z", float("nan"))})
    table = pa.table({"text": ["a pub", "Z", "a pub Z", "x" * 3000], "mr": ["name[N], food[F]"] * 4})
    pq.write_table(table, tmp_path / "in.parquet")
    first = run(tmp_path / "in.parquet", tmp_path / "before", bad)
    assert first["rows"]["errors"] == {"not_finite": 2, "too_long": 1}
    second = run(tmp_path / "in.parquet", tmp_path / "out", bad, "--reuse", tmp_path / "before")
    assert second["rows"] == {**first["rows"], "scored": 0, "reused": 1}
    assert second["reuse"][0]["keys"] == 1
    assert second["checks"]["all"] == first["checks"]["all"] - 2  # but those of the row that has its label
    assert pq.read_table(tmp_path / "out" / "in.parquet")["reused"].to_pylist() == [True, False, False, False]
