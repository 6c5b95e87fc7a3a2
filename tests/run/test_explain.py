from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.errors import InputError, UsageError
from scorer.run.explain import budgets_of_run, explain, find_row
from scorer.scoring.outputs import Output
from scorer.storage.location import Location, StoreUri
from scorer.storage.object_store import ObjectStore
from scorer.storage.output_folder import OutputFolder
from scorer.storage.run_plan import Budgets
from scorer.storage.store import LocalStore
from tests.bundles import make_bundle
from tests.run.calls import run, scorer
from tests.storage.backends import files, put
from tests.storage.backends import memory as memory


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    folder = tmp_path_factory.mktemp("explained")
    table = pa.table({"text": ["The Mill is a pub.", "", None], "mr": ["name[The Mill], eatType[pub]"] * 3})
    (folder / "in" / "deep").mkdir(parents=True)
    pq.write_table(table, folder / "in" / "deep" / "a.parquet")
    pq.write_table(table.slice(0, 2), folder / "in" / "b.parquet")
    run(folder / "in", folder / "out", tiny)
    return folder / "out"


def test_the_same_variant_gives_the_same_numbers(out: Path, tiny: Path) -> None:
    output = Output.open(out)
    found = explain(output, Scorer(tiny), 2)
    assert (found.file, found.row) == ("deep/a.parquet", 0)
    assert found.signature == found.stored_signature
    assert (found.difference, found.within_bound, found.same_labels) == (0.0, True, True)
    assert found.allowed is not None and found.allowed < 1e-3 and found.recomputed is not None
    assert [check.tokens for check in found.recomputed.checks] == [
        len(Scorer(tiny).engine.tokenizer.join(check.premise, check.hypothesis)) for check in found.recomputed.checks
    ]


def test_rows_without_probabilities(out: Path, tiny: Path) -> None:
    empty, failed = (explain(Output.open(out), Scorer(tiny), 2 + row) for row in (1, 2))
    assert empty.recomputed is not None and (empty.recomputed.note, empty.same_labels) == ("empty_text", True)
    assert (failed.recomputed, failed.same_labels, failed.stored["error"]) == (None, None, "null_text")
    assert {(found.difference, found.within_bound) for found in (empty, failed)} == {(None, None)}


def test_another_variant_is_held_against_both_bounds(out: Path, tiny: Path) -> None:
    other = Scorer(tiny, precision="fp32")
    found = explain(Output.open(out), other, 2)
    assert found.signature != found.stored_signature and found.within_bound
    bound = json.loads((out / "_run.json").read_text())["bound"]
    assert found.allowed == pytest.approx(0.5 * (bound + other.engine.report.bound))


def test_a_changed_number_is_beyond_the_bound(out: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(output: Output, numbers: list[int]) -> dict[int, pa.Table]:
        found = rows_of(output, numbers)
        position = found[0].schema.get_field_index("text_entailment")
        return {0: found[0].set_column(position, "text_entailment", pa.array([0.123], pa.float32()))}

    rows_of = Output.rows
    monkeypatch.setattr(Output, "rows", changed)
    assert explain(Output.open(out), Scorer(tiny), 0).within_bound is False


def test_finding_rows(out: Path, tmp_path: Path) -> None:
    output = Output.open(out)
    key = pq.read_table(out / "deep" / "a.parquet")["row_key"][2].as_py().hex()
    assert find_row(output, None, key) == find_row(output, "deep/a.parquet:2", None) == 4
    neither = [(row, None) for row in ("a", "a:b", "a:²", "a:" + "9" * 5000, "1")]
    for given in (*neither, (None, "xyz"), (None, None), ("a:1", "00")):
        with pytest.raises(UsageError):
            find_row(output, *given)
    with pytest.raises(InputError, match="no row with key"):
        find_row(output, None, "00" * 16)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("deep/a.parquet:3", r"deep/a\.parquet in .* has 3 rows, counted from 0; there is no row 3"),
        ("b.jsonl:1", r"has no file b\.jsonl; did you mean b\.parquet:1\?"),
        ("a.parquet:0", r"did you mean deep/a\.parquet:0\?"),
        ("{out}/deep/a.parquet:0", r"did you mean deep/a\.parquet:0\?"),
        ("depe/a.parqet:0", r"did you mean deep/a\.parquet:0\?"),
        ("zzz:0", r"has no file zzz; it has b\.parquet, deep/a\.parquet"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_one(out: Path, given: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        find_row(Output.open(out), given.format(out=out), None)


def test_a_row_is_computed_in_the_calls_of_its_run(out: Path, tiny: Path, tmp_path: Path) -> None:
    settings, plan = Output.open(out).run_settings, OutputFolder(out).read_plan()
    assert plan is not None
    assert budgets_of_run(plan, settings) == plan.budgets
    assert budgets_of_run(plan, replace(settings, precision="int8")) == plan.budgets
    assert budgets_of_run(plan, replace(settings, precision="fp32")) == Budgets()
    other = make_bundle(tmp_path / "other", precisions=("fp32",))
    assert budgets_of_run(plan, replace(settings, bundle=other)) == Budgets()


@pytest.mark.parametrize("kind", ["folder", "bucket"])
def test_the_file_of_the_row_alone_is_opened(
    out: Path, kind: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    place: Location = out
    if kind == "bucket":
        request.getfixturevalue("memory")
        place = StoreUri("s3", "bucket", "runs/a b")
        for name, content in files(out).items():
            put(place, name, content)
    opened = list[str]()
    for store in (LocalStore, ObjectStore):

        def noted(self: Any, name: str, *more: Any, open: Any = store.open) -> Any:
            opened.append(name)
            return open(self, name, *more)

        monkeypatch.setattr(store, "open", noted)
    for row in ("deep/a.parquet:1", "b.parquet:0"):
        found = json.loads(scorer("explain", place, "--row", row, "--json").stdout)
        assert (found["same_labels"], opened) == (True, [row.partition(":")[0]])
        opened.clear()
    assert json.loads(scorer("audit", place, "--json").stdout)["rows"]["in"] == 5
    assert {*opened} == {"deep/a.parquet", "b.parquet"}
