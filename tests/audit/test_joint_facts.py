"""Facts that a sentence says together, in findings, predicates, rows and reports: named by the sentence, shown once."""

from __future__ import annotations

import json
import re
from pathlib import Path

from scorer.audit import AuditOptions, audit
from scorer.metric.fact_templates import Templates
from tests.audit.nights import SIGNATURE, Row, command, night, row

TEMPLATES = {"$sentences": ["<home> met <away>."], "food": "<subject> serves <object>.", "$optional": ["food=o9"]}
SENTENCE = "'<home> met <away>.'"


def rows(bad: int, count: int = 100) -> list[Row]:
    """Rows whose sentence fails in ``bad``."""
    return [
        row(f"text {i}", [("home", p := 0.1 if i < bad else 0.9), ("food", 0.9), ("away", p)], subject=f"s{i}")
        for i in range(count)
    ]


def test_the_sentence_is_named_instead_of_its_predicates_and_shown_once(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text(json.dumps(TEMPLATES))
    signature = SIGNATURE.replace("templates:none", f"templates:{Templates.load(file).sha256[:12]}")
    more = {"signature": signature, "settings": {"templates": str(file)}}
    before, after = night(tmp_path / "before", rows(2), **more), night(tmp_path / "after", rows(90), **more)
    document = audit(after, AuditOptions(baseline=before))
    messages = [one.message for one in document.findings]
    assert f"all rows: {SENTENCE} omitted in 90 of 100, before in 2 of 100" in messages
    assert [one for one in messages if "looks wrong" in one] == [f"the sentence {SENTENCE} looks wrong"]
    predicates = {one.predicate: (one.sentence, one.suspect) for one in document.groups[0].predicates}
    assert predicates == {
        "home": ("<home> met <away>.", True), "away": ("<home> met <away>.", True), "food": (None, False),
    }  # fmt: skip
    facts = document.worst[0].facts or []
    assert [(one.predicate, one.sentence, one.omitted, one.repeats) for one in facts] == [
        ("home", "o0 met o2.", True, False),
        ("food", f"{facts[0].subject} serves o1.", False, False),
        ("away", "o0 met o2.", True, True),
    ]
    pages = [tmp_path / name for name in ("report.html", "summary.md")]
    command("audit", after, "--baseline", before, "--report", pages[0], "--summary", pages[1])
    html, summary = (page.read_text() for page in pages)
    assert "omitted: o0 met o2\n" in summary and "o0 met o2; o0" not in summary
    lists = re.findall('<ul class="lost".*?</ul>', html, re.DOTALL)
    assert lists and all(one.count("omitted:") == one.count("o0 met o2.") == 1 for one in lists)
    assert "&lt;home&gt; met &lt;away&gt;." in html


def test_without_the_sentence_in_the_data_predicates_are_named(tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text(json.dumps({"$sentences": ["<home> met <other>."]}))
    signature = SIGNATURE.replace("templates:none", f"templates:{Templates.load(file).sha256[:12]}")
    document = audit(night(tmp_path / "out", rows(90), signature=signature, settings={"templates": str(file)}))
    found = [one.message for one in document.findings if one.kind == "template"]
    assert found == ["the template of 'away' looks wrong", "the template of 'home' looks wrong"]
