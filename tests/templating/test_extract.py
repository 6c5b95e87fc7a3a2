from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import InputError
from scorer.metric import ColumnNames
from scorer.metric.facts import Triple
from scorer.metric.templates import Templates
from scorer.templating import ExtractOptions
from scorer.templating.extract import make_templates, read_references
from tests.run.calls import scorer


def triple(subject: str, predicate: str, value: str) -> dict[str, str]:
    return {"subject": subject, "predicate": predicate, "object": value}


ROWS: list[tuple[Any, str | None]] = [
    ([triple("A_B", "near", "C")], "A B is near C."),
    ([triple("A_B", "near", "C")], "A B is near C."),
    ([triple("D", "near", "E")], "D lies by E"),
    ([triple("D", "near", "E"), triple("D", "far", "F")], "D."),
    ([triple("D", "near", "E")], None),
    ([triple("D", "near", "E")], "  "),
    ([triple("D", "", "E")], "D E."),
    ([], "D E."),
    ([triple("Alan Bean", "mayor", "Rome")], "Bean is the mayor of Rome."),
    ([triple("Alan Bean", "lost", "Rome")], "He lost it."),
    ([triple("D", "$x", "E")], "D E."),
]


@pytest.fixture
def data(tmp_path: Path) -> str:
    triples, text = zip(*ROWS, strict=True)
    pq.write_table(pa.table({"triples": triples, "text": text}), tmp_path / "refs.parquet")
    return str(tmp_path / "refs.parquet")


def test_all_is_counted(data: str, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    report = make_templates([data], out, ExtractOptions())
    assert report.rejected == {
        "several_triples": 1, "null_text": 1, "blank_text": 1, "malformed_triples": 1, "no_triples": 1,
        "no_subject": 1, "neither": 1, "reserved_predicate": 1,
    }  # fmt: skip
    assert (report.references, report.used) == (11, 3) and report.references == 3 + sum(report.rejected.values())
    assert (report.predicates, report.missing, report.candidates) == (4, ["$x", "lost", "mayor"], 2)
    templates = Templates.load(out)
    assert templates.fill(Triple("X", "near", "Y")).text == "X is near Y."
    candidates = json.loads((tmp_path / "t.candidates.json").read_text())
    assert candidates == {
        "near": [
            {"template": "<subject> is near <object>.", "count": 2, "chosen": True},
            {"template": "<subject> lies by <object>.", "count": 1},
        ]
    }


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.string())])
def test_a_row_may_have_several_references(tmp_path: Path, kind: pa.DataType) -> None:
    texts = pa.array([["D is near E.", "D: E."], [], None, ["A is near B."]], kind)
    pairs = [["D | near | E"], ["D | near | E"], ["D | near | E"], ["A | near | B"]]
    pq.write_table(pa.table({"triples": pairs, "references": texts}), tmp_path / "refs.parquet")
    found = read_references([str(tmp_path / "refs.parquet")], ColumnNames(text="references"), Counter())
    assert list(found) == [
        (Triple("D", "near", "E"), "D is near E."),
        (Triple("D", "near", "E"), "D: E."),
        (Triple("A", "near", "B"), "A is near B."),
    ]
    assert sum(found.values()) == 3


def test_nothing_is_overwritten_and_nothing_is_written_for_nothing(data: str, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    few = tmp_path / "few.parquet"
    pq.write_table(pa.table({"triples": [["Alan Bean | mayor | Rome"]], "text": ["Bean is the mayor of Rome."]}), few)
    with pytest.raises(InputError, match="1 no_subject"):
        make_templates([str(few)], out, ExtractOptions())
    assert "F.json" in scorer("templates", "extract", data, "--out", tmp_path / "t.parquet", code=2).stderr
    assert not list(tmp_path.glob("t.*"))
    (tmp_path / "t.candidates.json").write_text("mine")
    assert "--force" in scorer("templates", "extract", data, "--out", out, code=2).stderr
    assert (tmp_path / "t.candidates.json").read_text() == "mine"
    assert "go together" in scorer("templates", "extract", data, "--out", out, "--choose", "nli", code=2).stderr
    scorer("templates", "extract", data, "--out", out, "--force")
    assert Templates.load(out).plain
