from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.errors import InputError, OutputError, UsageError
from scorer.run.explain import budgets_of_run, explain, find_row
from scorer.scoring.output_files import settings_of
from scorer.scoring.plan import Budgets
from tests.bundles import make_bundle
from tests.run.calls import run


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
    found = explain(out, Scorer(tiny), "deep/a.parquet", 0)
    assert found.signature == found.stored_signature
    assert (found.difference, found.within_bound, found.same_labels) == (0.0, True, True)
    assert found.allowed is not None and found.allowed < 1e-3
    assert [check.tokens for check in found.recomputed.checks] == [
        len(Scorer(tiny).engine.tokenizer.join(check.premise, check.hypothesis)) for check in found.recomputed.checks
    ]


def test_rows_without_probabilities(out: Path, tiny: Path) -> None:
    for row, expected in ((1, ("empty_text", None)), (2, (None, "null_text"))):
        found = explain(out, Scorer(tiny), "deep/a.parquet", row)
        assert (found.recomputed.note, found.recomputed.error) == expected
        assert (found.difference, found.within_bound, found.same_labels) == (None, None, True)


def test_another_variant_is_held_against_both_bounds(out: Path, tiny: Path) -> None:
    other = Scorer(tiny, precision="fp32")
    found = explain(out, other, "deep/a.parquet", 0)
    assert found.signature != found.stored_signature and found.within_bound
    bound = json.loads((out / "_run.json").read_text())["bound"]
    assert found.allowed == pytest.approx(0.5 * (bound + other.facts.bound))


def test_a_changed_number_is_beyond_the_bound(out: Path, tiny: Path, tmp_path: Path) -> None:
    forged = Path(shutil.copytree(out, tmp_path / "forged"))
    table = pq.read_table(out / "b.parquet")
    position = table.schema.get_field_index("text_entailment")
    changed = table.set_column(position, "text_entailment", pa.array([0.123, None], pa.float32()))
    pq.write_table(changed, forged / "b.parquet")
    assert explain(forged, Scorer(tiny), "b.parquet", 0).within_bound is False


def test_a_row_is_computed_in_the_calls_of_its_run(out: Path, tiny: Path, tmp_path: Path) -> None:
    settings, plan = settings_of(out)
    assert budgets_of_run(plan, settings) == plan.budgets
    assert budgets_of_run(plan, replace(settings, precision="int8")) == plan.budgets
    assert budgets_of_run(plan, replace(settings, precision="fp32")) == Budgets()
    other = make_bundle(tmp_path / "other", precisions=("fp32",))
    assert budgets_of_run(plan, replace(settings, bundle=other)) == Budgets()


def test_finding_rows(out: Path) -> None:
    _, plan = settings_of(out)
    key = pq.read_table(out / "deep" / "a.parquet")["row_key"][2].as_py().hex()
    assert find_row(out, plan, None, key) == ("deep/a.parquet", 2)
    assert find_row(out, plan, "deep/a.parquet:7", None) == ("deep/a.parquet", 7)
    neither = [(row, None) for row in ("a", "a:b", "a:²", "a:" + "9" * 5000)]
    for given in (*neither, (None, "xyz"), (None, None), ("a:1", "00")):
        with pytest.raises(UsageError):
            find_row(out, plan, *given)
    with pytest.raises(InputError, match="no row with key"):
        find_row(out, plan, None, "00" * 16)
    with pytest.raises(OutputError, match=r"_plan\.json"):
        settings_of(out / "deep")
