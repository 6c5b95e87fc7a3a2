"""`--checks omission`: the checks of facts of a run of both sides, no others, and figures of that side alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.errors import UsageError
from scorer.scoring.settings import Settings
from tests.conftest import ROOT
from tests.run.calls import scorer

BUNDLE = ROOT / "tests" / "bundles" / "e2e"
SAMPLE = ROOT / "tests" / "bundles" / "restaurants.parquet"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("sides")
    rows = pq.read_table(SAMPLE)
    gold = pa.array(["OK", "omission"] * (len(rows) // 2))
    pq.write_table(rows.append_column("gold_fine", gold), folder / "in.parquet")
    for sides in ("both", "omission"):
        scorer("run", folder / "in.parquet", "--bundle", BUNDLE, "--checks", sides, "--out", folder / sides)
    return {sides: folder / sides for sides in ("both", "omission")}


def test_labels_are_those_of_the_omission_side_of_a_whole_run(outputs: dict[str, Path]) -> None:
    both, alone = (pq.read_table(outputs[sides] / "in.parquet").to_pylist() for sides in ("both", "omission"))
    assert {row["fine"] for row in alone} == {"OK", "omission"}
    for row, one in zip(both, alone, strict=True):
        assert one["fine"] == ("omission" if "omission" in row["fine"] else "OK")
        assert (one["omitted"], one["fact_entailment"]) == (row["omitted"], row["fact_entailment"])
        assert one["text_entailment"] is None and one["row_key"] == row["row_key"]
        assert one["confidence"] == pytest.approx(min(one["fact_entailment"] or [0.0]))  # a blank text
    checks = {sides: json.loads((outputs[sides] / "_run.json").read_bytes())["checks"]["all"] for sides in outputs}
    assert checks["both"] - checks["omission"] == sum(row["text_entailment"] is not None for row in both)


def test_readers_have_no_figures_of_the_other_side(outputs: dict[str, Path], tmp_path: Path) -> None:
    out = outputs["omission"]
    assert "|checks:omission|" in json.loads((out / "_run.json").read_bytes())["signature"]
    (tmp_path / "gates.toml").write_text('[[gates]]\nmetric = "hallucination_rate"\nfail = 0.9\n')
    audited = scorer("audit", out, "--json", "--gates", tmp_path / "gates.toml", code=1)
    document = json.loads(audited.stdout)
    rates: dict[str, Any] = document["groups"][0]["rates"]
    assert rates["hallucination_rate"]["value"] is None and rates["omission_rate"]["value"] > 0
    assert "hallucinations were not checked (--checks omission)" in " ".join(document["notes"])
    assert "did not look for hallucinations (--checks omission)" in document["gates"][0]["reason"]
    assert "checked for omissions only" in scorer("evaluate", out, "--resamples", 0).stderr
    explained = json.loads(scorer("explain", out, "--row", "in.parquet:1", "--json").stdout)
    assert explained["same_labels"] and {check["check"] for check in explained["recomputed"]["checks"]} == {"omission"}


def test_what_checks_the_other_side_is_refused() -> None:
    with pytest.raises(UsageError, match="--sentences checks for hallucinations, which --checks omission leaves out"):
        Settings(BUNDLE, checks="omission", sentences=True)
    with Scorer(BUNDLE, checks="omission", device="cpu") as one:
        verdict = one.score([("Blue Spice", "eatType", "pub")], "Blue Spice is a pub by the river.")
    assert verdict.fine in ("OK", "omission") and verdict.text_entailment is None
