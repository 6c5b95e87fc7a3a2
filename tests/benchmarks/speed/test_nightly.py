"""A night of few rows whose model answers at once, through all stages."""

from __future__ import annotations

from pathlib import Path

from benchmarks.speed.host_overhead import run_free
from benchmarks.speed.nightly import audit_night, change, render_report, write_night


def test_every_stage_of_a_night(tmp_path: Path) -> None:
    write_night(tmp_path / "in-0", 40)
    change(tmp_path / "in-0", tmp_path / "in-1", 50)
    first = run_free(tmp_path / "in-0", tmp_path / "out-0")
    second = run_free(tmp_path / "in-1", tmp_path / "out-1", tmp_path / "out-0")
    assert (first["rows"], first["reused"], second["rows"], second["reused"]) == (40, 0, 40, 20)
    assert first["checks"] > 40
    audit_night(tmp_path / "out-1", tmp_path / "out-0", tmp_path / "audit.json")
    render_report(tmp_path / "audit.json", tmp_path / "report.html")
    assert "</html>" in (tmp_path / "report.html").read_text()
