"""What a reader is told first, and which templates look wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scorer.audit import audit
from scorer.audit.document import Document, Gate, TemplatesShown
from scorer.audit.findings import all_findings, looks_wrong
from scorer.metric.templates import Templates
from tests.audit.nights import SIGNATURE, Row, compared, night, row

GOOD = [("area", 0.9), ("near", 0.9), ("priceRange", 0.9)]


def suspects(document: Document) -> list[str]:
    assert {p.predicate for p in document.groups[0].predicates if p.suspect} == {
        c.message.split("'")[1] for c in document.findings if c.kind == "template"
    }
    return [c.message for c in document.findings if c.kind == "template"]


def made(systems: str, n: int, food: dict[str, float]) -> list[Row]:
    """Rows of systems, with P(entailment) of the food of each."""
    return [row(f"{s} {i}", [("food", food[s]), *GOOD], system=s) for s in systems for i in range(n)]


def test_a_predicate_that_fails_everywhere_is_called_out(tmp_path: Path) -> None:
    document = audit(night(tmp_path / "out", made("abc", 20, dict.fromkeys("abc", 0.1))))
    assert suspects(document) == ["the template of 'food' looks wrong"]
    (callout,) = document.findings
    assert {"omitted: 60 of 60 (100%)", "far above the rest in 3 of 3 groups"} < {*callout.evidence}


def test_a_system_that_leaves_a_slot_out_is_no_bad_template(tmp_path: Path) -> None:
    rows = made("abc", 20, {"a": 0.1, "b": 0.1, "c": 0.9})
    assert suspects(audit(night(tmp_path / "out", rows))) == []
    # Nothing tells systems apart in this one, and the predicate is far beyond the rest.
    for one in rows:
        del one["system"]
    whole = audit(night(tmp_path / "one", rows))
    assert suspects(whole) == ["the template of 'food' looks wrong"]


def written(folder: Path, content: dict[str, Any]) -> tuple[Path, str, str]:
    """A template file, its digest, and the signature of a run with it."""
    file = folder / "templates.json"
    file.write_text(json.dumps(content))
    digest = Templates.load(file).sha256[:12]
    return file, digest, SIGNATURE.replace("templates:none", f"templates:{digest}")


def test_facts_are_shown_as_their_templates_say(tmp_path: Path) -> None:
    content = {"food": "<subject> serves <object>.", "$aliases": {"foods": "food"}}
    file, digest, signature = written(tmp_path, content)
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
    assert worse.headline.endswith("a: food omitted in 60 of 100, before in 11 of 100.")
    alone = audit(night(tmp_path / "out", [*texts("a", 40, 10, ""), *texts("b", 40, 2, "")]))
    assert "15.0% of 80 rows are not OK, most of a: 25.0%." in alone.headline


def test_a_rise_that_a_gate_tells_is_not_told_again(worse: Document) -> None:
    gate = Gate(metric="not_ok_rate", group={"system": "a"}, status="fail", value=0.49, now=0.6, before=0.11, low=None,
                high=None, warn=None, fail=0.1, fail_p=None, p=None, rings="above", against="baseline", rows=100,
                min_rows=0, missing="fail", reason=None, message="system=a: not_ok_rate 60.0%")  # fmt: skip
    found = all_findings([gate], worse.groups, worse.baseline, worse.baseline_changes, [])
    (one,) = [one for one in found if one.group == {"system": "a"}]
    assert (one.kind, one.severity, one.gates) == ("changed", "fail", [gate.message])
    assert one.message == "a: food omitted in 60 of 100, before in 11 of 100"


def test_a_bundle_that_cannot_be_trusted(tmp_path: Path) -> None:
    out = night(tmp_path / "out", texts("a", 5, 1, ""))
    summary = json.loads((out / "_run.json").read_text())
    for recorded, severity in (({"random_weights": True}, "fail"), ({"forced": ["parity"]}, "warn"), ({}, None)):
        (out / "_run.json").write_text(json.dumps({**summary, **recorded}))
        found = [one.severity for one in audit(out).findings if one.kind == "bundle"]
        assert found == ([severity] if severity else [])


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
