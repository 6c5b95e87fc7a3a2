"""The command: what the console says first, exit codes, JUnit, and outputs that do not hold all of their inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scorer.audit import AuditOptions, audit
from scorer.errors import UsageError
from tests.audit.nights import SIGNATURE, command, gates_file, night, row

LIMITED = "only the first 10 rows were scored (--limit)"


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("nights")
    rows = [row(f"t{i}", [("food", 0.2 if i < 20 else 0.9)], system="[b]" if i % 2 else "a&<") for i in range(100)]
    return night(folder / "before", rows, shards=3), night(folder / "after", rows[10:], shards=2)


def test_the_console_says_the_essentials(nights: tuple[Path, Path]) -> None:
    text = command("audit", nights[1], "--baseline", nights[0]).stdout
    assert text.startswith(f"No gates set: {nights[1]}\n\nNo gate was given, so nothing could fail. ")
    assert "\n90 rows, 90 scored, 0 reused\n" in text
    assert "0 rows added, 10 removed, 90 kept, 0 of these with another label" in text
    assert SIGNATURE in text
    lines = {line.split("  ")[0]: line.split() for line in text.splitlines()}
    assert lines["all rows"][2:5] == ["90", "11.1%", "6.1–19.3"]
    assert {"system=[b]", "system=a&<"} < {*lines}


def test_a_gate_that_fails_is_exit_1(nights: tuple[Path, Path], tmp_path: Path) -> None:
    xml = tmp_path / "junit.xml"
    gates = gates_file(
        tmp_path,
        'metric = "not_ok_rate"\nwarn = 0.05\nfail = 0.10',
        'metric = "not_ok_rate"\nwarn = 0.1\nby = ["system"]',
        'metric = "error_rate"\nfail = 0\nmin_rows = 1000',
    )
    result = command("audit", nights[1], "--gates", gates, "--junit", xml, code=1)
    assert "scorer: 1 of 4 gates failed" in result.stderr
    assert result.stdout.startswith("Failed: ")
    suite = ElementTree.parse(xml).getroot()[0]
    assert [suite.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["4", "1", "0", "1"]
    assert [(case.get("classname"), *(child.tag for child in case)) for case in suite] == [
        ("audit.all rows", "failure"),
        ("audit.system=[b]", "system-out"),
        ("audit.system=a&<", "system-out"),
        ("audit.all rows", "skipped"),
    ]
    expected = "all rows: not_ok_rate 11.1%, 95% interval 6.1% to 19.3% (warn above 5.0%, fail above 10.0%)"
    assert suite[0][0].text == expected
    gates_file(tmp_path, 'metric = "not_ok_rate"\nwarn = 0.05\nfail = 0.2')
    assert command("audit", nights[1], "--gates", gates).stdout.startswith("Passed with warnings: ")


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_limit_is_said_first_and_not_compared_with_a_complete_output(tmp_path: Path) -> None:
    part, whole = (night(tmp_path / str(rows), [row(f"t{i}") for i in range(rows)]) for rows in (10, 30))
    edit(part / "_plan.json", limit=10)
    page, xml = tmp_path / "report.html", tmp_path / "junit.xml"
    shown = command("audit", part, "--report", page, "--junit", xml).stdout
    assert shown.startswith(f"Partial output: {LIMITED}\n\nNo gates set: ")
    text = page.read_text()
    assert text.index(LIMITED) < text.index("<h1>") and "<title>Partial. " in text
    properties = ElementTree.parse(xml).getroot()[0].find("properties")
    assert properties[0].attrib == {"name": "partial", "value": LIMITED}
    for out, baseline in ((part, whole), (whole, part)):
        said = r"the output is (partial \(.*|complete), and the baseline is (partial \(.*|complete): .*--allow-partial"
        with pytest.raises(UsageError, match=said):
            audit(out, AuditOptions(baseline=baseline))
    document = audit(whole, AuditOptions(baseline=part, allow_partial=True))
    assert (document.partial, document.baseline.partial) == (None, LIMITED)
    assert document.baseline_changes.added == 20
    edit(part / "_plan.json", limit=11)  # which cut nothing
    assert audit(part).partial is None
