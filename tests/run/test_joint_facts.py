"""Sentences over several facts, through every command that shows facts."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer import Scorer
from scorer.metric.columns import OUTPUT
from scorer.metric.fact_templates import Templates
from tests.run.calls import run, scorer
from tests.scored_outputs import SIGNATURE, finish

pytestmark = pytest.mark.usefixtures("inline_runs")

TEMPLATES = {
    "referee": "<object> was the referee of <subject>.",
    "$sentences": [
        [
            {"when": "<goals> > <against>", "say": "<home> beat <away> <goals>-<against>."},
            {"when": "<goals> < <against>", "say": "<away> beat <home> <against>-<goals>."},
        ],
        "<away> had <gaols>.",
    ],
}
WON, LOST, DREW = ("2", "0"), ("0", "10"), ("1", "1")
UNUSED = "no fact has the predicate 'gaols'; did you mean 'goals'?"


def triples(goals: str, against: str) -> list[str]:
    return [
        f"m | {p} | {o}"
        for p, o in {"home": "A", "referee": "R", "away": "B", "goals": goals, "against": against}.items()
    ]


ROWS = pa.table(
    {
        "triples": [triples(*WON), triples(*LOST), triples(*DREW), triples(*WON)],
        "text": ["A won 2-0.", "B won.", "1-1", ""],
    }
)
BEAT, SINGLE = "A beat B 2-0.", ["The home of m is A.", "R was the referee of m.", "The away of m is B."]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joint")
    pq.write_table(ROWS, folder / "in.parquet")
    (folder / "t.json").write_text(json.dumps(TEMPLATES))
    return folder


@pytest.fixture(scope="module")
def out(data: Path, tiny: Path) -> Path:
    run(data / "in.parquet", data / "out", tiny, "--templates", data / "t.json", "--details")
    return data / "out"


def test_a_run_gives_the_same_as_the_rows_alone_and_counts_by_predicate(data: Path, out: Path, tiny: Path) -> None:
    scored = pq.read_table(out / "in.parquet")
    with Scorer(tiny, templates=data / "t.json") as model:
        table = model.score_table(ROWS)
        verdicts = [model.score(facts, text) for facts, text in zip(*ROWS.to_pydict().values(), strict=True)]
    names = [name for name in OUTPUT.names if name in scored.schema.names]
    assert scored.select(names).equals(table.select(names))
    lost = verdicts[1]
    assert lost.said_together == [[0, 2, 3, 4]] and lost.facts[0] == lost.facts[4] == "B beat A 10-0."
    assert [check.fact for check in lost.checks] == [0, 1, None]
    assert verdicts[2].said_together == [] and verdicts[2].facts[:3] == SINGLE
    worded, details = (scored[name].to_pylist() for name in ("worded_facts", "details"))
    assert worded[0] == [BEAT, "R was the referee of m.", BEAT, BEAT, BEAT]
    assert [one["fact"] for one in details[0]] == [0, 1, None] and [one["fact"] for one in details[2]] == [
        0,
        1,
        2,
        3,
        4,
        None,
    ]
    facts = json.loads((out / "_run.json").read_text())["facts"]
    assert (facts["template"], facts["backoff"], facts["by_predicate"]["home"]) == (
        16,
        4,
        {"template": 3, "backoff": 1},
    )


def test_counts_are_the_same_with_rows_that_are_reused(data: Path, out: Path, tiny: Path) -> None:
    pq.write_table(pa.concat_tables([ROWS.slice(0, 2), ROWS]), data / "more.parquet")
    more = ["--templates", data / "t.json", "--details"]
    first = run(data / "more.parquet", data / "first", tiny, *more)
    again = run(data / "more.parquet", data / "again", tiny, "--reuse", out, *more)
    assert again["rows"]["reused"] > 0 and again["facts"] == first["facts"]
    one, other = (pq.read_table(data / name / "more.parquet").drop_columns("reused") for name in ("first", "again"))
    assert one.equals(other)


def test_a_sentence_that_is_never_used_is_a_warning_of_a_run(data: Path, tiny: Path) -> None:
    given = ["--out", data / "warned", "--bundle", tiny, "--templates", data / "t.json"]
    warned = scorer("run", data / "in.parquet", *given).stderr
    assert f"warning: in the first window, the sentence '<away> had <gaols>.' is never used: {UNUSED}" in warned
    assert "beat" not in warned


def test_plan_and_templates_check_say_how_many_facts_sentences_say(data: Path, out: Path, tiny: Path) -> None:
    given = [data / "in.parquet", "--bundle", tiny, "--templates", data / "t.json"]
    plan = scorer("plan", *given).stdout
    assert f"facts of the first row:\n  {BEAT}\n  {SINGLE[1]}\nsample" in plan
    assert "  facts that sentences say: 12\n" in plan and f"  never used: <away> had <gaols>.: {UNUSED}" in plan
    sentences = [
        {"sentence": "<home> beat <away> <goals>-<against>. (and 1 more by conditions)", "subjects": 3, "facts": 12,
         "unused": None},
        {"sentence": "<away> had <gaols>.", "subjects": 0, "facts": 0, "unused": UNUSED},
    ]  # fmt: skip
    assert json.loads(scorer("plan", *given, "--json").stdout)["sentences"] == sentences
    checked = scorer("templates", "check", data / "t.json", "--data", data / "in.parquet").stdout
    assert "20 facts in 4 rows; 4 by backoff (20.0%)" in checked and "said by sentences: 12 facts (60.0%)" in checked
    assert f"sentences that are never used: 1\n  <away> had <gaols>.: {UNUSED}" in checked
    found = json.loads(scorer("templates", "check", data / "t.json", "--data", out, "--json").stdout)
    assert (found["sentences"], found["in_sentences"], found["facts"], found["unused"]) == (sentences, 12, 20, [])


def test_check_and_explain_show_a_sentence_once_with_its_facts(data: Path, out: Path, tiny: Path) -> None:
    explained = scorer("explain", out, "--row", "in.parquet:0").stdout
    omitted = pq.read_table(out / "in.parquet")["omitted"][0].as_py()
    assert f"facts 0, 2–4{' (omitted)' if 0 in omitted else ''}: {BEAT}\n" in explained and explained.count(BEAT) == 1
    assert "text → facts 0, 2–4 " in explained and "text → fact 1 " in explained
    row = [
        "--triples",
        " ++ ".join(triples(*LOST)),
        "--text",
        "B won.",
        "--bundle",
        tiny,
        "--templates",
        data / "t.json",
    ]
    checked = scorer("check", *row).stdout
    assert "B beat A 10-0.\n" in checked and checked.count("B beat") == 1 and "asked" not in checked
    assert json.loads(scorer("check", *row, "--json").stdout)["said_together"] == [[0, 2, 3, 4]]


def test_people_are_shown_a_sentence_once(data: Path, out: Path) -> None:
    scorer("sample", out, "--file", data / "items.csv", "--rows", 10)
    facts = {
        row["text"]: row["facts"] for row in csv.DictReader(io.StringIO((data / "items.csv").read_text("utf-8-sig")))
    }
    assert facts["A won 2-0."] == f"{BEAT}\n{SINGLE[1]}" and facts["1-1"].startswith("\n".join(SINGLE))


def test_show_words_omitted_facts_once_and_says_which_are_contradicted(data: Path, out: Path, tmp_path: Path) -> None:
    rows = pq.read_table(out / "in.parquet")
    for name, lists in (("omitted", [[0, 1, 2, 3, 4], [1], None, []]), ("contradicted", [[0, 2, 3, 4], [], None, []])):
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(lists, pa.list_(pa.int32())))
    sha = Templates.load(data / "t.json").sha256
    signature = SIGNATURE.replace("templates:none", f"templates:{sha[:12]}")
    finish(tmp_path / "out", {"in.parquet": rows}, signature=signature, settings={"templates": str(data / "t.json")})
    query = ["--columns", "row,omitted_facts", "--jsonl"]
    shown = [json.loads(line) for line in scorer("show", tmp_path / "out", *query).stdout.splitlines()]
    assert [one["omitted_facts"] for one in shown] == [f"{BEAT} (contradicted); {SINGLE[1]}", SINGLE[1], None, None]
    assert "(contradicted)" in scorer("show", tmp_path / "out").stdout
    assert "omitted_facts" not in json.loads(scorer("show", tmp_path / "out", "--jsonl").stdout.splitlines()[0])
