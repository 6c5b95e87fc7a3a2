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


def test_relations_named_in_the_order_of_the_text_are_turned() -> None:
    row = {"relation": "Cause-Effect(e2,e1)", "name": "Cause-Effect", "text": "Outbreaks caused by a virus.",
           "head": "Outbreaks", "tail": "virus", "head_id": None}  # fmt: skip
    right, _ = relations([row])
    ends = ("virus", "Outbreaks") if right.premise == row["text"] else ("Outbreaks", "virus")
    made = [w.replace("{h}", ends[0]).replace("{t}", ends[1]) for w in sentence_pairs.WORDINGS["Cause-Effect"]]
    assert right.hypothesis in [m[0].upper() + m[1:] for m in made]


@pytest.mark.slow
def test_test_rows_and_a_quarter_of_each_set_are_left_out(shared_data: Path) -> None:
    folder = shared_data.parent / "field"
    tests = shared_data.parent / "nli" / "nli_test_public.parquet"
    found = field.read(folder, tests)
    pairs = set(zip(found["premise"], found["hypothesis"], strict=True))
    for name in SETS:
        every = field.recast(folder, name)
        kept = [pair for pair in every if pair[:2] in pairs]
        assert 0.6 < len(kept) / len(every) < 0.8
        assert all(is_trained(pair.key) for pair in kept) or name == "nli_breaking"
    for name in ("paws_wiki_dev_test", "gap_coreference"):
        for row in pq.read_table(folder / f"{name}.parquet").to_pylist():
            if row["split"] == "test":
                assert row.get("text", row.get("sentence1")) not in found["premise"]
    assert not set(found["premise"]) & set(pq.read_table(tests)["premise"].to_pylist())


@pytest.mark.slow
def test_the_held_out_quarter_of_each_set_is_not_trained_on(shared_data: Path) -> None:
    data = shared_data.parent
    trained = field.read(data / "field", data / "nli" / "nli_test_public.parquet")
    pairs = set(zip(trained["premise"], trained["hypothesis"], strict=True))
    for name in SETS:
        held = {(p.premise, p.hypothesis) for p in field.recast(data / "field", name) if not is_trained(p.key)}
        assert len(held) > 50, name
        assert not held & pairs, name
