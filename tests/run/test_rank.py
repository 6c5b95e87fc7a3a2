"""``scorer rank``: candidates scored as rows of their own, put together again, through the run of any other metric."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.metric.columns import OUTPUT
from scorer.metric.triples import parse_mr
from tests.run.calls import scorer

MRS = [
    "name[The Mill], eatType[pub], area[riverside]",
    "name[Blue Spice], area[city centre]",
    "name[The Mill], food[Thai]",
    "name[The Mill], food[Thai]",
    "name[The Mill], food[Thai]",
    "no slots at all",
    "name[The Mill], food[Thai]",
]
CANDIDATES: list[list[str | None] | None] = [
    ["The Mill is a pub.", "The Mill is a pub by the river.", "A pub.", "The Mill is a pub."],
    ["Blue Spice is in the city centre.", "", "Blue Spice."],
    [],
    None,
    [None, None],
    ["A text.", "Another one."],
    [None, "The Mill serves Thai food.", "long " * 600],
]
FIELDS = [name for name in OUTPUT.names if name not in ("rough", "reused")]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "in"
    (folder / "deep").mkdir(parents=True)
    candidates = pa.array(CANDIDATES, pa.list_(pa.string()))
    whole = pa.table({"id": range(len(MRS)), "mr": MRS, "candidates": candidates})
    pq.write_table(whole, folder / "a.parquet")
    pq.write_table(whole.slice(0, 2), folder / "deep" / "b.parquet")
    return folder


@pytest.fixture(scope="module")
def singles(bundle: Path) -> list[list[dict[str, Any]]]:
    """The output columns of each candidate, scored as a row of its own."""
    pairs = [(mr, text) for mr, texts in zip(MRS, CANDIDATES, strict=True) for text in texts or []]
    text = pa.array([text for _, text in pairs], pa.string())
    with Scorer(bundle) as opened:
        table = opened.score_table(pa.table({"mr": [mr for mr, _ in pairs], "text": text}))
    rows = table.to_pylist()
    return [[rows.pop(0) for _ in texts or []] for texts in CANDIDATES]


def rank(data: Path, out: Path, bundle: Path, *more: Any, code: int = 0) -> dict[str, Any]:
    scorer("rank", data, "--out", out, "--bundle", bundle, "--max-error-rate", "1", *more, code=code)
    found: dict[str, Any] = json.loads((out / "_run.json").read_text())
    return found


def position(scores: list[dict[str, Any]], order: list[str]) -> int | None:
    labelled = [i for i, one in enumerate(scores) if one["fine"] is not None]
    return min(labelled, key=lambda i: (order.index(scores[i]["fine"]), -scores[i]["confidence"], i), default=None)


def test_scores_are_those_of_single_rows(
    data: Path, bundle: Path, singles: list[list[dict[str, Any]]], tmp_path: Path
) -> None:
    summary = rank(data, tmp_path / "out", bundle)
    table = pq.read_table(tmp_path / "out" / "a.parquet")
    assert table.schema.names == ["id", "mr", "candidates", "best", "scores", "error", "note"]
    rows = table.to_pylist()
    assert [row["candidates"] for row in rows] == CANDIDATES
    order = ["OK", "omission", "hallucination", "omission+hallucination"]
    for row, expected in zip(rows, singles, strict=True):
        scores = [{name: one[name] for name in FIELDS} for one in expected]
        assert row["scores"] == (None if row["candidates"] is None else scores)
        assert row["best"] == position(expected, order)
    reasons = [None, None, "no_candidates", "no_candidates", "null_text", "malformed_triples", None]
    assert [row["error"] for row in rows] == reasons
    assert [row["note"] for row in rows] == [None] * 6 + ["candidate_errors"]
    assert rows[6]["scores"][2]["error"] == "too_long:omission+hallucination"
    assert rows[1]["scores"][1]["note"] == "empty_text"
    errors = {"no_candidates": 2, "null_text": 1, "malformed_triples": 1}
    assert summary["rows"] == {"in": 9, "scored": 5, "reused": 0, "errors": errors, "notes": {"candidate_errors": 1}}
    best = [row["scores"][row["best"]]["fine"] for row in rows + rows[:2] if row["best"] is not None]
    assert {name: n for name, n in summary["labels"].items() if n} == {name: best.count(name) for name in best}
    assert summary["signature"].endswith("|rank:1|worse:hallucination")


def test_it_resumes_and_another_order_is_another_score(data: Path, bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    rank(data, out, bundle)
    (out / "_receipts" / "deep" / "b.parquet.json").unlink()
    again = rank(data, out, bundle)
    assert (again["shards"]["skipped"], again["shards"]["done"]) == (1, 2)
    other = rank(data, out, bundle, "--worse", "omission", "--rescore")
    assert other["shards"]["skipped"] == 0 and other["signature"].endswith("worse:omission")
    order = ["OK", "hallucination", "omission", "omission+hallucination"]
    for row in pq.read_table(out / "a.parquet").to_pylist():
        assert row["best"] == position(row["scores"] or [], order)


def test_columns_that_cannot_be_ranked(data: Path, bundle: Path, tmp_path: Path) -> None:
    out, taken = tmp_path / "o", tmp_path / "taken.parquet"
    pq.write_table(pa.table({"mr": MRS, "candidates": MRS}), tmp_path / "text.parquet")
    lists = pa.array([[None], None, []], pa.list_(pa.string()))
    pq.write_table(pa.table({"mr": MRS[:3], "candidates": lists}), tmp_path / "null.parquet")
    pq.write_table(pa.table({"mr": MRS[:1], "candidates": [["A."]], "best": [0]}), taken)
    for given, says in (
        ([tmp_path / "text.parquet"], "candidates are list<string>"),
        ([data, "--candidates-column", "texts"], "no candidates column 'texts'"),
        ([tmp_path / "null.parquet"], "no_candidates 2, null_text 1: row 0 has null candidates alone"),
        ([taken], "'best'"),
    ):
        assert says in scorer("rank", *given, "--out", out, "--bundle", bundle, code=2).stderr
        assert not out.exists()
    rank(taken, out, bundle, "--prefix", "r_", "--keep", "best", "--details")
    table = pq.read_table(out / "taken.parquet")
    assert table.schema.names == ["best", "r_best", "r_scores", "r_error", "r_note"]
    assert len(table["r_scores"][0].as_py()[0]["details"]) == 3  # two facts and the text


def test_in_python_it_is_the_same(bundle: Path, singles: list[list[dict[str, Any]]]) -> None:
    with Scorer(bundle) as opened:
        for mr, texts, expected in zip(MRS[:5], CANDIDATES, singles, strict=False):
            found = opened.rank(parse_mr(mr) or [], texts or [])
            confidences = [one["confidence"] for one in expected]
            assert [one.confidence for one in found.verdicts] == pytest.approx(confidences, abs=1e-6)
            assert found.best == position(expected, ["OK", "omission", "hallucination", "omission+hallucination"])
            assert found.order[:1] == ([] if found.best is None else [found.best])
            assert sorted(found.order) == [i for i, one in enumerate(expected) if one["error"] is None]
        errors = [opened.rank(["a | b | c"], given).error for given in ([], [None])]
        assert errors == ["no_candidates", "null_text"]
        facts = opened.rank_facts(["The food of The Mill is Thai."], ["The Mill serves Thai food.", "A pub."])
        other = opened.rank(parse_mr(MRS[2]) or [], ["The Mill serves Thai food.", "A pub."])
        assert (facts.best, facts.order) == (other.best, other.order) and facts.verdicts == other.verdicts
        with pytest.raises(TypeError, match=r"candidates\[1\] is 3"):
            opened.rank(["a | b | c"], ["a", 3])  # type: ignore[list-item]
        with pytest.raises(Exception, match="worse is 'both'"):
            opened.rank(["a | b | c"], ["a"], worse="both")  # type: ignore[arg-type]
