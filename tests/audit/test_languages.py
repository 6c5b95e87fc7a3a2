"""Texts in a language that the model does not read: a finding, with the share of each group."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from scorer.audit import AuditOptions, audit
from scorer.system.numbers import percent
from tests.audit.nights import command, of_system
from tests.audit.nights import table as made_table
from tests.scored_outputs import finish


def output(folder: Path, in_german: int) -> Path:
    """300 rows of two systems; so many of the first, of 200 rows, have the note. Every fourth row of the first is an
    omission, of the second none."""
    rows = made_table(
        [*(row for i in range(200) for row in of_system(i % 4 == 0, 1, "de", i)), *of_system(0, 100, "en")]
    )
    notes = pa.array([["unknown_tokens+other_language", "other_language"][i % 2] if i < in_german else None
                      for i in range(300)], pa.string())  # fmt: skip
    return finish(folder, {"part-0.parquet": rows.set_column(rows.schema.get_field_index("note"), "note", notes)})


@pytest.mark.parametrize(
    ("in_german", "share", "severity"), [(150, "75.0%", "warn"), (2, "1.0%", "warn"), (1, "0.50%", "info")]
)
def test_a_finding_has_the_share_of_each_group(tmp_path: Path, in_german: int, share: str, severity: str) -> None:
    document = audit(output(tmp_path / "out", in_german), AuditOptions())
    (finding,) = [finding for finding in document.findings if finding.kind == "language"]
    assert finding.severity == severity
    assert f"{in_german} of 300 texts are probably in a language that the model does not read" in finding.message
    noted = -(-in_german // 4)  # of them not OK
    of_de, of_all = (percent((50 - noted) / (rows - in_german)) for rows in (200, 300))
    assert finding.message.endswith(f"not OK: {of_all} of the other rows, {percent(50 / 300)} of all")
    assert finding.evidence == [f"de: {share} of 200; not OK: {of_de} of the other rows, 25.0% of all"]
    assert document.groups[0].not_ok_by_note["other_language"] == noted
    assert [group.notes.get("other_language", 0) for group in document.groups] == [in_german, in_german, 0]


def test_the_report_shows_it_and_without_the_note_there_is_none(tmp_path: Path) -> None:
    out, report = output(tmp_path / "out", 150), tmp_path / "report.html"
    command("audit", out, "--report", report)
    assert "150 of 300 texts are probably in a language" in report.read_text()
    clean = audit(output(tmp_path / "clean", 0), AuditOptions())
    assert not any(finding.kind == "language" for finding in clean.findings)


def test_a_group_in_another_language_alone_has_no_other_rows(tmp_path: Path) -> None:
    document = audit(output(tmp_path / "out", 200), AuditOptions())
    (finding,) = [finding for finding in document.findings if finding.kind == "language"]
    assert finding.evidence == ["de: 100% of 200; all rows have this note"]
    assert finding.message.endswith("not OK: 0% of the other rows, 16.7% of all")
