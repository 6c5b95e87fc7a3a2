from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.run.calls import scorer

PLACES = ("Riverside", "Centre", "Harbour", "Market")
NAMES = ("The Mill", "Blue Spice", "Aromi", "Loch Fyne", "The Vaults", "Cotto")


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> str:
    """24 references: 12 the one way, 8 the other, 4 that do not name the object."""
    pairs = [(name, place) for name in NAMES for place in PLACES]
    ways = ["{} lies in {}."] * 12 + ["In {1} there is {0}."] * 8 + ["{} is somewhere."] * 4
    triples = [[f"{name} | area | {place}"] for name, place in pairs]
    texts = [way.format(*pair) for way, pair in zip(ways, pairs, strict=True)]
    path = tmp_path_factory.mktemp("references") / "refs.parquet"
    pq.write_table(pa.table({"triples": triples, "text": texts}), path)
    return str(path)


def test_extract_by_model_then_run_then_check(references: str, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    result = scorer("templates", "extract", references, "--out", out, "--choose", "nli", "--bundle", tiny, "--json")
    assert json.loads(result.stdout)["choose"] == "nli"
    # Each candidate is compared with all references that did not give it, both ways.
    assert json.loads(result.stdout)["pairs"] == 2 * (8 + 12)
    candidates = json.loads((tmp_path / "t.candidates.json").read_text())["area"]
    best = max(line["score"] for line in candidates)
    assert [line["score"] for line in candidates if line.get("chosen")] == [best]

    scored = tmp_path / "scored"
    scorer("run", references, "--out", scored, "--bundle", tiny, "--templates", out, "--prefix", "m_")
    found = json.loads(scorer("templates", "check", out, "--data", scored, "--json").stdout)
    assert (found["facts"], found["backoff"]) == (24, 0)


def test_the_reports_for_people(references: str, tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    result = scorer("templates", "extract", references, "--out", out)
    assert "no_object: 4" in result.stdout
    out.write_text('{"area": "[bold]Nowhere[/bold]", "food": "<subject> serves <object>."}')
    rows = {"triples": [["A | area | B", "A | near | C"]] * 30, "text": ["A."] * 30}
    pq.write_table(pa.table(rows), tmp_path / "in.parquet")
    checked = scorer("templates", "check", out, "--data", tmp_path / "in.parquet").stdout
    assert "60 facts in 30 rows; 30 by backoff (50.0%)" in checked
    assert "area lacks <subject> and <object>: [bold]Nowhere[/bold]" in checked
