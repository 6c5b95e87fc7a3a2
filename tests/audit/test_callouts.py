"""What a reader is told first: the sentence under the verdict, and what makes all labels doubtful."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scorer.audit import Document, audit
from scorer.audit.callouts import call_out
from scorer.audit.document import Gate
from tests.audit.nights import Row, compared, night, row


def texts(system: str, count: int, failing: int, version: str) -> list[Row]:
    return [
        row(f"{system} {i} {version}", [("food", 0.1 if i < failing else 0.9)], subject=f"S{i}", system=system)
        for i in range(count)
    ]


@pytest.fixture(scope="module")
def worse(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """One of three systems fails more often in new texts; the others keep theirs."""
    same = [*texts("b", 100, 10, "old"), *texts("c", 100, 12, "old")]
    before, after = texts("a", 100, 11, "old"), texts("a", 100, 60, "new")
    return compared(tmp_path_factory.mktemp("worse"), before + same, after + same)


def test_the_sentence_names_the_group_that_got_worst(worse: Document, tmp_path: Path) -> None:
    assert "system=a: not_OK 11.0% → 60.0%; no other system changed." in worse.headline
    alone = audit(night(tmp_path / "out", [*texts("a", 40, 10, ""), *texts("b", 40, 2, "")]))
    assert "15.0% of 80 rows are not OK, most of system=a: 25.0%." in alone.headline


def test_a_rise_that_a_gate_tells_is_not_told_again(worse: Document) -> None:
    gate = Gate(metric="not_ok_rate", group={"system": "a"}, status="fail", value=0.49, now=0.6, before=0.11, low=None,
                high=None, warn=None, fail=0.1, fail_p=None, p=None, rings="above", against="baseline", rows=100,
                min_rows=0, missing="fail", reason=None, message="system=a: not_ok_rate 60.0%")  # fmt: skip
    found = call_out([gate], worse.groups, worse.baseline, worse.baseline_changes, [])
    said = [one.message for one in found if one.group == {"system": "a"} and one.kind in ("gate", "regression")]
    assert said == [gate.message, "system=a: the omission rate rose from 11.0% to 60.0%"]


def test_predicates_that_always_fail_are_named_even_when_they_are_few(tmp_path: Path) -> None:
    rows = [row(f"t{i}", [("food", 0.9), ("rare" if i < 18 else "odd", 0.1)], subject=f"S{i}") for i in range(36)]
    document = audit(night(tmp_path / "out", [*rows, *texts("a", 40, 1, "")][:36] + texts("a", 40, 1, "")))
    said = [one.message for one in document.callouts if one.kind == "template"]
    assert "2 predicates fail in 36 of 36 facts; too few to judge" in said


def test_a_bundle_that_cannot_be_trusted(tmp_path: Path) -> None:
    out = night(tmp_path / "out", texts("a", 5, 1, ""))
    summary = json.loads((out / "_run.json").read_text())
    for recorded, severity in (({"random_weights": True}, "fail"), ({"forced": ["parity"]}, "warn"), ({}, None)):
        (out / "_run.json").write_text(json.dumps({**summary, **recorded}))
        found = [one.severity for one in audit(out).callouts if one.kind == "bundle"]
        assert found == ([severity] if severity else [])
