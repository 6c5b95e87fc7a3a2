"""Public sets as sentence pairs: which rows are taken and may ship, and how they are recast."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.paper.challenge import sentence_pairs
from benchmarks.paper.challenge.sentence_pairs import is_trained, relations
from training.general import field, nli
from training.general.field import SETS

CHILD = {"relation": "P40", "name": "child", "text": "Ada is the daughter of Ben.",
         "head": "Ben", "tail": "Ada", "head_id": "Q1"}  # fmt: skip


def test_only_rows_that_may_ship_are_read(tmp_path: Path) -> None:
    rows = {name: [name, "other"] for name in ("premise", "hypothesis", "label", "source", "tier")}
    pq.write_table(pa.table({**rows, "may_ship": [True, False]}), tmp_path / "nli_train.parquet")
    assert nli.read(tmp_path / "nli_train.parquet")["label"] == ["label"]


def test_a_relation_is_stated_both_ways_and_once_where_it_holds_both_ways() -> None:
    right, wrong = relations([CHILD])
    assert (right.label, wrong.label) == ("entailment", "not_entailment")
    assert right.hypothesis != wrong.hypothesis and len(right.hypothesis) == len(wrong.hypothesis)
    exchanged = right.premise == "Ben is the daughter of Ada."
    # Each wording of the relation, with the parent and the child of the premise as it stands.
    parent, child = ("Ada", "Ben") if exchanged else ("Ben", "Ada")
    wordings = sentence_pairs.WORDINGS["P40"]
    assert right.hypothesis in [w.replace("{h}", parent).replace("{t}", child) for w in wordings]
    assert [pair.label for pair in relations([{**CHILD, "relation": "P26"}])] == ["entailment"]


@pytest.mark.slow
def test_test_rows_and_a_quarter_of_each_set_are_left_out(shared_data: Path) -> None:
    folder, tests = shared_data.parent / "field", shared_data.parent / "nli" / "nli_test_public.parquet"
    found = field.read(folder, tests)
    trained = set(zip(found["premise"], found["hypothesis"], strict=True))
    for name in SETS:
        every = field.recast(folder, name)
        assert 0.6 < sum(pair[:2] in trained for pair in every) / len(every) < 0.8
        held = {pair[:2] for pair in every if not is_trained(pair.key)}
        assert len(held) > 50 and not held & trained, name
    for name in ("paws_wiki_dev_test", "gap_coreference"):
        for row in pq.read_table(folder / f"{name}.parquet").to_pylist():
            assert row["split"] != "test" or row.get("text", row.get("sentence1")) not in found["premise"]
    assert not set(found["premise"]) & set(pq.read_table(tests)["premise"].to_pylist())
