"""``scorer templates try``: what it says of a sample, and the file that it proposes."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from scorer.metric.fact_templates import Templates
from tests.run.calls import scorer

FACTS = "home,away,home_goals,away_goals,attendance"
ROWS = [
    ("Ash", "Bow", 2, 0, 5947, "Ash beat Bow 2-0. A crowd of 5,947 watched the game."),
    ("Cob", "Dee", 0, 3, 12301, "Dee beat hosts Cob 3-0. A crowd of 12,301 watched the game."),
    ("Elm", "Fen", 1, 1, 881, "Elm and Fen drew 1-1. A crowd of 881 watched the game."),
] * 2


@pytest.fixture
def model() -> str:
    """The model of tests is too small for these texts."""
    return "embedded"


@pytest.fixture
def matches(tmp_path: Path) -> Path:
    path = tmp_path / "matches.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow([*FACTS.split(","), "match", "output"])
        writer.writerows([*row[:5], f"match {n}", row[5]] for n, row in enumerate(ROWS))
    return path


def columns(matches: Path) -> list[Any]:
    return [matches, "--text-column", "output", "--attributes-column", FACTS, "--subject-column", "match"]


@pytest.mark.slow
def test_what_it_says_of_a_sample(matches: Path, tmp_path: Path, model: str) -> None:
    proposed = tmp_path / "t.json"
    said = scorer("templates", "try", *columns(matches), "--bundle", model, "--rows", "3", "--write", proposed).stdout
    assert said.startswith("3 rows, ")
    attendance = re.search(r"^attendance +3 +\S+ %? *(\S+ ?%?) +(\S+ ?%?) +(\S+ ?%?)$", said, re.MULTILINE)
    assert attendance is not None, said
    assert "texts write values in another notation than the table (attendance in 67%): use --reading plain" in said
    assert "home_goals, away_goals" in said and "stand together" in said
    content = json.loads(proposed.read_text())
    assert "scorer templates try" in content.pop("$proposed")
    assert Templates.from_dict(content).sha256 == Templates.load(proposed).sha256
    assert said.rstrip().splitlines()[-1].startswith("scorer run IN --out OUT ")
    options = shlex.split(said.rstrip().splitlines()[-1])[5:]
    assert options[options.index("--reading") + 1] == "plain" and str(proposed) in options
    scorer("run", matches, "--out", tmp_path / "out", *options)


def test_the_same_as_json(matches: Path, model: str) -> None:
    found = json.loads(scorer("templates", "try", *columns(matches), "--bundle", model, "--json").stdout)
    assert (found["rows"], found["reading"], found["proposed_reading"]) == (6, "verbatim", "plain")
    by_name = {one["predicate"]: one for one in found["predicates"]}
    assert by_name["home"] | {"passed": 0, "failing": []} == {
        "predicate": "home", "facts": 6, "passed": 0, "as_it_is": 1.0, "other_notation": 0.0, "without_template": 1.0,
        "failing": [],
    }  # fmt: skip
    assert by_name["attendance"]["as_it_is"] == pytest.approx(1 / 3)
    assert by_name["attendance"]["other_notation"] == pytest.approx(2 / 3)
    assert all(len(one["failing"]) <= 3 for one in found["predicates"])


def test_a_file_is_replaced_only_with_force(matches: Path, tmp_path: Path, model: str) -> None:
    proposed = tmp_path / "t.json"
    proposed.write_text("{}")
    command = ["templates", "try", *columns(matches), "--bundle", model, "--rows", "3", "--write", proposed]
    assert "--force" in scorer(*command, code=2).stderr
    assert proposed.read_text() == "{}"
    scorer(*command, "--force")
    assert "$proposed" in proposed.read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--checks", "hallucination"], "leave out --checks"), (["--document-column", "match"], "--document-column")],
)
def test_settings_under_which_templates_decide_nothing_are_refused(
    matches: Path, model: str, options: list[str], message: str
) -> None:
    given = [matches, "--text-column", "output", "--bundle", model, *options]
    given += [] if "--document-column" in options else columns(matches)[3:]
    assert message in scorer("templates", "try", *given, code=2).stderr


def test_facts_that_are_sentences_need_no_templates(tmp_path: Path, model: str) -> None:
    data = tmp_path / "facts.jsonl"
    data.write_text('{"facts": ["A is b."], "text": "A is b."}\n')
    assert "need no templates" in scorer("templates", "try", data, "--bundle", model, code=2).stderr


def test_check_takes_the_columns_of_raw_data(matches: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    file.write_text('{"$sentences": ["<home> <home_goals>-<away_goals> <away>."]}')
    given = ["--data", *columns(matches)]
    assert "30 facts in 6 rows; 6 by backoff" in scorer("templates", "check", file, *given, "--delimiter", ";").stdout
