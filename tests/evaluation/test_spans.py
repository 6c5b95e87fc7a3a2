from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from scorer.commands import app
from scorer.commands.show.spans import print_spans
from scorer.errors import ColumnError, InputError
from scorer.evaluation.span_counts import overlaps
from scorer.evaluation.span_files import Spans
from scorer.evaluation.spans import SpanOptions, evaluate_spans
from scorer.metric.columns import SENTENCES
from tests.evaluation.scored import save

SPAN = st.tuples(st.sampled_from("abc"), st.integers(0, 12), st.integers(0, 5))


def spans(given: list[tuple[str, int, int]]) -> Spans:
    starts = np.array([start for _, start, _ in given], np.int64)
    return Spans([text for text, _, _ in given], starts, starts + np.array([n for _, _, n in given], np.int64))


@given(st.lists(SPAN, max_size=12), st.lists(SPAN, max_size=12))
def test_overlaps_are_those_that_share_a_character(one: list[tuple[str, int, int]], other: list[Any]) -> None:
    def characters(span: tuple[str, int, int]) -> set[int]:
        return set(range(span[1], span[1] + max(1, span[2])))

    expected = [sum(a[0] == b[0] and bool(characters(a) & characters(b)) for b in other) for a in one]
    assert overlaps(spans(one), spans(other)).tolist() == expected


# Two texts of three sentences of ten characters each, and one that nobody annotated.
OUT = pa.table(
    {
        "text_id": ["t1", "t2", "t3"],
        "system": ["s", "r", "s"],
        "text": ["A" * 30, "B" * 30, "C" * 30],
        "sentences": pa.array(
            [
                [{"start": i * 10, "end": i * 10 + 9, "entailment": e} for i, e in enumerate(row)]
                for row in ([0.9, 0.1, 0.2], [0.4, None, 0.6], [0.0, 0.0, 0.0])
            ],
            SENTENCES.type,
        ),
    }
)
GOLD = [  # text, start, end, category
    ("t1", 10, 12, "number"),
    ("t1", 15, 18, "number"),
    ("t1", 1, 3, "Not checkable"),
    ("t2", 21, 22, "name"),
    ("t2", 2, 3, "not-checkable"),
]


def gold_table(rows: list[tuple[Any, ...]] = GOLD) -> pa.Table:
    names = ("text_id", "char_start", "char_end", "category")
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    pq.write_table(gold_table(), tmp_path / "gold.parquet")
    return save(OUT, tmp_path / "out" / "x.parquet").parent, tmp_path / "gold.parquet"


def test_figures_by_hand(files: tuple[Path, Path]) -> None:
    """Flagged: t1's second and third sentence, t2's first and (no answer) second. Errors in t1's first and second, t2's
    first and third; those in the first sentences cannot be checked."""
    notes: list[str] = []
    report = evaluate_spans(files[0], SpanOptions(files[1], resamples=50), notes.append)
    assert (report["texts"], report["not_in_gold"], report["unlocated"]) == (2, 1, 0)
    assert any("1 texts are left out" in note for note in notes)
    found = report["all"]
    assert (found["errors"], found["found"], found["flags"], found["right"]) == (5, 3, 4, 2)
    assert (found["recall"], found["precision"]) == (0.6, 0.5)
    assert found["f1"] == pytest.approx(2 * 0.6 * 0.5 / 1.1)
    without = report["without_not_checkable"]
    assert (without["errors"], without["found"]) == (3, 2)
    assert (without["flags"], without["right"]) == (3, 1), "a flag on what cannot be checked is not held against it"
    recall = {name: (line["n"], line["found"]) for name, line in report["categories"].items()}
    assert recall == {"number": (2, 2), "name": (1, 0), "not_checkable": (2, 1)}
    assert list(report["categories"]) == ["number", "name", "not_checkable"], "in the order of the papers"
    units = report["units"]
    assert (units["units"], units["with_error"], units["flags"]) == (6, 4, 4)
    assert (units["precision"], units["recall"], units["f1"]) == (0.5, 0.5, 0.5)
    everything = next(line["spans"] for line in report["rivals"] if line["kind"] == "everything")
    assert (everything["precision"], everything["recall"]) == (pytest.approx(4 / 6), 1.0)
    lines = report["by"]["system"]
    assert [(line["value"], line["texts"], line["all"]["errors"]) for line in lines] == [("r", 1, 2), ("s", 1, 3)]
    assert lines[0]["flag_everything"]["recall"] == 1.0


@pytest.mark.parametrize(("kind", "with_units"), [("parquet", True), ("csv", False), ("tsv", True)])
def test_spans_of_another_metric(tmp_path: Path, kind: str, with_units: bool) -> None:
    rows = [("t1", 10, 19, True), ("t1", 20, 29, True), ("t2", 0, 9, False), ("t9", 0, 9, True)]
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(("text_id", "start", "end", "flagged"))})
    if not with_units:
        table = table.filter(table["flagged"]).drop_columns("flagged")
    flags, gold = tmp_path / f"flags.{kind}", tmp_path / f"gold.{kind}"
    for made, path in ((table, flags), (gold_table(), gold)):
        if kind == "parquet":
            pq.write_table(made, path)
        else:
            pacsv.write_csv(made, path, pacsv.WriteOptions(delimiter="\t" if kind == "tsv" else ","))
    report = evaluate_spans(flags, SpanOptions(gold, resamples=0))
    assert report["texts"] == 2, "a text in which nothing is flagged counts; one that the gold does not know does not"
    assert (report["all"]["found"], report["all"]["errors"]) == (2, 5)
    assert (report["all"]["right"], report["all"]["flags"]) == (1, 2)
    assert (report["units"] is not None) == any(line["kind"] == "everything" for line in report["rivals"]) == with_units
    if with_units:
        assert report["units"]["units"] == 3


def test_errors_without_offsets_are_looked_for_in_the_text(tmp_path: Path) -> None:
    text = "One two. One two two. Three."
    table = pa.table({"text_id": ["a"], "text": [text], "sentences": pa.array(
        [[{"start": 0, "end": 8, "entailment": 0.1}, {"start": 9, "end": 21, "entailment": 0.9},
          {"start": 22, "end": 28, "entailment": 0.1}]], SENTENCES.type)})  # fmt: skip
    pq.write_table(table, tmp_path / "out.parquet")
    rows = [("One two.", "two"), ("One two two.", "two"), ("Three.", "Three"), ("Not there.", "Not")]
    gold = pa.table(
        {"text_id": ["a"] * 4, "sentence": [r[0] for r in rows], "span": [r[1] for r in rows], "category": ["word"] * 4}
    )
    pq.write_table(gold, tmp_path / "gold.parquet")
    report = evaluate_spans(tmp_path / "out.parquet", SpanOptions(tmp_path / "gold.parquet", resamples=0))
    assert (report["unlocated"], report["located_by_sentence"]) == (1, 1)
    assert (report["all"]["errors"], report["all"]["found"]) == (3, 2)


def test_every_annotators_labels_serve_as_gold(tmp_path: Path) -> None:
    given = {"i1": ("number", "number", "no_error"), "i2": ("word", "no_error", "no_error")}
    labels = [(item, label) for item, said in given.items() for label in said]
    table = pa.table(
        {
            "item_id": [item for item, _ in labels],
            "annotator": ["x", "y", "z"] * 2,
            "label": [label for _, label in labels],
            "text_id": ["t1"] * 6,
            "char_start": [10] * 3 + [0] * 3,
            "char_end": [12] * 3 + [2] * 3,
        }
    )
    pq.write_table(table, tmp_path / "votes.parquet")
    save(OUT, tmp_path / "x.parquet")
    gold = tmp_path / "votes.parquet"
    report = evaluate_spans(tmp_path / "x.parquet", SpanOptions(gold, annotations=gold, resamples=0))
    assert (report["all"]["errors"], report["all"]["found"]) == (1, 1)
    assert report["agreement"]["majority"] == {"items": 2, "errors": 1, "categories": {"number": 1}}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda t: t.drop_columns("sentences"), ColumnError, "--sentences"),
        (lambda t: t.set_column(0, "text_id", [["t1", "t1", "t2"]]), ColumnError, "occurs twice"),
        (lambda t: t.set_column(0, "text_id", [["x", "y", "z"]]), InputError, "in common"),
    ],
)
def test_outputs_that_cannot_be_used(files: tuple[Path, Path], change: Any, error: type, words: str) -> None:
    save(change(OUT), files[0] / "x.parquet")
    with pytest.raises(error, match=words):
        evaluate_spans(files[0], SpanOptions(files[1]))


def test_gold_that_cannot_be_used(files: tuple[Path, Path], tmp_path: Path) -> None:
    gold = tmp_path / "bad.parquet"
    pq.write_table(gold_table([("t1", 5, 2, "word")]), gold)
    with pytest.raises(InputError, match="is from 5 to 2"):
        evaluate_spans(files[0], SpanOptions(gold))
    pq.write_table(gold_table([("t1", 5, 7, "word")]).append_column("span", [["XY"]]), gold)
    with pytest.raises(InputError, match="1 of 1 errors are not at their offsets"):
        evaluate_spans(files[0], SpanOptions(gold))
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ColumnError, match="no column 'text_id'"):
        evaluate_spans(files[0], SpanOptions(tmp_path / "text.csv"))


def test_flagging_every_sentence_of_the_shared_task(shared_data: Path, tmp_path: Path) -> None:
    """78.7 % of the public sentences have an error, so that is the precision; all errors are found."""
    found: dict[str, list[tuple[int, int]]] = {}
    texts = dict(
        zip(*(pq.read_table(shared_data / "st_texts.parquet")[n].to_pylist() for n in ("text_id", "text")), strict=True)
    )
    for row in pq.read_table(shared_data / "st_sentences.parquet").to_pylist():
        spans = found.setdefault(row["text_id"], [])
        start = texts[row["text_id"]].index(row["text"], spans[-1][1] if spans else 0)
        spans.append((start, start + len(row["text"])))
    rows = [(name, start, end) for name, spans in found.items() for start, end in spans]
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(("text_id", "start", "end"))})
    pq.write_table(table.append_column("flagged", [[True] * len(rows)]), tmp_path / "all.parquet")
    report = evaluate_spans(tmp_path / "all.parquet", SpanOptions(shared_data / "st_gold_errors.parquet", resamples=0))
    assert (report["texts"], report["units"]["units"]) == (55, 670)
    assert report["all"]["precision"] == pytest.approx(0.787, abs=5e-4)
    assert report["all"]["recall"] == 1
    assert report["units"]["recall"] == 1
    counted = {name: line["n"] for name, line in report["categories"].items()}
    sums = pq.read_table(shared_data / "st_texts.parquet")
    assert counted == {name: sum(sums[f"n_{name}"].to_pylist()) for name in counted}


def test_the_command(files: tuple[Path, Path]) -> None:
    out, gold = map(str, files)
    result = CliRunner().invoke(app, ["evaluate", out, "--spans", gold, "--json", "--flag-below", "0.15"])
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["units"]["flags"] == 2
    assert report["published"]["recall"] == [0.343, 0.388]
    assert "1 texts are left out" in result.stderr
    result = CliRunner().invoke(app, ["evaluate", out, "--spans", gold])
    assert "all but not_checkable" in result.stdout
    result = CliRunner().invoke(app, ["evaluate", out, "--spans", gold, "--gold-fine", "x"])
    assert (result.exit_code, "--gold-fine" in result.stderr) == (2, True)


def test_groups_and_intervals_by_columns_of_the_gold(tmp_path: Path) -> None:
    """Two inputs of two texts each; the texts of an input have the same errors, so resampling texts is too narrow."""
    texts = [f"t{i}" for i in range(8)]
    out = pa.table(
        {
            "text_id": texts,
            "text": ["A" * 20] * 8,
            "sentences": pa.array(
                [[{"start": 0, "end": 9, "entailment": 0.1}, {"start": 10, "end": 19, "entailment": 0.9}]] * 8,
                SENTENCES.type,
            ),
        }
    )
    # The flagged sentence is right in inputs a and b, wrong in c and d.
    gold = pa.table(
        {
            "text_id": texts,
            "char_start": [0 if i < 4 else 10 for i in range(8)],
            "char_end": [5 if i < 4 else 15 for i in range(8)],
            "category": ["Incorrect"] * 8,
            "domain": ["x" if i % 4 < 2 else "y" for i in range(8)],
            "example": [f"e{i // 2}" for i in range(8)],
        }
    )
    pq.write_table(gold, tmp_path / "gold.parquet")
    save(out, tmp_path / "out" / "x.parquet")
    options = SpanOptions(tmp_path / "gold.parquet", by=("domain",), inputs="example")
    found = evaluate_spans(tmp_path / "out", options)
    assert found["all"]["precision"] == found["all"]["recall"] == 0.5
    assert [(line["value"], line["texts"], line["all"]["precision"]) for line in found["by"]["domain"]] == [
        ("x", 4, 0.5),
        ("y", 4, 0.5),
    ]
    alone = evaluate_spans(tmp_path / "out", SpanOptions(tmp_path / "gold.parquet"))
    wide, narrow = (report["all"]["interval"]["precision"] for report in (found, alone))
    assert wide[1] - wide[0] > narrow[1] - narrow[0]
    assert "with the data in view" in found["about"]
    stream = io.StringIO()
    print_spans(found, Console(file=stream, width=200))
    assert "By domain" in stream.getvalue() and "Thomson & Reiter" not in stream.getvalue()
    for wrong in (
        SpanOptions(tmp_path / "gold.parquet", by=("none",)),
        SpanOptions(tmp_path / "gold.parquet", inputs="none"),
    ):
        with pytest.raises(ColumnError, match="'none': the gold has no column"):
            evaluate_spans(tmp_path / "out", wrong)


def test_other_annotators_are_a_ceiling_on_the_texts_of_both(tmp_path: Path) -> None:
    gold = pa.table(
        {
            "text_id": ["t1", "t1", "t2", "t1", "t1", "t3"],
            "annotator": [0, 0, 0, 1, 1, 1],
            "char_start": [0, 10, None, 2, 20, 5],
            "char_end": [5, 15, None, 4, 25, 8],
            "category": ["Incorrect", "Other", None, "Incorrect", "Incorrect", "Incorrect"],
        }
    )
    pq.write_table(gold, tmp_path / "gold.parquet")
    out = save(OUT, tmp_path / "out" / "x.parquet").parent
    found = evaluate_spans(out, SpanOptions(tmp_path / "gold.parquet"))
    assert found["texts"] == 2 and found["all"]["errors"] == 2
    (other,) = (line for line in found["rivals"] if line["kind"] == "annotator")
    assert (other["name"], other["texts"]) == ("annotator 1", 1)
    spans = other["spans"]
    assert (spans["errors"], spans["flags"], spans["recall"], spans["precision"]) == (2, 2, 0.5, 0.5)


def test_rivals_are_counted_by_span_by_sentence_and_by_text(tmp_path: Path) -> None:
    """Two texts of three sentences. The gold has errors in t1's first and second sentence; a rival marks both with one
    span and t2's third; another marks nothing in t1 and does not know t2; the number 12 stands twice in t2."""
    texts = ["It is one. It is two. It is six.", "It is 12 m. It is 12 km. 123 is not."]
    bounds = [[(0, 10), (11, 21), (22, 32)], [(0, 11), (12, 24), (25, 36)]]
    sentences = [[{"start": a, "end": b, "entailment": 0.9} for a, b in one] for one in bounds]
    out = pa.table(
        {
            "text_id": ["t1", "t2"],
            "text": texts,
            "sentences": pa.array(sentences, SENTENCES.type),
            "unsupported_numbers": pa.array([[], ["12"]], pa.list_(pa.string())),
        }
    )
    gold = pa.table({"text_id": ["t1", "t1", "t2"], "char_start": [6, 17, None], "char_end": [9, 20, None],
                     "category": ["Contradictory"] * 2 + [None]})  # fmt: skip
    rivals = pa.table({"text_id": ["t1", "t2", "t1"], "annotator": ["llm", "llm", "shy"],
                       "char_start": [6, 25, None], "char_end": [20, 28, None]})  # fmt: skip
    for name, table in (("gold", gold), ("rivals", rivals)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    save(out, tmp_path / "out" / "x.parquet")
    options = SpanOptions(tmp_path / "gold.parquet", rivals=tmp_path / "rivals.parquet", resamples=20)
    report = evaluate_spans(tmp_path / "out", options)
    lines = {line["name"]: line for line in report["rivals"]}
    assert list(lines) == ["this output", "every sentence", "unsupported_numbers", "llm", "shy"]

    def counts(name: str, level: str) -> tuple[int, int, int | None]:
        found = lines[name][level]  # type: ignore[literal-required]
        return found["flags"], found["right"], found.get("with_error")

    assert counts("this output", "spans") == (0, 0, None)
    assert counts("every sentence", "sentences") == (6, 2, 2)
    assert counts("unsupported_numbers", "spans") == (2, 0, None)
    assert counts("unsupported_numbers", "sentences") == (2, 0, 2)
    assert (counts("llm", "spans"), counts("llm", "sentences")) == ((2, 1, None), (3, 2, 2))
    assert counts("llm", "by_text") == (2, 1, 1)
    assert (lines["llm"]["spans"]["found"], lines["llm"]["spans"]["recall"]) == (2, 1.0)
    assert (lines["shy"]["texts"], counts("shy", "by_text")) == (1, (0, 0, 1))
    result = CliRunner().invoke(app, ["evaluate", str(tmp_path / "out"), "--rivals", str(tmp_path / "rivals.parquet")])
    assert result.exit_code == 2 and "read with --spans alone" in result.stderr
