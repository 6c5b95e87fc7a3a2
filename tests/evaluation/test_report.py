"""The whole report on tables small enough to check by eye."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import ColumnError, OutputError, UsageError
from scorer.evaluation import EvaluateOptions, correlation
from scorer.evaluation.gold import Scored, find_inputs, load, predicted
from scorer.evaluation.ratings import HAS_TEXT
from scorer.evaluation.report import disagreements, evaluate
from scorer.metric import ColumnNames
from scorer.scoring.outputs import Output
from tests.audit.nights import night, row
from tests.evaluation.scored import SIGNATURE, save, scored

NO_INTERVALS = EvaluateOptions(resamples=0)
E2E: dict[str, list[Any]] = {
    "gold_fine": ["OK", "OK", "omission", "hallucination", "omission+hallucination", None],
    "gold_rough": ["OK", "OK", "not_OK", "not_OK", "not_OK", None],
    "gold_suspect": [False, False, False, True, False, False],
    "system": ["a", "b", "a", "b", "a", "b"],
}
PREDICTED = ["OK", None, "omission", "OK", "hallucination", "OK"]


def _report(tmp_path: Path, table: pa.Table, options: EvaluateOptions = NO_INTERVALS, **more: Any) -> dict[str, Any]:
    return evaluate(save(table, tmp_path / "out" / "x.parquet", **more).parent, options)


def test_keys_of_the_contract_and_errors(tmp_path: Path) -> None:
    report = _report(tmp_path, scored(PREDICTED, **E2E))
    assert report["rows"] == 6
    assert report["errors"] == {"n": 1, "kinds": {"null_text": 1}}
    assert report["rough"]["n"] == 5, "one row has no gold"
    assert report["rough"]["accuracy"] == pytest.approx(3 / 5)
    assert report["rough"]["precision"] == pytest.approx(2 / 3), "the error row is flagged, wrongly"
    assert report["rough"]["recall"] == pytest.approx(2 / 3)
    assert report["rough"]["f1"] == pytest.approx(2 / 3)
    assert report["rough"]["confusion"]["OK"] == {"OK": 1, "not_OK": 0, "error": 1}
    assert report["fine"]["accuracy"] == pytest.approx(2 / 5)
    assert report["fine"]["confusion"]["omission+hallucination"]["hallucination"] == 1
    assert report["omission"]["recall"] == pytest.approx(1 / 2)
    assert report["correlation"]["pearson"] is None
    assert report["signature"] == SIGNATURE


def test_gold_of_some_systems_only_and_gold_without_a_label(tmp_path: Path) -> None:
    some = scored(["OK", "omission"] * 4, gold_fine=["OK", "omission", None, None] * 2, system=list("aabb") * 2)
    report = _report(tmp_path, some, EvaluateOptions(resamples=20))
    assert [(line["value"], line["rough"]["n"]) for line in report["by"]["system"]] == [("a", 4)]
    for nothing in (pa.nulls(2, pa.string()), pa.nulls(2)):
        with pytest.raises(ColumnError, match="'gold_fine' has no label in any row"):
            _report(tmp_path, scored(["OK", "OK"], gold_fine=nothing))
        rated = _report(tmp_path, scored(["OK", "OK"], gold_fine=nothing, human_quality=[1.0, 2.0]))
        assert rated["rough"]["n"] == 0


def test_figures_by_system_by_any_column_and_without_suspects(tmp_path: Path) -> None:
    table = scored(PREDICTED, **E2E, part=[1, 1, 1, 2, 2, 2])
    report = _report(tmp_path, table, EvaluateOptions(by=("part",), resamples=0))
    assert [(line["value"], line["rough"]["n"]) for line in report["by"]["part"]] == [(1, 3), (2, 2)]
    assert [(line["value"], line["rough"]["n"]) for line in report["by"]["system"]] == [("a", 3), ("b", 2)]
    assert [line["value"] for line in report["by"]["n_triples"]] == [1]
    assert report["without_suspect"]["fine"]["accuracy"] == pytest.approx(2 / 4)
    with pytest.raises(ColumnError, match="no column 'nope'"):
        _report(tmp_path, table, EvaluateOptions(by=("nope",)))


def test_threshold_on_human_scores(tmp_path: Path) -> None:
    semantics = [3.0, 2.5, 2.4, 1.0, None, 2.5]
    table = scored(PREDICTED, human_semantics=semantics, gold_rough=["OK"] * 6)
    report = _report(tmp_path, table, EvaluateOptions(threshold=2.5, resamples=0))
    assert report["gold"]["rough"] == "human_semantics >= 2.5"
    assert report["rough"]["n"] == 5
    assert report["rough"]["confusion"]["not_OK"] == {"OK": 1, "not_OK": 1, "error": 0}
    assert report["fine"]["accuracy"] is None
    with pytest.raises(UsageError, match="is not a rating"):
        _report(tmp_path, table, EvaluateOptions(threshold=float("nan")))
    with pytest.raises(ColumnError, match="--threshold needs a column of human scores"):
        _report(tmp_path, scored(PREDICTED, **E2E), EvaluateOptions(threshold=2.5))


def test_human_scores_by_sentence_and_system(tmp_path: Path) -> None:
    table = scored(
        ["OK"] * 8,
        confidence=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
        human_semantics=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 7.0],
        system=["a", "a", "b", "b", "c", "c", "d", "d"],
        ter=[8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0],
    )
    report = _report(tmp_path, table, EvaluateOptions(metrics=("confidence", "neg:ter"), resamples=0))
    assert report["rough"]["n"] == 0 and report["rough"]["accuracy"] is None, "there are no gold labels"
    assert report["correlation"]["level"] == "sentence"
    assert report["correlation"]["spearman"] == pytest.approx(1 - 6 * 2 / (8 * 63))
    assert [line["n"] for line in report["correlations"]] == [8, 4, 8, 4]
    assert report["correlations"][1]["kendall"] == pytest.approx(1)
    assert report["correlations"][2]["spearman"] == report["correlation"]["spearman"]
    labelled = scored(["OK", "omission", None, "OK", "hallucination"], human_semantics=[3.0, 1.0, 2.0, 3.0, 1.0])
    found = _report(tmp_path, labelled, EvaluateOptions(metrics=("fine",), resamples=0))["correlation"]
    assert (found["n"], found["pearson"]) == (4, pytest.approx(1)), "the error row has no label"
    without = EvaluateOptions(exclude_systems=("d",), resamples=0)
    assert _report(tmp_path, table, without)["correlation"]["spearman"] == pytest.approx(1)
    with pytest.raises(UsageError, match="'e': no such system; the systems are a, b, c, d"):
        _report(tmp_path, table, EvaluateOptions(exclude_systems=("e",)))


def test_disagreements_are_the_rows_whose_label_is_not_that_of_the_gold(tmp_path: Path) -> None:
    gold = ["OK", "OK", "omission", None, "hallucination"]
    table = scored(["OK", "omission", "hallucination", "OK", None], gold_fine=gold, note=list("abcde"))
    path = save(table, tmp_path / "x.parquet")
    found = disagreements(path, EvaluateOptions())
    assert found.schema.names == pq.read_schema(path).names
    assert found["gold_fine"].to_pylist() == ["OK", "omission", "hallucination"], "an error is no label of the gold"
    with pytest.raises(UsageError, match="no gold labels"):
        disagreements(save(scored(["OK"], human_quality=[1.0]), tmp_path / "y.parquet"), EvaluateOptions())


def test_without_the_extra_correlations_are_null_and_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(correlation, "available", lambda: False)
    said: list[str] = []
    path = save(scored(PREDICTED, **E2E, human_quality=[1.0, 2, 3, 4, 5, 6]), tmp_path / "x.parquet")
    report = evaluate(path, EvaluateOptions(resamples=100), said.append)
    assert report["rough"]["accuracy"] == pytest.approx(3 / 5)
    assert report["correlation"]["pearson"] is None and report["correlation"]["n"] == 5
    assert any("install the extra stats" in line for line in said)


def test_unlabelled_rows_are_no_errors(tmp_path: Path) -> None:
    """A baseline of scores alone has neither labels nor errors."""
    table = scored([None, None], error=pa.nulls(2, pa.string()), gold_fine=["OK", "OK"])
    report = _report(tmp_path, table)
    assert report["fine"]["n"] == 0 and report["omission"]["f1"] is None
    assert report["unlabelled"] == 2
    assert report["errors"]["n"] == 0


@pytest.mark.parametrize("given", [{"triples": [1, 2]}, {"triples": [[{"x": 1}], []]}], ids=["numbers", "other parts"])
def test_without_facts_that_can_be_read_there_are_figures_but_no_intervals(tmp_path: Path, given: Any) -> None:
    said: list[str] = []
    table = scored(["OK", "omission"], gold_fine=["OK", "OK"], **given)
    path = save(table, tmp_path / "x.parquet")
    report = evaluate(path, EvaluateOptions(), said.append)
    assert report["rough"]["accuracy"] == 0.5 and "interval" not in report["rough"]
    assert "n_triples" not in report["by"]
    assert any("--input-column" in line for line in said)
    again = evaluate(save(table.append_column("id", [[1, 2]]), path), EvaluateOptions(inputs="id"))
    low, high = again["rough"]["interval"]["accuracy"]
    assert 0 < low < high < 1  # Wilson, of two inputs
    assert again["hallucination"]["interval"]["recall"] is None, "no hallucination in the gold"


@pytest.mark.parametrize(
    "columns",
    [
        {"gold_suspect": ["yes", "no"]},
        {"system": [{"name": "a"}, {"name": "b"}]},
        {"confidence": ["high", "low"]},
        {"error": [["a"], None]},
        {"human_quality": ["[4, 5]", "[1, 2]"]},
        {"human_quality": [[4.0, 5.0], [1.0, 2.0]]},
    ],
    ids=lambda columns: ", ".join(columns),
)
def test_a_column_of_a_wrong_type_is_named(tmp_path: Path, columns: dict[str, Any]) -> None:
    table = scored(["OK", "OK"], **({"gold_fine": ["OK", "OK"]} | columns))
    with pytest.raises(ColumnError, match=list(columns)[-1]):
        _report(tmp_path, table)


def test_booleans_of_json_lines_are_texts_with_the_same_figures(tmp_path: Path) -> None:
    """A column of JSON Lines passes through as it is written."""
    columns: dict[str, list[Any]] = {
        "gold_suspect": E2E["gold_suspect"],
        "human_quality": [True, False, None, True, False, False],
    }
    texts = {name: [None if v is None else str(v).lower() for v in values] for name, values in columns.items()}
    one, other = (_report(tmp_path, scored(PREDICTED, **(E2E | changed))) for changed in (columns, texts))
    assert one == other and one["correlation"]["n"] == 4


def test_marks_and_levels(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    n = 60
    human = rng.normal(size=n)
    empty = np.arange(n) % 10 == 0
    human[empty] = -5
    columns = {
        "confidence": np.where(empty, 0.0, 0.5 + 0.1 * human),
        "sacrebleu_ter": -human,
        "meteor": rng.normal(size=n),
        "custom": human**3,
        "human_semantics": human,
        "note": ["empty_text" if e else None for e in empty],
        "system": [f"s{i % 6}" for i in range(n)],
        "triples": [[f"s{i // 6} | p | o"] for i in range(n)],
    }
    out = save(scored(["OK"] * n, **columns), tmp_path / "out.parquet")
    report = evaluate(out, EvaluateOptions(metrics=("all", "custom"), resamples=50))
    lines = {line["metric"]: line for line in report["metrics"]}
    assert set(lines) == {"confidence", "neg:sacrebleu_ter", "meteor", "custom", HAS_TEXT}
    marks = {name: line["references"] for name, line in lines.items()}
    assert marks == {"confidence": False, "neg:sacrebleu_ter": True, "meteor": True, "custom": None, HAS_TEXT: False}
    ter = lines["neg:sacrebleu_ter"]
    levels = ("pooled", "pooled_with_empty", "within", "system")
    assert [ter[level]["n"] for level in levels] == [54, 60, 10, 6]
    assert all(ter[level]["value"] == pytest.approx(1.0) for level in levels)
    has_text = lines[HAS_TEXT]
    assert has_text["pooled"]["value"] is None  # all of these rows have a text
    assert has_text["pooled_with_empty"]["value"] == pytest.approx(np.sqrt(3 * 6 * 54 / 60**2), abs=0.05)
    assert lines["meteor"]["pooled"]["interval"] is not None
    assert "metrics" not in evaluate(out, EvaluateOptions(resamples=0))


def _scored(**columns: object) -> Scored:
    return Scored(pa.table(columns), None, True)


def test_inputs_are_sets_of_facts() -> None:
    rows = [["a | p | b", "a | q | c"], ["a | q | c", "a|p|b"], ["a | p | b"], None, None]
    found = find_inputs(_scored(triples=pa.array(rows)), ColumnNames())
    assert found.codes[0] == found.codes[1] != found.codes[2]
    assert len({*found.codes.tolist()}) == 4, "rows without facts are inputs of their own"
    assert found.lengths is not None and found.lengths.tolist() == [2, 2, 1, 0, 0]
    assert find_inputs(_scored(mr=["name[X], food[Y]", "name[X], food[Z]"]), ColumnNames()).codes.tolist() == [0, 1]
    sentences = pa.array([["A is x.", "A is y."], ["A is y.", "A is x."], ["A is x."], None])
    assert find_inputs(_scored(facts=sentences), ColumnNames()).codes.tolist() == [0, 0, 1, 2]
    attributes = ['{"name": "p", "x": 1}', '{"x": 1.0, "name": "p"}', '{"name": "p", "x": 2}']
    assert find_inputs(_scored(attributes=attributes), ColumnNames()).codes.tolist() == [0, 0, 1]
    other = find_inputs(_scored(facts=[["a | p | b"]]), ColumnNames(triples="facts"))
    assert other.known and other.codes.tolist() == [0]


def test_inputs_without_facts() -> None:
    table = _scored(fact_entailment=pa.array([[0.5, 0.2], None], pa.list_(pa.float32())), mr_id=[7, 7])
    bare = find_inputs(table, ColumnNames())
    assert not bare.known and bare.codes.tolist() == [0, 1]
    named = find_inputs(table, ColumnNames(), "mr_id")
    assert named.known and named.codes.tolist() == [0, 0]
    assert bare.lengths is None
    with pytest.raises(ColumnError, match="--input-column 'y': no such column"):
        find_inputs(table, ColumnNames(), "y")


def test_columns_that_exist_in_the_order_of_files_of_a_folder_or_a_run(tmp_path: Path) -> None:
    save(scored(["OK"], gold_fine=["OK"]), tmp_path / "b.parquet")
    save(scored(["omission"], gold_fine=["OK"]), tmp_path / "a" / "a.parquet")
    found = load(Output.open(tmp_path), ["fine", "absent"])
    assert found.table.to_pydict() == {"fine": ["omission", "OK"]}
    assert found.signature == SIGNATURE and found.finished
    out = night(tmp_path / "out", [row()])
    (out / "_SUCCESS").unlink()
    with pytest.raises(OutputError, match=r"not finished: it has no _SUCCESS.*--allow-partial"):
        Output.open(out)
    assert not load(Output.open(out, allow_partial=True)).finished


def test_a_metric_may_have_rough_labels_alone() -> None:
    table = pa.table({"m_rough": ["OK", None, "not_OK"]})
    fine, rough = predicted(Scored(table, None, True), ColumnNames(prefix="m_"))
    assert fine is None
    assert rough.tolist() == [0, -1, 1]
    with pytest.raises(ColumnError, match="no column 'fine'; score the data first"):
        predicted(Scored(table, None, True), ColumnNames())


def test_a_run_with_an_optional_fact_is_compared_with_its_gold(tmp_path: Path) -> None:
    signature = SIGNATURE.replace("optional:none", "optional:eatType=restaurant")
    counts = {name: [0] * 4 for name in ("added", "missing", "valerr")}
    columns: dict[str, Any] = {"gold_fine": ["omission"] * 3 + ["OK"], **counts}
    table = scored(["OK", "OK", "omission", "omission"], **columns)
    with pytest.raises(ColumnError, match="`scorer convert e2e` writes gold_fine_ignore_restaurant"):
        _report(tmp_path, table, signature=signature)
    named = _report(tmp_path, table, EvaluateOptions(resamples=0, gold_fine="gold_fine"), signature=signature)
    assert (named["gold"]["fine"], named["fine"]["accuracy"]) == ("gold_fine", 0.25)
    lenient = table.append_column("gold_fine_ignore_restaurant", [["OK", "OK", "omission", "OK"]])
    report = _report(tmp_path, lenient, signature=signature)
    assert (report["gold"]["fine"], report["fine"]["accuracy"]) == ("gold_fine_ignore_restaurant", 0.75)
    assert _report(tmp_path, lenient)["gold"]["fine"] == "gold_fine"
    own = _report(tmp_path, table.drop_columns([*counts]), signature=signature)
    assert own["gold"]["fine"] == "gold_fine", "a gold of other people may have it optional too"


def test_ratings_that_a_float_does_not_hold_are_named(tmp_path: Path) -> None:
    table = scored(["OK", "OK"], human_quality=[2**53 + 1, 1])
    with pytest.raises(ColumnError, match=r"'human_quality' has 9007199254740993, which"):
        _report(tmp_path, table)
    assert _report(tmp_path, scored(["OK", "OK"], human_quality=[2**62, 1]))["rows"] == 2
