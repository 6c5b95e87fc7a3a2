from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.errors import ColumnError, UsageError
from scorer.metric.inputs import ColumnNames
from scorer.metric.templates import Templates
from scorer.scoring.signature import FOOTER_KEY
from scorer.templating.review import review

FILE: dict[str, Any] = {
    "near": ["<subject> is near <object>.", "not used"],
    "rating": "Rated <object>.",
    "kids": {"yes": "<subject> welcomes kids.", "no": "Adults only."},
    "area": "Nowhere.",
    "$aliases": {"customer rating": "rating"},
}
TEMPLATES = Templates.from_dict(FILE)
SIGNED = f"model:m@0|templates:{TEMPLATES.sha256[:12]}|metric:1"
Row = tuple[list[str], str | None, list[int] | None, list[float | None] | None]


def save(path: Path, rows: Sequence[Row], signature: str | None = SIGNED, prefix: str = "") -> str:
    """A run's output, as far as the check reads it."""
    triples, text, omitted, entailment = zip(*rows, strict=True)
    table = pa.table(
        {
            "triples": triples,
            "text": pa.array(text, pa.string()),
            f"{prefix}omitted": pa.array(omitted, pa.list_(pa.int32())),
            f"{prefix}fact_entailment": pa.array(entailment, pa.list_(pa.float32())),
        }
    )
    pq.write_table(table.replace_schema_metadata({FOOTER_KEY: signature} if signature else None), path)
    return str(path)


def rows_of(failed: dict[str, tuple[int, int]]) -> list[Row]:
    """One fact a row: so many facts of a predicate, so many of them failed."""
    rows: list[Row] = []
    for predicate, (n, bad) in failed.items():
        for i in range(n):
            rows.append(([f"A | {predicate} | B{i}"], f"Text {i}", [0] if i < bad else [], [0.1 + i / 1000]))
    return rows


def test_coverage_by_hand(tmp_path: Path) -> None:
    rows: list[Row] = [
        (["A | near | B", "A | customer rating | high", "A | kids | maybe"], "x", None, None),
        (["A | near | B", "A | kids | yes", "A | colour | red"], "y", None, None),
        (["A | colour | blue", 'A | kids | "no"'], "y", None, None),
        (["A | near"], "y", None, None),
    ]
    told: list[str] = []
    report = review(TEMPLATES, [save(tmp_path / "a.parquet", rows)], ColumnNames(), note=told.append)
    assert report["rows"] == {"in": 4, "errors": {"malformed_triples": 1}}
    assert report["facts"] == {"all": 8, "template": 5, "backoff": 3, "share": 0.375}
    assert report["missing"] == [{"predicate": "colour", "facts": 2, "share": 0.25}]
    assert report["missing_values"] == [{"predicate": "kids", "object": "maybe", "facts": 1, "share": 0.125}]
    assert report["unused"] == ["area"]
    assert report["templates"]["predicates"] == 4
    slots = {(line["predicate"], line.get("object")): (line["slots"], line["facts"]) for line in report["without_slot"]}
    assert slots == {
        ("rating", None): (["subject"], 1),
        ("area", None): (["subject", "object"], 0),
        ("kids", "no"): (["subject"], 1),
    }
    assert report["evidence"] is not None
    assert report["evidence"]["facts"] == 0


def test_templates_that_fail_far_more_often(tmp_path: Path) -> None:
    rows = rows_of({"near": (100, 5), "rating": (40, 30), "area": (29, 29)})
    rows.append((["A | near | C", "A | colour | red"], "y", [1], [0.9, 0.0]))  # backoff is no template
    rows.append((["A | near | C"], " ", [0], None))  # a blank text: the model was not asked
    rows.append((["A | near | C", "A | rating | 5"], "z", [], [None, 0.8]))  # an optional fact: not asked
    report = review(TEMPLATES, [save(tmp_path / "a.parquet", rows)], ColumnNames())
    assert report["evidence"] == {
        "from": "data", "signature": SIGNED, "rows": 172, "facts": 171, "failed": 64, "rate": round(64 / 171, 4),
    }  # fmt: skip
    (line,) = report["failing"]  # area has fewer than 30 facts
    assert (line["predicate"], line["facts"], line["failed"]) == ("rating", 41, 30)
    assert line["others_rate"] == round(34 / 130, 4)
    assert line["template"] == "Rated <object>."
    assert line["mean_entailment"] == pytest.approx((sum(0.1 + i / 1000 for i in range(40)) + 0.8) / 41, abs=1e-4)
    assert [example["text"] for example in line["examples"]] == ["Text 0", "Text 1", "Text 2"]
    assert line["examples"][0] == {"entailment": 0.1, "fact": "Rated B0.", "text": "Text 0"}


def test_the_windows_of_many_files_add_up(tmp_path: Path) -> None:
    rows = rows_of({"near": (100, 5), "rating": (40, 30)})
    whole = review(TEMPLATES, [save(tmp_path / "whole.parquet", rows)], ColumnNames())
    (tmp_path / "parts").mkdir()
    for i in range(7):
        save(tmp_path / "parts" / f"{i}.parquet", rows[i * 20 : (i + 1) * 20])
    assert review(TEMPLATES, [str(tmp_path / "parts")], ColumnNames()) == whole


def test_evidence_of_other_templates_is_none(tmp_path: Path) -> None:
    rows = rows_of({"near": (100, 5), "rating": (40, 30)})
    for signature in (None, SIGNED.replace("templates:", "templates:0"), "baseline:keywords|metric:1"):
        told: list[str] = []
        data = save(tmp_path / "a.parquet", rows, signature)
        report = review(TEMPLATES, [data], ColumnNames(), note=told.append)
        assert (report["evidence"], report["failing"]) == (None, [])
        assert "other templates" in told[0]
    told = []
    report = review(TEMPLATES, [data], ColumnNames(prefix="m_"), note=told.append)
    assert report["evidence"] is None
    assert "not a run's output" in told[0]
    prefixed = save(tmp_path / "b.parquet", rows, prefix="m_")
    assert len(review(TEMPLATES, [prefixed], ColumnNames(prefix="m_"))["failing"]) == 1


def test_files_that_were_not_scored_alike(tmp_path: Path) -> None:
    rows = rows_of({"near": (2, 1)})
    files = [save(tmp_path / "a.parquet", rows), save(tmp_path / "b.parquet", rows, SIGNED.replace("m@0", "m@1"))]
    with pytest.raises(UsageError, match="m@0 → m@1"):
        review(TEMPLATES, files, ColumnNames())


def test_evidence_that_does_not_fit_the_facts(tmp_path: Path) -> None:
    data = save(tmp_path / "a.parquet", [(["A | near | B"], "x", [], [0.5, 0.5])])
    with pytest.raises(ColumnError, match="1 facts but 2 values"):
        review(TEMPLATES, [data], ColumnNames())
    table = pa.table({"triples": [["A | near | B"]], "text": ["x"], "omitted": ["none"], "fact_entailment": [[0.5]]})
    pq.write_table(table.replace_schema_metadata({FOOTER_KEY: SIGNED}), tmp_path / "b.parquet")
    with pytest.raises(ColumnError, match="omitted"):
        review(TEMPLATES, [str(tmp_path / "b.parquet")], ColumnNames())


class Counting:
    """Scores a table: every ``rating`` fails."""

    signature = "counting"

    def __init__(self) -> None:
        self.tables: list[pa.Table] = []

    def score_table(self, table: pa.Table) -> pa.Table:
        self.tables.append(table)
        bad = ["rating" in row[0] for row in table["triples"].to_pylist()]
        return pa.table(
            {
                "omitted": pa.array([[0] if b else [] for b in bad], pa.list_(pa.int32())),
                "fact_entailment": pa.array([[0.2 if b else 0.9] for b in bad], pa.list_(pa.float32())),
            }
        )


def test_a_sample_is_scored_and_all_facts_are_counted(tmp_path: Path) -> None:
    rows = rows_of({"near": (100, 0), "rating": (40, 0)})
    (tmp_path / "parts").mkdir()
    for i in range(7):
        save(tmp_path / "parts" / f"{i}.parquet", rows[i * 20 : (i + 1) * 20])
    scorer = Counting()
    report = review(TEMPLATES, [str(tmp_path / "parts")], ColumnNames(), scorer, sample=120)
    assert report["facts"]["all"] == 140
    assert report["evidence"]["from"] == "bundle"
    assert report["evidence"]["rows"] == 120
    assert [line["predicate"] for line in report["failing"]] == ["rating"]
    (drawn,) = scorer.tables
    order = [row["triples"][0] for row in drawn.to_pylist()]
    everything = [row[0][0] for row in rows]
    assert order == [triple for triple in everything if triple in set(order)], "drawn once each, in the data's order"
    again = Counting()
    review(TEMPLATES, [str(tmp_path / "parts")], ColumnNames(), again, sample=120)
    assert again.tables[0].equals(drawn)
    review(TEMPLATES, [str(tmp_path / "parts")], ColumnNames(), again, sample=1000)
    assert len(again.tables[1]) == 140
