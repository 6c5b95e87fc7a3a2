from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import InputError, OutputError, UsageError
from scorer.metric.inputs import ColumnNames
from scorer.metric.templates import Templates
from scorer.metric.triples import Triple
from scorer.templating.extract import is_usable
from scorer.templating.making import make_templates
from scorer.templating.references import read_references


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
    report = make_templates([data], out, ColumnNames())
    assert report["references"] == {
        "all": 11,
        "used": 3,
        "share": round(3 / 11, 4),
        "rejected": {
            "several_triples": 1, "null_text": 1, "blank_text": 1, "malformed_triples": 1, "no_triples": 1,
            "no_subject": 1, "neither": 1, "reserved_predicate": 1,
        },
    }  # fmt: skip
    assert report["references"]["all"] == 3 + sum(report["references"]["rejected"].values())
    # "Bean is the mayor of Rome." has half of Alan Bean, so it is usable, and gives no template all the same.
    assert report["predicates"] == {
        "all": 3, "usable": 2, "covered": 1, "usable_covered": 1, "share": 0.5, "missing": ["lost", "mayor"],
    }  # fmt: skip
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
    found = read_references([str(tmp_path / "refs.parquet")], ColumnNames(text="references"))
    assert list(found.counts) == [
        (Triple("D", "near", "E"), "D is near E."),
        (Triple("D", "near", "E"), "D: E."),
        (Triple("A", "near", "B"), "A is near B."),
    ]
    assert found.rows == 3


def test_nothing_is_overwritten_and_nothing_is_written_for_nothing(data: str, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    few = tmp_path / "few.parquet"
    pq.write_table(pa.table({"triples": [["Alan Bean | mayor | Rome"]], "text": ["Bean is the mayor of Rome."]}), few)
    with pytest.raises(InputError, match="1 no_subject"):
        make_templates([str(few)], out, ColumnNames())
    with pytest.raises(UsageError, match=r"F\.json"):
        make_templates([data], tmp_path / "t.parquet", ColumnNames())
    assert not list(tmp_path.glob("t.*"))
    (tmp_path / "t.candidates.json").write_text("mine")
    with pytest.raises(OutputError, match="--force"):
        make_templates([data], out, ColumnNames())
    assert (tmp_path / "t.candidates.json").read_text() == "mine"
    make_templates([data], out, ColumnNames(), force=True)
    assert Templates.load(out).plain


@pytest.mark.parametrize(
    ("subject", "value", "text", "expected"),
    [
        ("Alan_Bean", "Texas", "Bean, of TEXAS", True),
        ("Alan_Bean", "Texas", "Beans, of Texas", False),
        ("A_B_(film)", "Köln", "koln: a b", True),
        ("One_Two_Three", "x", "one x", False),
        ("One_Two_Three", "x", "one three x", True),
        ("Inn", "yes", "Inn", True),
    ],
)
def test_what_counts_as_usable(subject: str, value: str, text: str, expected: bool) -> None:
    assert is_usable(Triple(subject, "p", value), text) is expected
