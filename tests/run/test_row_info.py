"""Readers of an output read the facts that the run judged, also where a text looks like an object of JSON."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import ColumnNames, Scorer
from scorer.audit import audit
from scorer.errors import ColumnError
from scorer.evaluation.gold import find_inputs, load
from scorer.evaluation.sampling import draw_rows, read_labels, write_items
from scorer.metric.inputs import restore_marks
from scorer.run.explain import explain
from scorer.scoring.outputs import Output
from tests.run.calls import run, scorer

pytestmark = pytest.mark.usefixtures("inline_runs")

OBJECT = {"weight": "1 kg", "height": "20 cm"}
DIMS: list[Any] = [OBJECT, json.dumps(OBJECT), None, [OBJECT, "blue"], '["blue"]', "small", OBJECT, OBJECT]
TEXT = "The weight of dims of the lamp is 1 kg."
COLUMNS = ("--attributes-column", "brand,dims", "--subject-column", "product")
OTHERS = ("--max-error-rate", 1, "--details", "--prefix", "nli_")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    folder = tmp_path_factory.mktemp("marked")
    rows = [{"product": "Lamp", "brand": "Lumo", "dims": dims, "text": TEXT} for dims in DIMS]
    rows[6]["text"] = OBJECT
    lines = [*map(json.dumps, rows), "{", json.dumps(rows[0] | {"text": None})]
    (folder / "in").mkdir()
    (folder / "in" / "marked.jsonl").write_text("\n".join(lines))
    plain = [json.dumps(row | {"dims": "small", "extra": OBJECT, "text": TEXT}) for row in rows]
    (folder / "in" / "plain.jsonl").write_text("\n".join(plain))
    run(folder / "in", folder / "out", tiny, *COLUMNS, *OTHERS)
    return folder / "out"


def judged(out: Path) -> list[list[str] | None]:
    """The facts of each row as the model read them."""
    return [facts for name in ("marked", "plain") for facts in table(out, name)["nli_worded_facts"].to_pylist()]


def table(out: Path, name: str) -> pa.Table:
    return pq.read_table(out / f"{name}.parquet")


def test_the_marks_are_in_the_output_of_the_file_that_has_some(out: Path) -> None:
    marks = table(out, "marked")["nli_row_info"]
    assert marks.type == pa.binary()
    nested = [isinstance(dims, dict | list) for dims in DIMS]
    assert [None if mark is None else json.loads(mark) for mark in marks.to_pylist()] == [
        {"nested": ["dims"]} if is_nested else None for is_nested in [*nested, False, True]
    ]
    assert "nli_row_info" not in table(out, "plain").column_names


def test_a_row_is_explained_with_the_facts_that_were_judged(out: Path, tiny: Path) -> None:
    output, facts = Output.open(out), judged(out)
    columns = output.columns
    with Scorer(tiny, columns=columns) as opened:
        for number, stored in enumerate(facts):
            found = explain(output, opened, number)
            if found.recomputed is not None:
                assert (found.recomputed.facts, found.same_labels, found.difference) == (stored, True, 0.0)
    assert sum(one is not None for one in facts) > len(DIMS)


def test_people_and_the_audit_see_the_facts_that_were_judged(out: Path) -> None:
    facts = judged(out)
    labelled = read_labels(out, "out")
    content, _ = write_items(labelled, draw_rows(labelled, 100, 0))
    for line in csv.DictReader(io.StringIO(content.decode("utf-8-sig"))):
        row = labelled.row(line["item"])
        assert row is not None and line["facts"].splitlines() == (facts[row] or [])
    document = audit(out)
    labels = [label for name in ("marked", "plain") for label in table(out, name)["nli_fine"].to_pylist()]
    predicates = [
        fact.split()[1] for label, stored in zip(labels, facts, strict=True) if label for fact in stored or ()
    ]
    assert {one.predicate: one.omission.n for one in document.groups[0].predicates} == Counter(predicates)
    assert len(document.worst) > len(DIMS)
    for row in document.worst:
        stored = facts[row.row + (10 if row.file == "plain.parquet" else 0)]
        assert len(row.facts or ()) == len(stored or ())


def test_inputs_are_told_apart_by_the_facts_that_were_judged(out: Path) -> None:
    output = Output.open(out)
    inputs = find_inputs(load(output), output.columns)
    facts = [tuple(sorted(stored)) if stored else number for number, stored in enumerate(judged(out))]
    same = np.equal.outer(inputs.codes, inputs.codes)
    assert (same == [[one == other for other in facts] for one in facts]).all()


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (6, """has an object or a list as its text: column 'text' is '{"weight": "1 kg","""),
        (8, "could not be read: line 9 of its file is not a JSON object"),
        (9, "has no text: column 'text' is None"),
    ],
)
def test_an_error_is_explained_and_not_scored(out: Path, number: int, says: str) -> None:
    found = json.loads(scorer("explain", out, "--row", f"marked.parquet:{number}", "--json").stdout)
    assert found["recomputed"] is None and found["same_labels"] is None and says in found["why"]
    printed = scorer("explain", out, "--row", f"marked.parquet:{number}")
    assert f"stored: error {found['stored']['error']}" in printed.stdout and "differs" not in printed.stderr


def test_an_error_of_a_check_names_its_side(tmp_path: Path, tiny: Path) -> None:
    facts = [["The mill is a pub. " * 400], ["The mill is a pub."]]
    pq.write_table(pa.table({"facts": facts, "text": ["A pub.", "A pub. " * 800]}), tmp_path / "long.parquet")
    run(tmp_path / "long.parquet", tmp_path / "out", tiny, "--max-error-rate", 1)
    for row in range(2):
        printed = scorer("explain", tmp_path / "out", "--row", row).stdout
        assert "omission and hallucination side that is longer than the model accepts; --overlong truncate" in printed


def test_a_table_of_a_file_has_the_marks_and_one_of_objects_needs_none(tmp_path: Path, tiny: Path) -> None:
    rows = [{"product": "Lamp", "brand": "Lumo", "dims": dims, "text": TEXT} for dims in (OBJECT, "small")]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with Scorer(tiny, columns=ColumnNames(attributes="brand,dims", subject="product")) as opened:
        of_file = opened.score_table(tmp_path / "in.jsonl")
        assert of_file["row_info"].null_count == 1
        of_objects = opened.score_table(rows)
        assert [row["row_key"] for row in of_objects] == of_file["row_key"].to_pylist()
        assert "row_info" not in of_objects[0] and of_objects[0]["dims"] == OBJECT
        with pytest.raises(ColumnError, match="'row_info'"):
            opened.score_table([{**row, "row_info": 1} for row in rows])


@pytest.mark.parametrize("value", [b"", b"{}", b"[]", b"\xff", b'{"nested": 1}', 7])
def test_what_no_run_writes_is_named(value: Any) -> None:
    with pytest.raises(ColumnError, match="'row_info'"):
        restore_marks(pa.table({"row_info": [value]}), ColumnNames())


def test_a_list_that_is_the_only_attribute_is_explained_as_it_was_judged(tmp_path: Path, tiny: Path) -> None:
    """A list gives a fact for each element, and a text that looks like one a single fact; an object needs no mark."""
    sizes: list[Any] = [["S", "M"], '["S", "M"]', {"of": "S"}, None, "S"]
    lines = [json.dumps({"product": "Coat", "sizes": value, "text": "The sizes of Coat is S."}) for value in sizes]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    columns = ("--attributes-column", "sizes", "--subject-column", "product")
    run(tmp_path / "a.jsonl", tmp_path / "out", tiny, *columns, "--details", "--max-error-rate", 1)
    output = pq.read_table(tmp_path / "out" / "a.parquet")
    facts = output["worded_facts"].to_pylist()
    assert facts[:2] == [["The sizes of Coat is S.", "The sizes of Coat is M."], ['The sizes of Coat is ["S", "M"].']]
    assert [mark is not None for mark in output["row_info"].to_pylist()] == [True, False, False, False, False]
    out = Output.open(tmp_path / "out")
    with Scorer(tiny, columns=out.columns) as opened:
        for row in (0, 1, 2, 4):
            recomputed = explain(out, opened, row).recomputed
            assert recomputed is not None and recomputed.facts == facts[row]
