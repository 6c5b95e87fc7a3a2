from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from tests.bundles import make_bundle

PLACES = ("Riverside", "Centre", "Harbour", "Market")
WAYS = ("<subject> lies in <object>.", "In <object> there is <subject>.")
NAMES = ("The Mill", "Blue Spice", "Aromi", "Loch Fyne", "The Vaults", "Cotto")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_bundle(tmp_path_factory.mktemp("templates") / "tiny"))


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> str:
    """24 references: 12 the one way, 8 the other, 4 that do not name the object."""
    triples, texts = [], []
    for i, (name, place) in enumerate((name, place) for name in NAMES for place in PLACES):
        triples.append([f"{name} | area | {place}"])
        way = WAYS[0] if i < 12 else WAYS[1] if i < 20 else "<subject> is somewhere."
        texts.append(way.replace("<subject>", name).replace("<object>", place))
    path = tmp_path_factory.mktemp("references") / "refs.parquet"
    pq.write_table(pa.table({"triples": triples, "text": texts}), path)
    return str(path)


def test_without_a_bundle_templates_are_drawn_at_random(references: str, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    result = CliRunner().invoke(app, ["templates", "extract", references, "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    assert "note: without --bundle" in result.stderr
    report = json.loads(result.stdout)
    assert report["references"] == {"all": 24, "used": 20, "share": round(20 / 24, 4), "rejected": {"no_object": 4}}
    assert (report["choose"], report["pairs"]) == ("random", 0)
    chosen = json.loads(out.read_text())["area"]
    assert chosen in WAYS
    candidates = json.loads((tmp_path / "t.candidates.json").read_text())["area"]
    assert [(line["template"], line["count"]) for line in candidates] == [(WAYS[0], 12), (WAYS[1], 8)]
    assert [line["template"] for line in candidates if line.get("chosen")] == [chosen]


def test_extract_by_model_then_run_then_check(references: str, bundle: str, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    call = ["templates", "extract", references, "--out", str(out), "--bundle", bundle, "--json"]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["choose"] == "nli" and "note" not in result.stderr
    # Each candidate is compared with all references that did not give it, both ways.
    assert json.loads(result.stdout)["pairs"] == 2 * (8 + 12)
    candidates = json.loads((tmp_path / "t.candidates.json").read_text())["area"]
    best = max(line["score"] for line in candidates)
    assert [line["score"] for line in candidates if line.get("chosen")] == [best]

    scored = tmp_path / "scored"
    run = ["run", references, "--out", str(scored), "--bundle", bundle, "--templates", str(out), "--prefix", "m_"]
    assert CliRunner().invoke(app, run).exit_code == 0
    checked = CliRunner().invoke(app, ["templates", "check", str(out), "--data", str(scored), "--json"])
    assert checked.exit_code == 0, checked.output
    found = json.loads(checked.stdout)
    assert found["facts"] == {"all": 24, "template": 24, "backoff": 0, "share": 0.0}


def test_the_reports_for_people(references: str, bundle: str, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    result = CliRunner().invoke(app, ["templates", "extract", references, "--out", str(out)])
    assert result.exit_code == 0
    assert "1 templates of 1 predicates" in result.stdout
    assert "no_object: 4" in result.stdout
    out.write_text('{"area": "[bold]Nowhere[/bold]", "food": "<subject> serves <object>."}')
    rows = {"triples": [["A | area | B", "A | near | C"]] * 30, "text": ["A."] * 30}
    pq.write_table(pa.table(rows), tmp_path / "in.parquet")
    checked = CliRunner().invoke(app, ["templates", "check", str(out), "--data", str(tmp_path / "in.parquet")])
    assert checked.exit_code == 0
    assert "60 facts in 30 rows; 30 by backoff (50.0%)" in checked.stdout
    assert "near: 30 facts (50.0%)" in checked.stdout
    assert "area lacks <subject> and <object>: [bold]Nowhere[/bold]" in checked.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["extract", "REFS", "--out", "OUT", "--text-column", "reference"], "reference"),
        (["check", "BROKEN", "--data", "REFS"], "'area'"),
        (["check", "GOOD", "--data", "REFS", "--triples-column", "facts"], "facts"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: list[str], message: str, references: str, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"area": 3}')
    (tmp_path / "good.json").write_text('{"area": "<subject> lies in <object>."}')
    places = {
        "REFS": references,
        "OUT": str(tmp_path / "t.json"),
        "BROKEN": str(tmp_path / "broken.json"),
        "GOOD": str(tmp_path / "good.json"),
    }
    result = CliRunner().invoke(app, ["templates", *(places.get(argument, argument) for argument in arguments)])
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert len([line for line in result.stderr.splitlines() if line.startswith("scorer: ")]) == 1
    assert not (tmp_path / "t.json").exists()
