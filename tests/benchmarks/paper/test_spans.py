"""Spans of a metric and of annotators: figures by hand, published counts, and the agreement of annotators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.paper.spans.__main__ import app
from benchmarks.paper.spans.agreement import agreement, majority
from benchmarks.paper.spans.figures import LEVELS, SpanOptions, evaluate_spans, overlaps
from benchmarks.paper.spans.files import read_votes
from scorer.errors import ColumnError, InputError
from tests.evaluation.scored import save, scored_texts

SPAN = st.tuples(st.sampled_from("abc"), st.integers(0, 12), st.integers(0, 5))


def spans(given: list[tuple[str, int, int]]) -> pa.Table:
    texts, starts, ends = ([one[0] for one in given], [one[1] for one in given], [one[1] + one[2] for one in given])
    numbers = (pa.array(places, pa.int64()) for places in (starts, ends))
    return pa.table([pa.array(texts, pa.string()), *numbers], ["text_id", "char_start", "char_end"])


@given(st.lists(SPAN, max_size=12), st.lists(SPAN, max_size=12))
def test_overlaps_are_those_that_share_a_character(one: list[tuple[str, int, int]], other: list[Any]) -> None:
    def characters(span: tuple[str, int, int]) -> set[int]:
        return set(range(span[1], span[1] + max(1, span[2])))

    expected = [sum(a[0] == b[0] and bool(characters(a) & characters(b)) for b in other) for a in one]
    assert overlaps(spans(one), spans(other)).tolist() == expected


def write(path: Path, columns: str, rows: list[tuple[Any, ...]]) -> Path:
    pq.write_table(pa.table({name: [row[i] for row in rows] for i, name in enumerate(columns.split())}), path)
    return path


def of_ten(letter: str, *entailments: float | None) -> tuple[str, list[tuple[int, int, float | None]]]:
    """A text with sentences of ten characters each."""
    return letter * 10 * len(entailments), [(i * 10, i * 10 + 9, e) for i, e in enumerate(entailments)]


# Two texts of three sentences, and one that nobody annotated.
OUT = scored_texts(
    {"t1": of_ten("A", 0.9, 0.1, 0.2), "t2": of_ten("B", 0.4, None, 0.6), "t3": of_ten("C", 0.0, 0.0, 0.0)}
)
PLACED = "text_id char_start char_end category"
GOLD = [
    ("t1", 10, 12, "number"),
    ("t1", 15, 18, "number"),
    ("t1", 1, 3, "Not checkable"),
    ("t2", 21, 22, "name"),
    ("t2", 2, 3, "not-checkable"),
]


def evaluated(folder: Path, out: pa.Table, columns: str, gold: list[tuple[Any, ...]], **options: Any) -> dict[str, Any]:
    """Of an output against gold spans, both written into a folder."""
    gold_file = write(folder / "gold.parquet", columns, gold)
    return evaluate_spans(save(out, folder / "out.parquet"), SpanOptions(gold_file, **options))


def line(report: dict[str, Any], name: str, level: str = "spans") -> dict[str, Any]:
    (found,) = [one for one in report["lines"] if (one["name"], one["level"]) == (name, level)]
    return dict(found)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    gold = write(tmp_path / "gold.parquet", PLACED, GOLD)
    return save(OUT, tmp_path / "out" / "x.parquet").parent, gold


def test_figures_by_hand(files: tuple[Path, Path]) -> None:
    """Flagged: t1's second and third sentence, t2's first and (no answer) second. Errors in t1's first and second, t2's
    first and third; those in the first sentences cannot be checked."""
    notes: list[str] = []
    report = evaluate_spans(files[0], SpanOptions(files[1], resamples=50), notes.append)
    assert (report["texts"], report["sentences"]) == (2, 6)
    assert any("left out: 1 texts" in note for note in notes)
    found = line(report, "this output")
    assert (found["errors"], found["found"], found["flags"], found["right"]) == (5, 3, 4, 2)
    assert (found["recall"], found["precision"]) == (0.6, 0.5)
    assert found["f1"] == pytest.approx(2 * 0.6 * 0.5 / 1.1)
    recall = {name: (one["errors"], one["found"]) for name, one in report["categories"].items()}
    assert recall == {"number": (2, 2), "name": (1, 0), "not_checkable": (2, 1)}
    sentences = line(report, "this output", "sentences")
    assert (sentences["errors"], sentences["flags"]) == (4, 4)
    assert (sentences["precision"], sentences["recall"], sentences["f1"]) == (0.5, 0.5, 0.5)
    everything = line(report, "every sentence")
    assert (everything["precision"], everything["recall"]) == (pytest.approx(4 / 6), 1.0)


def test_files_that_cannot_be_used(files: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="in common"):
        evaluate_spans(files[0], SpanOptions(write(files[1], PLACED, [("x", 1, 2, "word")])))
    with pytest.raises(InputError, match="is from 5 to 2"):
        evaluate_spans(files[0], SpanOptions(write(files[1], PLACED, [("t1", 5, 2, "word")])))
    with pytest.raises(ColumnError, match="no column 'char_start'"):
        evaluate_spans(files[0], SpanOptions(write(files[1], "text_id", [("t1",)])))


def test_flagging_every_sentence_of_the_shared_task(shared_data: Path, tmp_path: Path) -> None:
    """78.7 % of the public sentences have an error, so that is the precision; all errors are found."""
    table = pq.read_table(shared_data / "st_texts.parquet")
    texts = dict(zip(table["text_id"].to_pylist(), table["text"].to_pylist(), strict=True))
    found: dict[str, list[tuple[int, int, float | None]]] = {name: [] for name in texts}
    for row in pq.read_table(shared_data / "st_sentences.parquet").to_pylist():
        spans = found[row["text_id"]]
        start = texts[row["text_id"]].index(row["text"], spans[-1][1] if spans else 0)
        spans.append((start, start + len(row["text"]), 0.0))
    out = save(scored_texts({name: (texts[name], spans) for name, spans in found.items()}), tmp_path / "out.parquet")
    report = evaluate_spans(out, SpanOptions(shared_data / "st_gold_errors.parquet", resamples=0))
    assert (report["texts"], report["sentences"]) == (55, 670)
    assert line(report, "this output")["precision"] == pytest.approx(0.787, abs=5e-4)
    assert all(line(report, "this output", level)["recall"] == 1 for level in LEVELS)
    counted = {name: one["errors"] for name, one in report["categories"].items()}
    assert counted == {name: sum(table[f"n_{name}"].to_pylist()) for name in counted}


def test_the_command(files: tuple[Path, Path]) -> None:
    given = ["evaluate", str(files[0]), "--spans", str(files[1])]
    found = CliRunner().invoke(app, [*given, "--json", "--flag-below", "0.15"])
    assert line(json.loads(found.stdout), "this output", "sentences")["flags"] == 2
    shown = CliRunner().invoke(app, given)
    assert "every sentence" in shown.stdout and "left out: 1 texts" in shown.stderr


def test_groups_and_intervals_by_columns_of_the_gold(tmp_path: Path) -> None:
    """Two inputs of two texts each; the texts of an input have the same errors, so resampling texts is too narrow."""
    out = scored_texts({f"t{i}": of_ten("A", 0.1, 0.9) for i in range(8)})
    rows = []
    for i in range(8):  # the flagged sentence is right in the first two inputs, wrong in the others
        start = 0 if i < 4 else 10
        rows.append((f"t{i}", start, start + 5, "Incorrect", "x" if i % 4 < 2 else "y", f"e{i // 2}"))
    columns = f"{PLACED} domain example"
    found = evaluated(tmp_path, out, columns, rows, by=("domain",), inputs="example")
    assert line(found, "this output")["precision"] == line(found, "this output")["recall"] == 0.5
    assert [line(found, f"domain {value}")["texts"] for value in "xy"] == [4, 4]
    alone = evaluated(tmp_path, out, columns, rows)
    wide, narrow = (line(one, "this output")["interval"]["precision"] for one in (found, alone))
    assert wide[1] - wide[0] > narrow[1] - narrow[0]
    with pytest.raises(ColumnError, match="'none': the gold has no column"):
        evaluated(tmp_path, out, columns, rows, by=("none",))


def test_rivals_are_counted_by_span_by_sentence_and_by_text(tmp_path: Path) -> None:
    """Two texts of three sentences. The gold has errors in t1's first and second sentence; a rival marks both with one
    span and t2's third; another marks nothing in t1 and does not know t2; t2's sentences are right."""
    out = scored_texts(
        {
            "t1": ("It is one. It is two. It is six.", [(0, 10, 0.9), (11, 21, 0.9), (22, 32, 0.9)]),
            "t2": ("It is 12 m. It is 12 km. 123 is not.", [(0, 11, 0.9), (12, 24, 0.9), (25, 36, 0.9)]),
        },
    )
    gold = [("t1", 6, 9, "Contradictory"), ("t1", 17, 20, "Contradictory"), ("t2", None, None, None)]
    marked = [("t1", "llm", 6, 20), ("t2", "llm", 25, 28), ("t1", "shy", None, None), ("t9", "stranger", 0, 1)]
    rivals = write(tmp_path / "rivals.parquet", "text_id annotator char_start char_end", marked)
    found = evaluated(tmp_path, out, PLACED, gold, rivals=rivals, resamples=20)
    names = dict.fromkeys(one["name"] for one in found["lines"])
    assert list(names) == ["this output", "every sentence", "llm", "shy", "stranger"]
    assert (line(found, "stranger")["texts"], line(found, "stranger")["f1"]) == (0, None)

    def counts(name: str, level: str) -> tuple[int, int, int]:
        counted = line(found, name, level)
        return counted["flags"], counted["right"], counted["errors"]

    assert counts("this output", "spans") == (0, 0, 2)
    assert counts("every sentence", "sentences") == (6, 2, 2)
    assert (counts("llm", "spans"), counts("llm", "sentences")) == ((2, 1, 2), (3, 2, 2))
    assert counts("llm", "texts") == (2, 1, 1)
    assert (line(found, "llm")["found"], line(found, "llm")["recall"]) == (2, 1.0)
    assert (line(found, "shy")["texts"], counts("shy", "texts")) == (1, (0, 0, 1))


def test_annotators_joined_are_the_gold_that_is_published(shared_data: Path) -> None:
    votes = read_votes(shared_data / "tr_annotations.parquet")
    gold = {row["id"]: row for row in pq.read_table(shared_data / "tr_gold_errors.parquet").to_pylist()}
    joined = dict(zip(votes.items, majority(votes), strict=True))
    assert joined.keys() == gold.keys()
    for item, category in joined.items():
        assert (category is not None) == gold[item]["is_gold_error"], item
        assert category == gold[item]["category"], item


def test_kappa_of_the_published_annotations(shared_data: Path) -> None:
    """Both by the data's own description: .77 over items that all three typed, .50 over all."""
    found = agreement(read_votes(shared_data / "tr_annotations.parquet"))
    assert found["annotators"] == 3
    assert found["fleiss_kappa"]["typed_by_all"]["kappa"] == pytest.approx(0.77, abs=0.005)
    assert found["fleiss_kappa"]["all_items"]["kappa"] == pytest.approx(0.50, abs=0.005)
    assert found["fleiss_kappa"]["all_items"]["n"] == 335
