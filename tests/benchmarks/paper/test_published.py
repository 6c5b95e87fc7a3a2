"""Published figures next to those of an output."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.paper.published import against, errors_by_facts
from tests.evaluation.scored import save, scored


def test_table_2_with_ours_and_n(tmp_path: Path) -> None:
    table = scored(["OK", "omission"], gold_fine=["OK", "OK"], triples=[["a | eatType | pub"]] * 2)
    lines = {(line.row, line.figure): line for line in against(save(table, tmp_path / "x.parquet"))}
    line = lines["Default", "rough.accuracy"]
    assert (line.published, line.ours, line.n) == (0.933, 0.5, 2)
    assert line.source == "Dušek & Kasner (INLG 2020), Table 2"
    assert lines["Backoff", "rough.f1"].published == 0.834


def test_webnlg17_by_label_by_sentence_and_by_system(shared_data: Path, tmp_path: Path) -> None:
    table = pq.read_table(shared_data / "webnlg17_humeval.parquet")
    predicted = scored(["OK" if label == "OK" else "omission" for label in table["gold_rough"].to_pylist()])
    for name in ("fine", "confidence"):
        table = table.append_column(name, predicted[name])
    lines = against(save(table, tmp_path / "x.parquet"))
    found = {line.figure: line for line in lines if line.figure in ("bleu", "meteor")}
    assert (found["bleu"].published, found["bleu"].ours) == (0.59, pytest.approx(0.58, abs=0.005))
    assert (found["meteor"].published, found["meteor"].ours) == (0.73, pytest.approx(0.72, abs=0.005))
    labels = [line for line in lines if line.figure == "rough.accuracy"]
    assert [line.ours for line in labels] == [1.0, 1.0], "gold_rough is semantics of at least 2.5"
    system = [line for line in lines if line.row.startswith("FactSpotter")]
    assert [line.n for line in system] == [9, 9, 9], "without the human one"
    assert [line.published for line in system] == [0.97, 0.93, 0.85]


def test_right_labels_by_number_of_facts(tmp_path: Path) -> None:
    table = scored(
        ["OK", "omission", "OK", "OK"],
        gold_fine=["OK", "OK", "OK", None],
        fact_entailment=[[0.9], [0.1] * 3, [0.9] * 2, [0.9]],
    )
    found = errors_by_facts(save(table, tmp_path / "x.parquet"))
    # Of one, three and two facts the second is wrong: ranks 1, 3, 2 with 2.5, 1, 2.5.
    assert (found["gold"], found["n"]) == ("gold_fine", 3)
    assert found["spearman"] == pytest.approx(-(3**0.5) / 2)
