"""Facts that are given as sentences, through every command that reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.metric.columns import OUTPUT
from scorer.metric.templates import Templates
from scorer.metric.triples import parse_mr
from tests.bundles import make_bundle
from tests.run.calls import run, scorer

TEMPLATES = {"eatType": "<subject> is a <object>.", "area": {"riverside": "<subject> is by the river."}}
MRS = [
    "name[The Mill], eatType[pub], area[riverside]",
    "name[The Mill], eatType[pub], priceRange[cheap]",
    "name[Blue Spice], area[city centre]",
    "name[The Mill], eatType[pub], area[riverside]",
]
TEXTS = ["The Mill is a pub.", "The Mill is cheap.", "", "The Mill is by the river."]
WORDED = [[Templates.from_dict(TEMPLATES).fill(triple).text for triple in parse_mr(mr) or []] for mr in MRS]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("sentences") / "tiny", templates=TEMPLATES)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, bundle: Path) -> Path:
    folder = tmp_path_factory.mktemp("scored")
    gold = {"gold_fine": ["OK", "omission", "omission", "OK"]}
    pq.write_table(pa.table({"text": TEXTS, "facts": WORDED, **gold}), folder / "in.parquet")
    run(folder / "in.parquet", folder / "out", bundle)
    return folder / "out"


def test_rows_worded_beforehand_have_the_same_labels_and_probabilities(out: Path, bundle: Path) -> None:
    with Scorer(bundle) as opened:
        expected = opened.score_table(pa.table({"text": TEXTS, "mr": MRS}))
    found = pq.read_table(out / "in.parquet")
    labels = [name for name in OUTPUT.names if name != "row_key"]
    assert found.select(labels).to_pylist() == expected.select(labels).to_pylist()
    assert not set(found["row_key"].to_pylist()) & set(expected["row_key"].to_pylist())


def test_a_fact_takes_the_place_of_the_predicate_in_counts_and_audit(out: Path) -> None:
    facts = json.loads((out / "_run.json").read_text())["facts"]
    assert (facts["template"], facts["backoff"]) == (7, 0)
    assert {name: counts["template"] for name, counts in facts["by_predicate"].items()} == {
        "The Mill is a pub.": 3,
        "The Mill is by the river.": 2,
        "The priceRange of The Mill is cheap.".replace("priceRange", "price Range"): 1,
        "The area of Blue Spice is city centre.": 1,
    }
    report = json.loads(scorer("audit", out, "--json").stdout)
    whole = report["groups"][0] if "groups" in report else report["figures"]
    assert {one["predicate"] for one in whole["predicates"]} == facts["by_predicate"].keys() - {
        "The area of Blue Spice is city centre."  # its text is blank: nothing was checked
    }
    assert report["template_figures"] == []


def test_several_sources_need_an_option(bundle: Path, tmp_path: Path) -> None:
    other = ["name[The Mill], food[Thai]"] * 4
    pq.write_table(pa.table({"text": TEXTS, "facts": WORDED, "mr": other}), tmp_path / "in.parquet")
    said = scorer("run", tmp_path / "in.parquet", "--out", tmp_path / "out", "--bundle", bundle, code=2).stderr
    assert "--facts-column or --mr-column" in said

    def facts(*options: str) -> Any:
        folder = tmp_path / options[0]
        return run(tmp_path / "in.parquet", folder, bundle, *options)["facts"]["by_predicate"].keys()

    assert facts("--facts-column", "facts") >= {"The Mill is a pub."}
    assert facts("--mr-column", "mr") == {"food"}


def test_rows_without_facts_or_with_a_blank_one(bundle: Path) -> None:
    facts = pa.array([None, [], ["a", " "], ["a", None], [" a "]], pa.list_(pa.string()))
    with Scorer(bundle) as opened:
        table = opened.score_table(pa.table({"text": ["t"] * 5, "facts": facts}))
        assert table["error"].to_pylist() == ["no_triples"] * 2 + ["malformed_triples"] * 2 + [None]
        verdicts = [opened.score_facts(row, "t") for row in ([], ["a", " "], [" a "], ["\ud800"])]
        assert [one.error for one in verdicts] == ["no_triples", "malformed_triples", None, "invalid_utf8"]
        assert verdicts[2].facts == ["a"]
        with pytest.raises(TypeError, match="facts is 'a b'"):
            opened.score_facts("a b", "t")
        with pytest.raises(TypeError, match=r"facts\[1\] is 3"):
            opened.score_facts(["a", 3], "t")  # type: ignore[list-item]
