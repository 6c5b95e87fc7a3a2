"""Outputs that do not hold all of their inputs: said first, and not compared with those that do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from scorer.audit import AuditOptions, audit
from tests.audit.nights import command, night, row

LIMITED = "only the first 10 rows were scored (--limit)"


def limited(out: Path, limit: int | None, rows: int = 10) -> Path:
    """A finished output whose plan has a limit."""
    made = night(out, [row(f"t{i}") for i in range(rows)])
    edit(made / "_plan.json", limit=limit)
    return made


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.fixture
def lacking(tmp_path: Path) -> Path:
    """What is left by a run of which two shards of three were scored."""
    out = night(tmp_path / "lacking", [row(f"t{i}") for i in range(9)], shards=3)
    (out / "_SUCCESS").unlink()
    (out / "_receipts" / "part-1.parquet.json").unlink()
    summary = json.loads((out / "_run.json").read_text())
    edit(out / "_run.json", rows={**summary["rows"], "in": 6})
    return out


def test_a_limit_is_said_first(tmp_path: Path) -> None:
    out, page, xml = limited(tmp_path / "out", 10), tmp_path / "report.html", tmp_path / "junit.xml"
    shown = command("audit", out, "--report", page, "--junit", xml).stdout
    assert shown.startswith(f"PARTIAL  {LIMITED}\nNOTHING CHECKED")
    text = page.read_text()
    assert text.index(LIMITED) < text.index("<h1>")
    assert "<title>Partial. " in text
    properties = ElementTree.parse(xml).getroot()[0].find("properties")
    assert properties is not None
    assert properties[0].attrib == {"name": "partial", "value": LIMITED}
    assert json.loads(command("audit", out, "--json").stdout)["partial"] == LIMITED


@pytest.mark.parametrize("limit", [None, 11])
def test_a_limit_that_cut_nothing_is_none(tmp_path: Path, limit: Any) -> None:
    assert audit(limited(tmp_path / "out", limit)).partial is None


def test_a_partial_output_against_a_complete_one(tmp_path: Path) -> None:
    part, whole = limited(tmp_path / "part", 10), night(tmp_path / "whole", [row(f"t{i}") for i in range(30)])
    refused = command("audit", part, "--baseline", whole, code=2).stderr
    assert f"the output is partial ({LIMITED}), and the baseline is complete" in refused
    assert "--allow-partial" in refused
    refused = command("audit", whole, "--baseline", part, code=2).stderr
    assert f"the baseline is partial ({LIMITED}), and the output is complete" in refused
    shown = command("audit", part, "--baseline", whole, "--allow-partial").stdout
    assert shown.startswith("PARTIAL  ")
    assert "20 removed" in shown
    shown = command("audit", whole, "--baseline", part, "--allow-partial").stdout
    assert f"  partial: {LIMITED}" in shown
    document = audit(whole, AuditOptions(baseline=part, allow_partial=True))
    assert document.baseline is not None
    assert (document.partial, document.baseline.partial) == (None, LIMITED)


def test_missing_shards(lacking: Path, tmp_path: Path) -> None:
    refused = command("audit", lacking, code=2).stderr
    assert (
        "it has no _SUCCESS; the same `scorer run` resumes it, or pass --allow-partial to audit what there is"
        in refused
    )
    shown = command("audit", lacking, "--allow-partial").stdout
    assert shown.startswith("PARTIAL  1 of 3 shards were not scored: part-1.parquet\n")
    assert "rows: 6 in" in shown
    whole = night(tmp_path / "whole", [row(f"t{i}") for i in range(9)], shards=3)
    assert "has no _SUCCESS" in command("audit", lacking, "--baseline", whole, code=2).stderr
    assert "has no _SUCCESS" in command("audit", whole, "--baseline", lacking, code=2).stderr
    assert command("audit", whole, "--baseline", lacking, "--allow-partial").stdout.startswith("NOTHING CHECKED")
