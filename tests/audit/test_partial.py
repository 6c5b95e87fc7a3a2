"""Outputs that do not hold all of their inputs: said first, and not compared with those that do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scorer.audit import AuditOptions, audit
from scorer.errors import UsageError
from tests.audit.nights import command, night, row

LIMITED = "only the first 10 rows were scored (--limit)"


def limited(out: Path) -> Path:
    """A finished output of ten rows whose plan has that limit."""
    night(out, [row(f"t{i}") for i in range(10)])
    edit(out / "_plan.json", limit=10)
    return out


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_missing_shards(tmp_path: Path) -> None:
    """What is left by a run of which two shards of three were scored."""
    whole = night(tmp_path / "whole", [row(f"t{i}") for i in range(9)], shards=3)
    out = night(tmp_path / "lacking", [row(f"t{i}") for i in range(9)], shards=3)
    (out / "_SUCCESS").unlink()
    (out / "_receipts" / "part-1.parquet.json").unlink()
    summary = json.loads((out / "_run.json").read_text())
    edit(out / "_run.json", rows={**summary["rows"], "in": 6})
    for arguments in ((out,), (out, "--baseline", whole), (whole, "--baseline", out)):
        assert "it has no _SUCCESS" in command("audit", *arguments, code=2).stderr
    shown = command("audit", out, "--allow-partial").stdout
    assert shown.startswith("PARTIAL  1 of 3 shards were not scored: part-1.parquet\n")
    assert "rows: 6 in" in shown
    shown = command("audit", whole, "--baseline", out, "--allow-partial").stdout
    assert shown.startswith("NO GATES SET") and "  partial: 1 of 3 shards" in shown


def test_a_limit_is_said_first(tmp_path: Path) -> None:
    out, page, xml = limited(tmp_path / "out"), tmp_path / "report.html", tmp_path / "junit.xml"
    shown = command("audit", out, "--report", page, "--junit", xml).stdout
    assert shown.startswith(f"PARTIAL  {LIMITED}\nNO GATES SET")
    text = page.read_text()
    assert text.index(LIMITED) < text.index("<h1>")
    assert "<title>Partial. " in text
    properties = ElementTree.parse(xml).getroot()[0].find("properties")
    assert properties[0].attrib == {"name": "partial", "value": LIMITED}
    edit(out / "_plan.json", limit=11)  # which cut nothing
    assert audit(out).partial is None


def test_a_partial_output_against_a_complete_one(tmp_path: Path) -> None:
    part, whole = limited(tmp_path / "part"), night(tmp_path / "whole", [row(f"t{i}") for i in range(30)])
    with pytest.raises(UsageError, match=r"the output is partial \(.*, and the baseline is complete.*--allow-partial"):
        audit(part, AuditOptions(baseline=whole))
    with pytest.raises(UsageError, match=r"the output is complete, and the baseline is partial \("):
        audit(whole, AuditOptions(baseline=part))
    shown = command("audit", part, "--baseline", whole, "--allow-partial").stdout
    assert shown.startswith("PARTIAL  ")
    assert "20 removed" in shown
    document = audit(whole, AuditOptions(baseline=part, allow_partial=True))
    assert (document.partial, document.baseline.partial) == (None, LIMITED)
