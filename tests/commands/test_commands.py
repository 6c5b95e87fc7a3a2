"""The commands that have no file of their own here: check, doctor, challenge, evaluate, templates, show, plan, run."""

from __future__ import annotations

import csv
import io
import json
import socket
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.commands import app
from scorer.commands.ending import Command
from scorer.commands.run import RunCommand
from scorer.evaluation.challenge_set import Answers, measure, read_challenge
from scorer.inference.bundle import Bundle
from scorer.inference.rates import MeasuredRate, best_rate, keep_rate
from scorer.run import planned_sample
from tests.audit.nights import night, row
from tests.bundles import make_bundle
from tests.commands.conftest import CommandLine
from tests.evaluation.scored import save, scored
from tests.faults import harness
from tests.run.calls import run, scorer

pytestmark = pytest.mark.usefixtures("inline_runs")


def test_one_row_is_explained_check_by_check(tiny: Path) -> None:
    row = ["--triples", "The Mill | eatType | pub ++ The Mill | area | riverside", "--text", "The Mill is a pub."]
    assert "text → fact 1" in scorer("check", *row, "--bundle", tiny).stdout
    as_json = json.loads(scorer("check", *row, "--bundle", tiny, "--json").stdout)
    assert len(as_json["checks"]) == 3
    assert as_json["signature"].startswith("model:tiny@")
    assert "note: empty_text" in scorer("check", *row[:2], "--text", "", "--bundle", tiny).stdout


def test_one_row_of_attributes(tiny: Path) -> None:
    given = ["--text", "The Mill is a pub.", "--bundle", tiny]
    attributes = {"name": "The Mill", "eatType": "pub", "stars": 5.0, "area": None}
    shown = scorer("check", "--attributes", json.dumps(attributes), *given).stdout
    assert "fact 0" in shown and "The eat Type of The Mill is pub." in shown and "The stars of The Mill is 5." in shown
    assert "fact 2" not in shown
    digits = '{"name": "The Mill", "share": 0.10000000000000000001}'  # all of them, as a table has them
    assert "share of The Mill is 0.10000000000000000001." in scorer("check", "--attributes", digits, *given).stdout
    twice = scorer("check", "--attributes", '{"name": "A", "b": 1, "b": 2}', *given, code=2).stderr
    assert "the key 'b' occurs twice" in twice
    assert "error: no_subject" in scorer("check", "--attributes", '{"eatType": "pub"}', *given).stdout
    for wrong in ("eatType=pub", '["pub"]', "[" * 100_000):
        said = scorer("check", "--attributes", wrong, *given, code=2).stderr
        assert "--attributes is not a JSON object" in said and '{"name": "Blue Spice", "eatType": "pub"}' in said
    both = scorer("check", "--attributes", "{}", "--fact", "A.", *given, code=2).stderr
    assert "--fact and --attributes cannot be combined" in both
    assert "--attributes" in scorer("check", "--text", "A.", "--bundle", tiny, code=2).stderr


def test_the_console_shows_an_example_and_survives_nonsense(tiny: Path) -> None:
    typed = 'help\nnonsense\n\n[["The Mill", "eatType", "pub"]]\n\nThe Mill is a pub.\nquit\nA | b | c\nA b c.\n'
    result = CliRunner().invoke(app, ["check", "--bundle", str(tiny)], input=typed)
    assert result.exit_code == 0
    assert result.stdout.count("facts → text") == 2
    assert "triple 0 has one part and not three: 'nonsense'" in result.stderr
    assert "text> takes the text to check" in result.stderr


def test_doctor_reports_providers_and_the_bundle(tiny: Path) -> None:
    assert "CPUExecutionProvider" in scorer("-V").stdout
    found = json.loads(scorer("doctor", "--bundle", tiny, "--json").stdout)
    assert found["providers"]["CPUExecutionProvider"] == "starts"
    assert found["bundle"]["report"]["agreement"] == 1.0
    assert "no bundle at" in scorer("doctor", "--bundle", tiny / "nowhere", code=2).stderr


def test_a_low_accuracy_is_exit_1_and_the_tables_are_printed(
    command_line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = read_challenge()
    passes = Answers(np.zeros(len(table), np.int8), np.full(len(table), 0.9), np.full(len(table), 0.9))
    result = measure(table, passes, metric="all OK", signature="none", rows=len(table))
    monkeypatch.setattr("scorer.commands.challenge._judge", lambda *arguments: result)
    code, shown, errors = command_line("challenge", "embedded", "--fail-under", "0.7")
    assert code == 1 and "the balanced accuracy 0.635 is below 0.7 (--fail-under)" in errors
    for expected in ("5,200 pairs, revision 3", "number by one", "date format", "irrelevant facts do not matter"):
        assert expected in shown
    assert command_line("challenge", "embedded", "--fail-under", "0.6", "--json")[0] == 0


@pytest.mark.slow
def test_the_figures_of_the_embedded_model() -> None:
    """As its card and docs/figures.md have them."""
    found = json.loads(scorer("challenge", "embedded", "--json").stdout)
    assert (found["pairs"], found["rows"], found["errors"], len(found["checks"])) == (5200, 11391, 0, 4)
    assert found["signature"].startswith("model:embedded")
    assert found["score"] == pytest.approx(0.928, abs=0.0006)
    assert found["sensitivity"]["value"] == pytest.approx(0.943, abs=0.0006)
    assert found["specificity"]["value"] == pytest.approx(0.920, abs=0.0006)


def test_json_counts_errors_as_not_ok_and_the_full_form_prints_every_table(tmp_path: Path) -> None:
    columns = {
        "gold_fine": ["OK", "OK", "OK", "hallucination"],
        "gold_suspect": [True, False, False, False],
        "human_semantics": [3.0, 1.0, 2.0, 3.0],
        "meteor": [0.1, 0.2, 0.3, 0.4],
    }
    out = save(
        scored(["OK", "omission", None, "OK"], **columns, system=list("abab")), tmp_path / "out" / "x.parquet"
    ).parent
    result = scorer("evaluate", out, "--json")
    report = json.loads(result.stdout)
    assert (report["rows"], report["rough"]["accuracy"]) == (4, 0.25)
    assert "1 of 4 rows have errors; they count as not_OK" in result.stderr
    options = ("--full", "--metric", "all", "--calibration", "--disagreements", tmp_path / "wrong.parquet")
    shown = scorer("evaluate", out, *options).stdout
    for expected in (
        "hallucination recall", "trivial: always OK", "without suspect gold", "By system", "95% interval", "ROC AUC",
        "Correlations with human ratings", "Spearman of all metrics", "expected calibration error",
    ):  # fmt: skip
        assert expected in shown
    (line,) = (one.split() for one in shown.splitlines() if one.startswith("human_semantics  meteor"))
    assert line[2:4] == ["yes", "+0.105"], "it sees references"
    assert pq.read_table(tmp_path / "wrong.parquet").num_rows == 3


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


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine rows in two shards: every third is an omission, the last one an error."""
    facts = [[("food", 0.1 + i / 100 if i % 3 == 0 else 0.9)] for i in range(9)]
    rows = [row(f"text, {i}", facts[i], system="ab"[i % 2], id=f"r{i}", price=str(i)) for i in range(9)]
    rows[8]["error"] = "too_long:omission"
    return night(tmp_path_factory.mktemp("show") / "out", rows, shards=2)


def lines(*arguments: object) -> list[dict[str, object]]:
    return [json.loads(line) for line in scorer("show", *arguments, "--jsonl").stdout.splitlines()]


def test_rows_are_filtered_sorted_and_named(out: Path) -> None:
    assert len(lines(out)) == 9
    found = lines(out, "--not-ok")
    places = ("part-0.parquet:0", "part-0.parquet:3", "part-1.parquet:1", "part-1.parquet:3")
    assert tuple(one["row"] for one in found) == places
    assert [one["id"] for one in lines(out, "--label", "omission", "--sort", "-confidence")] == ["r6", "r3", "r0"]
    assert [one["id"] for one in lines(out, "--where", "system = 'b' AND confidence < 0.5")] == ["r3"]
    assert lines(out, "--columns", "id,fine", "--limit", "1") == [{"id": "r0", "fine": "omission"}]
    assert len(str(found[0]["row_key"])) == 32


def test_the_table_and_csv(out: Path) -> None:
    shown = scorer("show", out, "--not-ok", "--sort", "confidence").stdout.splitlines()
    assert shown[0].split() == ["row", "id", "system", "fine", "confidence", "error", "note", "omitted_facts", "text"]
    assert shown[1].startswith("part-0.parquet:0") and len(shown) == 5
    rows = list(csv.reader(io.StringIO(scorer("show", out, "--csv", "--columns", "row,text,omitted").stdout)))
    assert rows[:2] == [["row", "text", "omitted"], ["part-0.parquet:0", "text, 0", "[0]"]] and len(rows) == 10
    assert "no row" in scorer("show", out, "--where", "false").stderr
    assert scorer("show", out / "part-1.parquet", "--limit", "1").stdout.splitlines()[1].startswith("part-1.parquet:0")


def test_columns_are_named_as_the_run_or_as_usual(tmp_path: Path, bundle: Path) -> None:
    rows = [{"output": f"The Mill is pub {i}.", "place": "Riverside", "kind": "pub", "name": "M"} for i in range(2)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    names = ("--text-column", "output", "--attributes-column", "kind,place", "--prefix", "p_")
    run(tmp_path / "in.jsonl", tmp_path / "out", bundle, *names)
    shown = [lines(tmp_path / "out", "--columns", columns) for columns in ("text,fine,attributes", "output,p_fine")]
    assert [list(row) for row in (shown[0][0], shown[1][0])] == [
        ["output", "p_fine", "kind", "place"],
        ["output", "p_fine"],
    ]
    assert shown[0][1]["output"] == "The Mill is pub 1."
    by_text = lines(tmp_path / "out", "--sort", "-text", "--columns", "text")
    assert [row["output"][-2] for row in by_text] == ["1", "0"]
    assert "no column 'mr'" in scorer("show", tmp_path / "out", "--columns", "mr", code=2).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--where", "x y"], "Parser Error"),
        (["--where", "(SELECT count(*) FROM read_csv('/etc/passwd')) > 0"], "file system operations are disabled"),
        (["--where", "1 = 1) UNION (SELECT 1"], "Parser Error"),
        (["--where", "price > 3"], "write CAST(column AS DOUBLE)"),
        (["--label", "wrong"], "'wrong' is not one of OK, omission"),
        (["--columns", "nothing"], "no column 'nothing'; the columns are row, "),
        (["--sort", "nothing"], "no column 'nothing'"),
        (["--csv", "--jsonl"], "use one of them"),
    ],
)
def test_what_is_refused(out: Path, options: list[str], message: str) -> None:
    assert message in scorer("show", out, *options, code=2).stderr


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bundle(tmp_path_factory.mktemp("plan") / "tiny", templates={"eatType": "<subject> is a <object>."})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(3):
        texts = ["The Mill is a pub.", "", None, "pub " * 300, f"N{i} serves food."]
        mrs = ["name[The Mill], eatType[pub], area[riverside]"] * 5
        pq.write_table(pa.table({"text": texts * 20, "mr": mrs * 20}), folder / f"{i}.parquet")
    return folder


def plan(*arguments: Any) -> dict[str, Any]:
    return json.loads(scorer("plan", *arguments, "--json").stdout)


def test_a_plan_says_what_the_run_then_does(data: Path, tmp_path: Path, bundle: Path) -> None:
    out = tmp_path / "out"
    planned = plan(data, "--bundle", bundle, "--out", out)
    assert not out.exists()
    done = run(data, out, bundle)
    assert planned["signature"] == done["signature"]
    assert (planned["shards"], planned["rows"], planned["rows_to_score"], planned["done"]) == (3, 300, 300, 0)
    assert planned["sampled_rows"] == 300 and planned["first_facts"] == [
        "The Mill is a pub.",
        "The area of The Mill is riverside.",
    ]
    assert planned["errors"] == {"null_text": 60}
    assert (planned["facts"], planned["checks"]) == (done["facts"], done["checks"]["all"])
    assert planned["pairs_per_s"] > 0 and planned["seconds"] > 0 and planned["refused"] is None
    again = plan(data, "--bundle", bundle, "--out", out)
    assert (again["done"], again["rows_to_score"], again["seconds"]) == (3, 0, None)
    said = scorer("plan", data, "--bundle", bundle, "--out", out, "--checks", "hallucination").stdout
    assert "done: 0 shards; 300 rows to score" in said and "refused: " in said and "--rescore" in said


def test_the_time_on_a_faster_device_is_known_where_it_was_measured(
    data: Path, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = plan(data, "--bundle", bundle)
    assert (first["best_device"], first["best_seconds"]) == (None, None), "it was measured nowhere else"
    digest = Bundle.load(bundle).sha256
    here = best_rate(digest)
    assert here is not None and (here.device, here.precision) == (first["device"], "fp32")
    keep_rate(digest, MeasuredRate(device="cuda H200", precision="fp16", tokens_per_s=1e12))
    keep_rate(digest, MeasuredRate(device="cpu slow", precision="fp32", tokens_per_s=1e-9))
    again = plan(data, "--bundle", bundle)
    assert again["best_device"] == "cuda H200" and 0 <= again["best_seconds"] < again["seconds"]
    said = scorer("plan", data, "--bundle", bundle).stdout
    assert "time: about " in said and "\n  about 0 seconds on cuda H200, where this bundle was measured\n" in said


def test_facts_are_those_of_a_sample(data: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned_sample, "SAMPLE_ROWS", 20)
    said = scorer("plan", data, "--bundle", bundle).stdout
    assert "rows: 300" in said and "sample of 60 rows: " in said
    assert "  null_text: 12 rows" in said and "time: about " in said


def test_unusable_files_are_named_and_alone_end_it_as_a_run_does(data: Path, tmp_path: Path, bundle: Path) -> None:
    broken = data / "x.parquet"
    broken.write_bytes(b"nothing")
    assert list(plan(data, "--bundle", bundle)["unreadable"]) == ["x.parquet"]
    planned = scorer("plan", broken, "--bundle", bundle, code=2)
    ran = scorer("run", broken, "--bundle", bundle, "--out", tmp_path / "out", code=2)
    assert "1 unusable" in planned.stdout and planned.stderr == ran.stderr and "is not a Parquet file" in ran.stderr


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("data --ray", "data --ray auto"),
        ("--ray data --out o", "--ray auto data --out o"),
        ("--ray --out o", "--ray auto --out o"),
        ("--ray 10.0.0.1:6379 data", None),
        ("--ray [::1]:6379 data", None),
        ("--ray auto data", None),
        ("--ray ray://head:10001 data", None),
        ("--ray=head:6379 data", None),
        ("data -- --ray", None),
    ],
)
def test_an_address_may_be_left_out(given: str, found: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Command, "parse_args", lambda self, ctx, args: args)
    assert RunCommand("run").parse_args(None, given.split()) == (found or given).split()


def test_options_that_exclude_it(data: Path, tmp_path: Path, real_workers: None) -> None:
    for more, says in (
        ("--ray --devices cpu:2", "give one of the two"),
        ("--devices cpu:2 --device cpu", "leave --device out"),
        ("--ray-cpus 2", "add --ray"),
    ):
        assert says in harness.run(data, tmp_path / "out", Path("embedded"), *more.split(), code=2)
    assert not (tmp_path / "out").exists()


def test_without_ray_and_without_a_cluster(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real_workers: None
) -> None:
    out = tmp_path / "out"
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        monkeypatch.setenv(name, "0")
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "pip install 'd2t-scorer[ray]'" in harness.run(data, out, Path("embedded"), "--ray", code=2)
    assert "Ray Client is not supported" in harness.run(data, out, Path("embedded"), "--ray", "ray://a:1", code=2)
    monkeypatch.setitem(sys.modules, "ray", sys)  # it is not asked for anything
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    assert "nothing answers there" in harness.run(data, out, Path("embedded"), "--ray", address, code=2)
    assert not out.exists()
