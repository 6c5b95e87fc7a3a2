"""Nights over earlier outputs, each beside a full run: the same labels, and only what changed is scored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.run import Outcome, RunOptions
from scorer.run import run as run_shards
from scorer.storage import KeyIndex, Receipt, Receipts
from scorer.storage.receipts import file_sha256
from tests.bundles import make_bundle
from tests.test_run import STRUCT, bytes_of, run, scorer

SHARD = 40


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # int8 on a CPU runs one pair a call, so that a pair's numbers are the same bits in any company.
    return make_bundle(tmp_path_factory.mktemp("reuse") / "tiny", precisions=["int8"])


def rows(numbers: list[int] | range, *, edited: bool = False) -> pa.Table:
    """A row a number, with error rows and noted rows among them; an edited row says something else."""
    triples = [
        [{"subject": f"N{i}", "predicate": "eatType", "object": f"pub {i % 3 + j}"} for j in range(1 + i % 3)]
        for i in numbers
    ]
    texts = [
        None if i % 20 == 7 else "" if i % 20 == 8 else f"N{i} is {'no ' * edited}pub {i % 4}, they say."
        for i in numbers
    ]
    return pa.table(
        {
            "text": pa.array(texts, pa.string()),
            "weight": pa.array(numbers, pa.int64()),
            "triples": pa.array(triples, pa.list_(STRUCT)),
        }
    )


@pytest.fixture(scope="module")
def yesterday(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> tuple[Path, Path]:
    """A data set of three shards, and the output of a run over it."""
    base = tmp_path_factory.mktemp("yesterday")
    for i, name in enumerate(("a.parquet", "b.parquet", "deep/c.parquet")):
        path = base / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows(range(i * SHARD, (i + 1) * SHARD)), path)
    run(base / "in", base / "out", bundle)
    return base / "in", base / "out"


def full_run(data: Path, out: Path, bundle: Path, *more: Any) -> Path:
    run(data, out, bundle, *more)
    return out


def assert_labels_of(full_out: Path, out: Path) -> pa.Table:
    """All columns of all rows are those of a run that reused nothing; returns the rows of ``out``."""
    assert bytes_of(full_out).keys() == bytes_of(out).keys()
    tables = []
    for name in bytes_of(out):
        full, found = pq.read_table(full_out / name), pq.read_table(out / name)
        assert found.schema.equals(full.schema, check_metadata=True)
        assert found.drop_columns("reused").equals(full.drop_columns("reused")), name
        tables.append(found.drop_columns("triples"))
    counted, full_counts = (json.loads((folder / "_run.json").read_text()) for folder in (out, full_out))
    for key in ("labels", "facts", "signature"):
        assert counted[key] == full_counts[key]
    together = pa.concat_tables(tables)
    assert counted["rows"]["in"] == len(together)
    assert counted["rows"]["reused"] == sum(together["reused"].to_pylist())
    assert counted["rows"]["reused"] + counted["rows"]["scored"] == full_counts["rows"]["scored"]
    for key in ("in", "errors", "notes"):
        assert counted["rows"][key] == full_counts["rows"][key]
    return together


def test_an_unchanged_night_scores_only_the_sample(yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    out = tmp_path / "out"
    summary = run(data, out, bundle, "--reuse", before)
    assert_labels_of(before, out)
    labelled = 3 * SHARD - 6
    assert summary["rows"] == {
        "in": 3 * SHARD,
        "scored": 0,
        "reused": labelled,
        "errors": {"null_text": 6},
        "notes": {"empty_text": 6},
    }
    assert summary["reuse"] == [
        {
            "out": str(before),
            "signature_equal": True,
            "differs": [],
            "keys": labelled,
            "shards_used": 3,
            "shards_refused": {},
        }
    ]
    assert summary["recheck"] == {"rows": 3, "disagreed": 0, "bound": pytest.approx(summary["bound"] + 1e-6)}
    # The first row of each shard: rows 0, 40 and 80 of 1, 2 and 3 facts, and a check of each whole.
    assert summary["checks"]["all"] == (1 + 1) + (2 + 1) + (3 + 1)
    assert (out / "_SUCCESS").exists()


class Quiet:
    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: None


def test_windows_of_a_few_rows_are_joined_as_well(
    yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, before = yesterday

    def night(out: Path, reuse: Path) -> Outcome:
        options = RunOptions((str(data),), out, max_error_rate=1.0, window_rows=7, reuse=(reuse,))
        return run_shards(options, lambda budgets: Scorer(bundle), Quiet())

    assert night(tmp_path / "out", before).exit_code == 0
    assert_labels_of(before, tmp_path / "out")
    assert (
        json.loads((tmp_path / "out" / "_run.json").read_text())["recheck"]["rows"] == 3
    )  # once a shard, not a window
    # A row of a later window that disagrees is named by its place in the shard.
    forged = Path(shutil.copytree(before, tmp_path / "forged"))
    forge(forged, "b.parquet", lambda table: replaced(table, "confidence", 30, 0.123))
    monkeypatch.setattr("scorer.reuse.match.RECHECKED", 0.9999999)
    outcome = night(tmp_path / "again", forged)
    assert outcome.exit_code == 3
    assert outcome.summary["recheck"] == {"rows": 114, "disagreed": 1, "bound": pytest.approx(1e-6, abs=1e-4)}
    message = json.loads((tmp_path / "again" / "_failed" / "b.parquet.json").read_text())["message"]
    assert "1 of 38 reused rows" in message
    assert ": row 30 (key " in message
    assert "confidence: 0.123 stored" in message


def test_the_same_plan_gives_the_same_bytes(yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    data = Path(shutil.copytree(data, tmp_path / "in"))
    pq.write_table(rows(range(30, 70)), data / "b.parquet")
    one, other = tmp_path / "one", tmp_path / "other"
    first = run(data, one, bundle, "--reuse", before)
    assert 0 < first["rows"]["reused"] < first["rows"]["in"]
    run(data, other, bundle, "--reuse", before)
    assert bytes_of(one) == bytes_of(other)
    # A resume reuses as the run did before, and skips what is done.
    (other / "_receipts" / "b.parquet.json").unlink()
    (other / "_SUCCESS").unlink()
    resumed = run(data, other, bundle, "--reuse", before)
    assert resumed["shards"]["skipped"] == 2
    assert bytes_of(one) == bytes_of(other)
    for key in ("rows", "labels", "checks", "recheck"):
        assert resumed[key] == first[key]
    again = run(data, other, bundle, "--reuse", before)
    assert (again["shards"]["skipped"], again["reuse"][0]["keys"]) == (3, None)


def test_another_reuse_on_a_resume_mixes_nothing(yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path) -> None:
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


def test_rows_edited_added_removed_moved_and_spelt_anew(
    yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path
) -> None:
    _, before = yesterday
    data = tmp_path / "in"
    data.mkdir()
    kept = [i for i in range(3 * SHARD) if i % 10 != 3]  # a tenth removed
    order = np.random.default_rng(5).permutation(kept).tolist()  # every row of any shard anywhere
    half = len(order) // 2
    edited = order[:5]
    pq.write_table(pa.concat_tables([rows(edited, edited=True), rows(order[5:half])]), data / "x.parquet")
    table = pa.concat_tables([rows(order[half:]), rows(range(500, 520))])  # 20 added
    spelt = [
        [f" {t['subject']} | {t['predicate']} |{t['object']} " for t in row] for row in table["triples"].to_pylist()
    ]
    table = table.set_column(2, "triples", pa.array(spelt, pa.list_(pa.string())))
    pq.write_table(table, data / "y.parquet")
    summary = run(data, tmp_path / "out", bundle, "--reuse", before)
    together = assert_labels_of(full_run(data, tmp_path / "full", bundle), tmp_path / "out")
    scored = [n for n, r in zip(*(together[c].to_pylist() for c in ("weight", "reused")), strict=True) if not r]
    errors = [n for n in together["weight"].to_pylist() if n % 20 == 7]
    unedited = [n for n in edited if n % 20 in (7, 8)]  # without a text there is nothing to edit
    assert sorted(scored) == sorted({*edited, *range(500, 520), *errors} - {n for n in unedited if n % 20 == 8})
    assert summary["rows"]["scored"] == len(set(scored) - set(errors))


def test_several_earlier_outputs_and_one_that_is_not_finished(
    yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path
) -> None:
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
    # Where their labels were computed is not known, so that twice this device's own bound is allowed.
    assert summary["recheck"]["bound"] == pytest.approx(summary["bound"] + 1e-6)


def test_a_chain_of_nights_keeps_where_labels_come_from(
    yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path
) -> None:
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
        assert summary["recheck"]["bound"] == pytest.approx((0.25 + summary["bound"]) / 2 + 1e-6)


def test_a_damaged_file_is_not_used_and_the_others_are(
    yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path
) -> None:
    data, before = yesterday
    damaged = Path(shutil.copytree(before, tmp_path / "damaged"))
    content = bytearray((damaged / "a.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (damaged / "a.parquet").write_bytes(content)
    (damaged / "_receipts" / "b.parquet.json").write_text("{}")
    summary = run(data, tmp_path / "out", bundle, "--reuse", damaged)
    assert_labels_of(before, tmp_path / "out")
    assert summary["reuse"][0]["shards_refused"] == {"damaged file": 1, "damaged receipt": 1}
    assert summary["rows"]["reused"] == SHARD - 2


def forge(out: Path, relative: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change an output, and its receipt with it, as nobody does by accident."""
    table = change(pq.read_table(out / relative))
    pq.write_table(table, out / relative, row_group_size=16)
    receipts = Receipts(out)
    old = receipts.read(relative)
    assert old is not None
    output = {
        "sha256": file_sha256(out / relative),
        "bytes": (out / relative).stat().st_size,
        "rows": len(table),
    }
    receipts.write(Receipt(relative, old.input, old.signature, output, old.counts))


def replaced(table: pa.Table, name: str, row: int, value: Any) -> pa.Table:
    column = table[name].to_pylist()
    column[row] = value
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(place), pa.array(column).cast(table.schema.field(place).type))


def test_labels_that_are_not_what_they_were_fail_the_run(
    yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path
) -> None:
    data, before = yesterday
    forged, out = Path(shutil.copytree(before, tmp_path / "forged")), tmp_path / "out"
    table = pq.read_table(forged / "b.parquet")
    key, old = table["row_key"][0].as_py().hex(), table["text_entailment"][0].as_py()
    forge(forged, "b.parquet", lambda table: replaced(table, "text_entailment", 0, 1.0 - old))
    said = scorer("run", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", "--reuse", forged, code=3)
    assert "1 of 3 reused rows that were scored again disagree" in said.stderr
    assert "set aside b.parquet" in said.stderr
    assert not (out / "_SUCCESS").exists()
    assert not (out / "b.parquet").exists()
    noted = json.loads((out / "_failed" / "b.parquet.json").read_text())
    assert noted["kind"] == "disagreed"
    assert f"row 0 (key {key}): text_entailment: {1 - old:.6g} stored, {old:.6g} now" in noted["message"]
    recheck = json.loads((out / "_run.json").read_text())["recheck"]
    assert (recheck["rows"], recheck["disagreed"]) == (3, 1)
    run(data, out, bundle, "--reuse", forged, code=3)  # it is not forgotten
    run(data, out, bundle)
    assert_labels_of(before, out)


@pytest.mark.parametrize(
    ("column", "value", "agrees"),
    [
        ("confidence", lambda old: old + 1e-7, True),
        ("fine", lambda old: "hallucination" if old != "hallucination" else "OK", False),
    ],
)
def test_what_a_recheck_lets_pass(
    yesterday: tuple[Path, Path],
    tmp_path: Path,
    bundle: Path,
    column: str,
    value: Callable[[Any], Any],
    agrees: bool,
) -> None:
    data, before = yesterday
    forged = Path(shutil.copytree(before, tmp_path / "forged"))
    forge(forged, "a.parquet", lambda table: replaced(table, column, 0, value(table[column][0].as_py())))
    summary = run(data / "a.parquet", tmp_path / "out", bundle, "--reuse", forged, code=0 if agrees else 3)
    assert (summary["recheck"]["rows"], summary["recheck"]["disagreed"]) == (1, 0 if agrees else 1)


def test_another_signature_is_named_part_by_part(yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path) -> None:
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
    # And with the same one, all columns of that protocol are taken over.
    again = run(data, tmp_path / "again", bundle, *more, "--reuse", tmp_path / "out")
    assert again["rows"]["scored"] == 0
    assert bytes_of(tmp_path / "again").keys() == bytes_of(tmp_path / "out").keys()
    name = "deep/c.parquet"
    columns = ["all_facts_entailment", "fine"]
    assert pq.read_table(tmp_path / "again" / name, columns=columns).equals(
        pq.read_table(tmp_path / "out" / name, columns=columns)
    )


def test_errors_of_yesterday_are_asked_again(tmp_path: Path) -> None:
    bad = make_bundle(tmp_path / "bad", bad={"fp32": ("Z", float("nan"))})
    table = pa.table({"text": ["a pub", "Z", "a pub Z", "x" * 3000], "mr": ["name[N], food[F]"] * 4})
    pq.write_table(table, tmp_path / "in.parquet")
    first = run(tmp_path / "in.parquet", tmp_path / "before", bad)
    assert first["rows"]["errors"] == {"not_finite": 2, "too_long": 1}
    second = run(tmp_path / "in.parquet", tmp_path / "out", bad, "--reuse", tmp_path / "before")
    assert second["rows"] == {**first["rows"], "scored": 0, "reused": 1}
    assert second["reuse"][0]["keys"] == 1
    assert second["checks"]["all"] == first["checks"]["all"]  # three error rows, and the one that is scored again
    assert pq.read_table(tmp_path / "out" / "in.parquet")["reused"].to_pylist() == [True, False, False, False]


def test_details_and_prefix(yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    detailed, out = tmp_path / "detailed", tmp_path / "out"
    summary = run(data, detailed, bundle, "--details", "--prefix", "p_", "--reuse", before)
    assert summary["reuse"][0]["shards_refused"] == {"no column details": 3}
    assert summary["rows"]["reused"] == 0
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
    # And that output, with two columns of keys, serves again.
    assert run(data, tmp_path / "plain", bundle, "--reuse", out)["rows"]["scored"] == 0
    assert_labels_of(before, tmp_path / "plain")


def test_selections_and_a_template_that_must_not_be_missing(tmp_path: Path, bundle: Path) -> None:
    table = rows(range(12)).append_column("selected", pa.array([[0], None, [1], [9]] * 3, pa.list_(pa.int32())))
    pq.write_table(table, tmp_path / "in.parquet")
    first = run(tmp_path / "in.parquet", tmp_path / "before", bundle)
    (tmp_path / "in2").mkdir()
    changed = [[0], [0], [1], [9]] * 3  # every fourth row selects what it did not
    pq.write_table(
        table.set_column(3, "selected", pa.array(changed, pa.list_(pa.int32()))), tmp_path / "in2/in.parquet"
    )
    summary = run(tmp_path / "in2", tmp_path / "out", bundle, "--reuse", tmp_path / "before")
    assert_labels_of(full_run(tmp_path / "in2", tmp_path / "full", bundle), tmp_path / "out")
    assert 0 < summary["rows"]["reused"] < first["rows"]["scored"]
    refused = ("--missing-template", "error", "--reuse", tmp_path / "before")
    said = scorer("run", tmp_path / "in.parquet", "--out", tmp_path / "no", "--bundle", bundle, *refused, code=2)
    assert "no template for predicate 'eatType'" in said.stderr


def test_a_row_under_another_ones_number_is_not_believed(
    yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, before = yesterday
    find = KeyIndex.find
    monkeypatch.setattr(KeyIndex, "find", lambda self, words: np.roll(find(self, words), 1))
    assert run(data, tmp_path / "out", bundle, "--reuse", before)["rows"]["reused"] == 0
    assert_labels_of(before, tmp_path / "out")


def test_what_cannot_be_reused_is_refused(yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    (tmp_path / "empty").mkdir()
    for given, said in (
        (tmp_path / "nowhere", "does not exist"),
        (data / "a.parquet", "is a file"),
        (data, "no output folder"),
        (tmp_path / "empty", "no output folder"),
        (before / ".." / "out", "the output folder itself"),
    ):
        found = scorer("run", data, "--out", before, "--bundle", bundle, "--reuse", given, code=2)
        assert said in found.stderr
        assert str(given) in found.stderr


@pytest.mark.slow
def test_parts_reuse_as_one_run_does(yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path) -> None:
    data, before = yesterday
    for k in (1, 2):
        summary = run(data, tmp_path / "out", bundle, "--reuse", before, "--part", f"{k}/2")
    assert summary["rows"]["reused"] == 3 * SHARD - 6
    assert (tmp_path / "out" / "_SUCCESS").exists()
    run(data, tmp_path / "whole", bundle, "--reuse", before)
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "whole")


def test_a_plan_says_how_many_rows_would_be_reused(yesterday: tuple[Path, Path], tmp_path: Path, bundle: Path) -> None:
    _, before = yesterday
    pq.write_table(rows(range(100, 140)), tmp_path / "new.parquet")
    result = scorer("plan", tmp_path / "new.parquet", "--bundle", bundle, "--reuse", before, "--json")
    planned = json.loads(result.stdout)
    done = run(tmp_path / "new.parquet", tmp_path / "out", bundle, "--reuse", before)
    assert 0 < planned["rows"]["reused"] == done["rows"]["reused"] < 40
    assert planned["checks"] == {key: done["checks"][key] for key in ("all", "unique")}
    assert planned["facts"] == done["facts"]
    assert planned["reuse"] == done["reuse"]
    shown = scorer("plan", tmp_path / "new.parquet", "--bundle", bundle, "--reuse", before).stdout
    assert f"{done['rows']['reused']} of these would be reused" in shown
