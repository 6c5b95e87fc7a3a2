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
    last = said.rstrip().splitlines()[-1]
    assert last.startswith(f"scorer run {matches} --out scored ")
    options = shlex.split(last)[5:]
    assert options[options.index("--reading") + 1] == "plain" and str(proposed) in options
    scorer("run", matches, "--out", tmp_path / "out", *options)


def test_the_same_as_json(matches: Path, model: str) -> None:
    found = json.loads(scorer("templates", "try", *columns(matches), "--bundle", model, "--json").stdout)
    assert (found["rows"], found["reading"], found["proposed_reading"]) == (6, "verbatim", "plain")
    by_name = {one["predicate"]: one for one in found["predicates"]}
    assert by_name["home"] | {"passed": 0, "failing": []} == {
        "predicate": "home", "facts": 6, "passed": 0, "as_it_is": 1.0, "other_notation": 0.0, "without_template": 1.0,
        "passed_without": None, "failing": [], "other_unit": 0.0, "other_unit_example": None, "absent": None,
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


def test_with_nothing_to_propose_no_file_is_written(tmp_path: Path, model: str) -> None:
    """The facts are the texts, so that every row is OK."""
    data, proposed = tmp_path / "my data.jsonl", tmp_path / "t.json"
    row = {"triples": ["Blue Spice | eatType | pub"], "text": "The eat type of Blue Spice is pub."}
    data.write_text(f"{json.dumps(row)}\n" * 3)
    said = scorer("templates", "try", data, "--bundle", model, "--write", proposed).stdout
    assert "Hints: none" in said and "Proposed templates: none" in said and f"{proposed} is not written" in said
    assert "$proposed" not in said and "{}" not in said and not proposed.exists()
    assert said.splitlines()[-1] == f"scorer run '{data}' --out scored --bundle {model}"
    found = json.loads(scorer("templates", "try", data, "--bundle", model, "--json").stdout)
    assert (found["is_new"], found["proposed"], found["ok_without"]) == (False, {}, None)


def test_a_template_is_compared_with_none(tmp_path: Path, model: str) -> None:
    data, own = tmp_path / "data.jsonl", tmp_path / "own.json"
    rows = [
        {"triples": [f"{name} | eatType | pub"], "text": f"The eat type of {name} is pub."}
        for name in ["Ash", "Bow", "Cob"]
    ]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    own.write_text('{"eatType": "<subject> was closed by the police of Rome."}')
    command = ["templates", "try", data, "--bundle", model, "--templates", own]
    said = scorer(*command).stdout
    assert "pass without templates" in said
    assert "eatType: its facts pass in 0% with the templates, in 100% without: leave its template out" in said
    found = json.loads(scorer(*command, "--json").stdout)
    (predicate,) = found["predicates"]
    assert (predicate["passed"], predicate["passed_without"]) == (0, 1)
    assert (found["ok"], found["ok_without"]) == (0, 1)


def test_texts_in_another_language_are_counted(tmp_path: Path, model: str) -> None:
    data = tmp_path / "data.jsonl"
    texts = ["Ash is a pub.", "Das Restaurant Ash liegt am Fluss und ist sehr familienfreundlich."]
    data.write_text("".join(json.dumps({"triples": ["Ash | eatType | pub"], "text": text}) + "\n" for text in texts))
    said = scorer("templates", "try", data, "--bundle", model).stdout
    assert "1 of 2 texts are probably in a language that the model does not read; leave their rows out" in said
    data.write_text(data.read_text().splitlines()[0] + "\n")
    assert "in a language" not in scorer("templates", "try", data, "--bundle", model).stdout
    assert json.loads(scorer("templates", "try", data, "--bundle", model, "--json").stdout)["other_language"] == 0


def test_a_value_that_texts_give_in_another_unit_is_a_hint(tmp_path: Path, model: str) -> None:
    data = tmp_path / "statues.jsonl"
    rows = [
        {
            "attributes": {"name": f"Statue {name}", "height_cm": height, "code": f"K{height}X"},
            "text": f"Statue {name} is {height / 100:g} metres high.",
        }
        for name, height in (("Ash", 330), ("Bow", 420), ("Cob", 250), ("Dee", 180))
    ]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    said = scorer("templates", "try", data, "--bundle", model).stdout
    hints = {line.partition(":")[0]: line for line in said.splitlines() if line.startswith("- ")}
    assert hints["- height_cm"] == (
        "- height_cm: 100% of the texts give its value in another unit or notation ('330' is '3.3 metres' in its "
        "text): write the column as the texts do"
    )
    assert "say its value as it is, such as 'K330X': leave it out" in hints["- code"]


def test_later_commands_do_not_complain_of_what_it_proposes(matches: Path, tmp_path: Path, model: str) -> None:
    proposed, given = tmp_path / "t.json", columns(matches)
    scorer("templates", "try", *given, "--bundle", model, "--write", proposed)
    complaints: list[str] = []
    templates = Templates.load(proposed, complaints.append)
    assert templates.joint and not complaints
    assert "without a slot" not in scorer("templates", "check", proposed, "--data", *given).stdout


def test_a_template_without_a_subject_is_a_finding_where_rows_have_several_subjects(tmp_path: Path) -> None:
    file, data = tmp_path / "t.json", tmp_path / "data.jsonl"
    file.write_text('{"$proposed": "by hand", "crowd": "A crowd of <object> came.", "score": "<subject> won."}')
    rows = [["A | crowd | 5", "A | score | 2-0"], ["B | crowd | 6"], []]
    for several, lacking in ((False, 1), (True, 2)):
        lines = [{"triples": [*row, "C | score | 1"] if several and row else row, "text": "T."} for row in rows]
        data.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        checked = scorer("templates", "check", file, "--data", data)
        assert f"templates without a slot: {lacking}\n" in checked.stdout
        assert ("crowd lacks <subject>" in checked.stdout) == several and "has no <" not in checked.stderr
