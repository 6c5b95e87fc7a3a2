"""What a reader is told first, and which templates look wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scorer.audit import audit
from scorer.audit.document import Document, Gate, TemplatesShown
from scorer.audit.findings import all_findings, looks_wrong
from scorer.metric.templates import Templates
from tests.audit.nights import SIGNATURE, Row, compared, night, row


@pytest.mark.parametrize(
    ("counts", "wrong"),
    [
        ((30, 30, 0, 1000), True),
        ((29, 29, 0, 1000), False),  # too few facts
        ((11, 30, 0, 1000), True),
        ((10, 30, 0, 1000), False),  # the interval begins at 0.192
        ((300, 1000, 100, 1000), True),  # odds of 0.374 at the lower end, three times 0.112
        ((300, 1000, 120, 1000), False),  # and not three times 0.137
        ((99, 100, 60, 100), True),  # no rate is three times 0.6, but odds are
        ((80, 100, 60, 100), False),
        ((500, 1000, 0, 0), False),  # there are no others
    ],
)
def test_the_rule(counts: tuple[int, int, int, int], wrong: bool) -> None:
    assert looks_wrong(*counts) is wrong


def suspects(document: Document) -> list[str]:
    found = [one.message for one in document.findings if one.kind == "template"]
    marked = [one.predicate for one in document.groups[0].predicates if one.suspect]
    assert found == [f"the template of {one!r} looks wrong" for one in marked]
    return marked


def made(food: dict[str | None, float]) -> list[Row]:
    """Twenty rows of each system, with its P(entailment) of the food."""
    others = [("area", 0.9), ("near", 0.9), ("priceRange", 0.9)]
    return [row(f"{s} {i}", [("food", food[s]), *others], system=s) for s in food for i in range(20)]


def test_a_predicate_that_fails_everywhere_is_called_out(tmp_path: Path) -> None:
    document = audit(night(tmp_path / "out", made({"a": 0.1, "b": 0.1, "c": 0.1})))
    assert suspects(document) == ["food"]
    assert {"omitted: 60 of 60 (100%)", "far above the rest in 3 of 3 groups"} < {*document.findings[0].evidence}
    # A system that leaves a slot out is no bad template, unless nothing tells systems apart.
    rows = made({"a": 0.1, "b": 0.1, "c": 0.9})
    assert suspects(audit(night(tmp_path / "some", rows))) == []
    for one in rows:
        del one["system"]
    assert suspects(audit(night(tmp_path / "one", rows))) == ["food"]


def test_facts_are_shown_as_their_templates_say(tmp_path: Path) -> None:
    content = {"food": "<subject> serves <object>.", "$aliases": {"foods": "food"}}
    file = tmp_path / "templates.json"
    file.write_text(json.dumps(content))
    digest = Templates.load(file).sha256[:12]
    signature = SIGNATURE.replace("templates:none", f"templates:{digest}")
    rows = [row(f"t{i}", [("foods", 0.1), ("area", 0.9), ("near", 0.9)], subject="X") for i in range(40)]
    out = night(tmp_path / "out", rows, signature=signature, settings={"templates": str(file), "bundle": "embedded"})
    document = audit(out)
    assert document.templates == TemplatesShown(sha=digest, file=str(file))
    sentences = [fact.sentence for fact in document.worst[0].facts or []]
    assert sentences == ["X serves o0.", "The area of X is o1.", "The near of X is o2."]
    (callout,) = [one for one in document.findings if one.kind == "template"]
    assert callout.evidence[-1] == "template: <subject> serves <object>."

    file.write_text(json.dumps({**content, "area": "<subject> is in the <object>."}))
    changed = audit(out)
    assert changed.templates.file is None
    assert any("template file is not where the run found it" in note for note in changed.notes)
    assert {fact.sentence for fact in changed.worst[0].facts or []} == {None}


def texts(system: str, count: int, failing: int, version: str = "") -> list[Row]:
    return [
        row(f"{system} {i} {version}", [("food", 0.1 if i < failing else 0.9)], subject=f"S{i}", system=system)
        for i in range(count)
    ]


def test_the_sentence_names_the_group_that_got_worst_and_a_gate_does_not_repeat_it(tmp_path: Path) -> None:
    """One of three systems fails more often in new texts; the others keep theirs."""
    same = [*texts("b", 100, 10), *texts("c", 100, 12)]
    worse = compared(tmp_path, texts("a", 100, 11) + same, texts("a", 100, 60, "new") + same)
    said = "a: food omitted in 60 of 100, before in 11 of 100"
    assert worse.headline.endswith(f"{said}.")
    gate = Gate(metric="not_ok_rate", group={"system": "a"}, status="fail", value=0.49, now=0.6, before=0.11, low=None,
                high=None, warn=None, fail=0.1, fail_p=None, p=None, alert_direction="above", against="baseline",
                rows=100, min_rows=0, missing="fail", reason=None, message="system=a: not_ok_rate 60.0%")  # fmt: skip
    found = all_findings([gate], worse.groups, worse.baseline, worse.baseline_changes, [])
    (one,) = [one for one in found if one.group == {"system": "a"}]
    assert (one.kind, one.severity, one.gates, one.message) == ("changed", "fail", [gate.message], said)
    alone = audit(night(tmp_path / "out", [*texts("a", 40, 10), *texts("b", 40, 2)]))
    assert "15.0% of 80 rows are not OK, most of a: 25.0%." in alone.headline


def test_a_bundle_that_cannot_be_trusted(tmp_path: Path) -> None:
    out = night(tmp_path / "out", texts("a", 5, 1))
    summary = json.loads((out / "_run.json").read_text())
    for recorded, severities in (({"random_weights": True}, ["fail"]), ({"forced": ["parity"]}, ["warn"]), ({}, [])):
        (out / "_run.json").write_text(json.dumps({**summary, **recorded}))
        assert [one.severity for one in audit(out).findings if one.kind == "bundle"] == severities
