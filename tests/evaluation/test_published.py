from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from scorer.evaluation.published import OPTIONAL_NOTE, PART_NOTE
from scorer.evaluation.report import EvaluateOptions, evaluate
from scorer.storage.counts import FactCounts, RowCounts
from tests.evaluation.scored import save, scored
from tests.plans import made_summary

AGAINST = EvaluateOptions(against="paper", resamples=0)


def test_table_2_with_difference_and_n(tmp_path: Path) -> None:
    table = scored(["OK", "omission"], gold_fine=["OK", "OK"], triples=[["a | eatType | pub"]] * 2)
    found = evaluate(save(table, tmp_path / "x.parquet"), AGAINST)["against"]
    lines = {(line["row"], line["figure"]): line for line in found["lines"]}
    line = lines["E2E Default", "rough.accuracy"]
    assert (line["published"], line["ours"], line["n"]) == (0.933, 0.5, 2)
    assert line["difference"] == pytest.approx(-0.433)
    assert line["source"] == "Dušek & Kasner (INLG 2020), Table 2"
    assert lines["E2E Backoff", "rough.f1"]["published"] == 0.834
    assert PART_NOTE in found["notes"]


def test_a_run_by_backoff_is_compared_with_backoff(tmp_path: Path) -> None:
    save(scored(["OK"], gold_fine=["OK"]), tmp_path / "x.parquet")
    (tmp_path / "_run.json").write_bytes(made_summary(rows=RowCounts(1), facts=FactCounts(0, 5)).content)
    rows = {line["row"] for line in evaluate(tmp_path, AGAINST)["against"]["lines"]}
    assert rows == {"E2E Backoff"}


def test_a_run_that_lets_restaurants_out_says_that_the_papers_did_not(tmp_path: Path) -> None:
    table = scored(["OK"], gold_fine=["omission"], gold_fine_ignore_restaurant=["OK"])
    free = "model:hand@0|prec:fp32|optional:eatType=restaurant|metric:1"
    found = evaluate(save(table, tmp_path / "x.parquet", free), AGAINST)
    assert found["fine"]["accuracy"] == 1 and found["gold"]["fine"] == "gold_fine_ignore_restaurant"
    assert OPTIONAL_NOTE in found["against"]["notes"]
    strict = evaluate(save(table, tmp_path / "x.parquet"), AGAINST)
    assert strict["fine"]["accuracy"] == 0
    assert OPTIONAL_NOTE not in strict["against"]["notes"]


def test_overlap_columns_of_webnlg17_are_near_shimorinas(shared_data: Path, tmp_path: Path) -> None:
    table = pq.read_table(shared_data / "webnlg17_humeval.parquet")
    predicted = scored(["OK" if label == "OK" else "omission" for label in table["gold_rough"].to_pylist()])
    for name in ("fine", "confidence"):
        table = table.append_column(name, predicted[name])
    report = evaluate(save(table, tmp_path / "x.parquet"), AGAINST)
    found = {line["figure"]: line for line in report["against"]["lines"] if line["figure"] in ("bleu", "meteor")}
    assert found["bleu"]["published"] == 0.59 and found["meteor"]["published"] == 0.73
    assert found["bleu"]["ours"] == pytest.approx(0.58, abs=0.005)
    assert found["meteor"]["ours"] == pytest.approx(0.72, abs=0.005)
    assert report["rough"]["accuracy"] == 1, "gold_rough is semantics of at least 2.5"
    lower = [line for line in report["against"]["lines"] if line.get("threshold") == 2.0]
    assert lower and all(np.isfinite(line["ours"]) for line in lower)
    system = [line for line in report["against"]["lines"] if line["row"] == "WebNLG17 semantics"]
    assert [line["n"] for line in system] == [9, 9, 9], "without the human one"
    assert [line["published"] for line in system] == [0.97, 0.93, 0.85]
