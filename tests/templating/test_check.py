from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.metric import ColumnNames
from scorer.metric.templates import Templates
from scorer.templating.check import review

FILE: dict[str, Any] = {
    "near": ["<subject> is near <object>.", "not used"],
    "rating": "Rated <object>.",
    "kids": {"yes": "<subject> welcomes kids.", "no": "Adults only."},
    "area": "Nowhere.",
    "$aliases": {"customer rating": "rating"},
}
TEMPLATES = Templates.from_dict(FILE)
Row = tuple[list[str], str]


def save(path: Path, rows: Sequence[Row]) -> str:
    triples, text = zip(*rows, strict=True)
    pq.write_table(pa.table({"triples": triples, "text": text}), path)
    return str(path)


def test_coverage_by_hand(tmp_path: Path) -> None:
    rows: list[Row] = [
        (["A | near | B", "A | customer rating | high", "A | kids | maybe"], "x"),
        (["A | near | B", "A | kids | yes", "A | colour | red"], "y"),
        (["A | colour | blue", 'A | kids | "no"'], "y"),
        (["A | near"], "y"),
    ]
    report = review(TEMPLATES, "t.json", [save(tmp_path / "a.parquet", rows)], ColumnNames())
    assert (report.rows, report.errors) == (4, {"malformed_triples": 1})
    assert (report.facts, report.backoff, report.predicates, report.unused) == (8, 3, 4, ["area"])
    missing = {(one.predicate, one.object): one.facts for one in report.missing}
    assert missing == {("colour", None): 2, ("kids", "maybe"): 1}
    slots = {(one.predicate, one.object): (one.slots, one.facts) for one in report.without_slot}
    assert slots == {
        ("rating", None): (("subject",), 1),
        ("area", None): (("subject", "object"), 0),
        ("kids", "no"): (("subject",), 1),
    }
