"""What docs/nightly.md shows works: the script is run, the other files are parsed by the programs that they are for."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.gate_rules import load_gates
from tests.audit.nightly_script import example, program, run_script
from tests.audit.nights import command, night, of_system
from tests.bundles import make_bundle
from tests.conftest import ROOT
from tests.docs.test_examples import blocks

PAGE = ROOT / "docs" / "nightly.md"
GOOD, BAD = "The Mill serves French food.", "The Mill is in the city centre."


def block(language: str, word: str) -> str:
    (code,) = [candidate for candidate in blocks(PAGE, language) if word in candidate]
    return code


def tonight(home: Path, date: str, texts: list[str]) -> subprocess.CompletedProcess[str]:
    triples = [["The Mill | food | French"]] * len(texts)
    columns = pa.table({"triples": pa.array(triples, pa.list_(pa.string())), "text": pa.array(texts, pa.string())})
    pq.write_table(columns, home / "data" / "a.parquet")
    return run_script(home, date)


@pytest.mark.slow
def test_the_script_for_three_weeks(gated_home: Path) -> None:
    home = gated_home
    nights = home / "nights"
    first = tonight(home, "2026-01-01", [GOOD] * 4)
    assert first.returncode == 0, first.stderr
    failed = tonight(home, "2026-01-02", [BAD] * 4)
    assert failed.returncode == 1 and "4 rows added, 4 removed, 0 kept" in failed.stdout, failed.stderr
    assert ElementTree.parse(nights / "2026-01-02" / "_junit.xml").getroot()[0].get("failures") == "1"
    (home / "gates.toml").write_text('[[gates]]\nmetric = "not_ok_rate"\nwarn = 0.1\nfail = 0.5\n')
    warned = tonight(home, "2026-01-02", [GOOD] * 3 + [BAD])
    assert warned.returncode == 0 and "\nPassed with warnings: nights/2026-01-02" in warned.stdout, warned.stdout
    (passed,) = nights.glob("passed-*")
    assert passed.resolve() == nights / "2026-01-01"
    for day in range(3, 17):  # two weeks that somebody else ran
        shutil.copytree(nights / "2026-01-01", nights / f"2026-01-{day:02}")
    for day in (17, 18):
        done = tonight(home, f"2026-01-{day:02}", [GOOD] * 4)
        assert done.returncode == 0 and "4 in, 0 scored, 4 reused" in done.stdout, done.stderr
    assert "Since nights/2026-01-17" in done.stdout
    kept = sorted(path.name for path in nights.iterdir())
    assert kept == [*(f"2026-01-{day:02}" for day in range(5, 19)), passed.name]
    # Four nights, of which the second was scored twice.
    assert len(set(pq.read_table(home / "history.parquet")["night"].to_pylist())) == 5
    # A night without rows is not reused, and does not become the baseline.
    assert tonight(home, "2026-01-19", []).returncode == 1
    assert "4 in, 0 scored, 4 reused" in tonight(home, "2026-01-20", [GOOD] * 4).stdout
    # Other templates begin a series of their own; the earlier one goes on when they are put back.
    templates = (home / "templates.json").read_text()
    (home / "templates.json").write_text(templates.replace("serves", "offers"))
    first = tonight(home, "2026-01-21", [GOOD] * 4)
    begins = "nights/2026-01-21 begins a new series"
    assert first.returncode == 0 and begins in first.stderr and "Since" not in first.stdout, first.stdout
    assert begins in (nights / "2026-01-21" / "_summary.md").read_text()
    second = tonight(home, "2026-01-22", [GOOD] * 4)
    assert "Since nights/2026-01-21" in second.stdout and "begins" not in second.stderr
    (home / "templates.json").write_text(templates)
    assert "Since nights/2026-01-20" in tonight(home, "2026-01-23", [GOOD] * 4).stdout
    # What is wrong before the audit ends with 2.
    pq.write_table(pa.table({"triples": [["The Mill | food | French"]], "output": [GOOD]}), home / "data" / "a.parquet")
    broken = run_script(home, "2026-01-24")
    assert broken.returncode == 2 and "no column 'text'" in broken.stderr


def test_a_failed_run_sends_its_summary(tmp_path: Path) -> None:
    """The script for the channel with a stand-in for the nightly script and for curl, and the real jq."""
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    page = example("notify.sh").replace("/srv/d2t", str(tmp_path))
    program(tmp_path / "curl", f"printf '%s ' \"$@\" > {tmp_path}/called\ncat > {tmp_path}/sent")
    program(tmp_path / "date", "echo 2026-01-02")
    night = tmp_path / "nights" / "2026-01-02"
    night.mkdir(parents=True)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLACK_WEBHOOK": "https://example.org/hook"}
    end = "The nightly audit ended with exit code 2. Its last messages:\nline 2\nline 3\nthe reason\n"
    warning, series = "## Passed with warnings: nights\n", "## Passed: nights\nnights begins a new series\n"
    for lines, code, text in (
        ("exit 0", 0, None),
        (f"echo '## Passed: nights' > {night}/_summary.md", 0, None),
        (f"printf '{warning}' > {night}/_summary.md", 0, warning),
        (f"printf '{series}' > {night}/_summary.md", 0, series),
        (f"echo '## \"Failed\"' > {night}/_summary.md; exit 1", 1, '## "Failed"\n'),
        ("for i in 1 2 3; do echo line $i; done; echo 'the reason' >&2; exit 2", 2, end),
    ):
        program(tmp_path / "nightly.sh", lines)
        (tmp_path / "sent").unlink(missing_ok=True)
        done = subprocess.run(["sh", "-c", page], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert ("the reason" in done.stdout) == (code == 2)
        sent = json.loads((tmp_path / "sent").read_text()) if (tmp_path / "sent").exists() else None
        assert sent == (text and {"blocks": [{"type": "markdown", "text": text}]})
    assert (tmp_path / "called").read_text().split()[-1] == "https://example.org/hook"


def test_the_script_and_its_lock_are_shell() -> None:
    subprocess.run(["sh", "-n", "-c", example("nightly.sh")], check=True)
    line = block("crontab", "flock").strip()
    assert re.match(r"^([\d*/,-]+ ){5}", line)
    command = re.sub(r"^(\S+ ){5}", "", line)
    assert "%" not in command  # which cron would take for a new line
    subprocess.run(["sh", "-n", "-c", command], check=True)


@pytest.mark.slow
def test_the_dagster_asset() -> None:
    dagster = pytest.importorskip("dagster", reason="Dagster is not installed")
    names: dict[str, Any] = {"__name__": "loaded"}
    # Not with the __future__ imports of this file: annotations are objects there, as in a file of the example alone.
    exec(compile(example("dagster_nights.py"), "dagster_nights.py", "exec", dont_inherit=True), names)
    definitions = names["defs"]
    dagster.Definitions.validate_loadable(definitions)
    graph = definitions.resolve_asset_graph()
    assert {key.to_user_string() for key in graph.get_all_asset_keys()} == {"scored"}
    assert [key.name for key in graph.asset_check_keys] == ["gates"]


def test_the_query_of_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    audit(night(Path("nights/2026-01-01"), of_system(3, 6, "a")), AuditOptions(history=Path("history.parquet")))
    (query,) = re.findall(r'duckdb -c "(.*?)"\n', (ROOT / "docs" / "audit.md").read_text(encoding="utf-8"))
    assert [line[1:] for line in duckdb.sql(query.replace('\\"', '"')).fetchall()] == [(6, 0.5)]


def test_the_page_leads_from_json_lines_to_gates_that_can_fire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the first section, on rows like its example."""
    (given,) = blocks(PAGE, "json")
    row = json.loads(given)
    (tmp_path / "data").mkdir()
    lines = [json.dumps({**row, "text": f"{row['text']} It is number {i}."}) for i in range(60)]
    (tmp_path / "data" / "part-0.jsonl").write_text("\n".join(lines))
    (tmp_path / "templates.json").write_text('{"eatType": "<subject> is a <object>."}')
    make_bundle(tmp_path / "bundle")
    commands = [line for line in block("sh", "gates init").splitlines() if line.startswith("scorer ")]
    assert len(commands) == 3
    monkeypatch.chdir(tmp_path)
    for line in commands:
        command(*shlex.split(line.replace("$(date -u +%F)", "2026-01-01"))[1:])
    metrics = {rule.metric for rule in load_gates([tmp_path / "gates.toml", tmp_path / "changes.toml"])}
    assert {"error_rate", "label_flips"} <= metrics


PRODUCTS, NEW = 60, 10
WORDINGS = {
    "a": "The {name} by {brand} is {colour}, weighs {weight} and has a warranty of {warranty}.",
    "b": "The {name} is a {colour} product by {brand}. It weighs {weight}. Its warranty is {warranty}.",
    "c": "{brand} makes the {name}. It is {colour}, its weight is {weight}, and its warranty is {warranty}.",
}
WITHOUT_WARRANTY = "The {name} by {brand} is {colour} and weighs {weight}."
Texts = dict[tuple[str, int], str]


def product(number: int, heavier: int = 0) -> dict[str, str]:
    random = Random(number)
    name, kind = random.choice(["Aria", "Nova", "Mira", "Ember"]), random.choice(["lamp", "desk", "stove", "bag"])
    return {
        "name": f"{name} {kind} {number}",
        "brand": random.choice(["Lumo", "Ferra", "Kaldera", "Brandt", "Orbis"]),
        "weight": f"{random.randint(1, 40) + heavier} kg",
        "colour": random.choice(["black", "white", "green", "grey", "orange"]),
        "warranty": f"{random.randint(1, 5)} years",
    }


def week() -> Iterator[Texts]:
    """The texts of each night."""
    random = Random(7)
    texts = {(system, i): WORDINGS[system].format(**product(i)) for system in WORDINGS for i in range(PRODUCTS)}
    for system, rate in (("a", 0.05), ("b", 0.08), ("c", 0.1)):
        for i in range(PRODUCTS):
            if random.random() < rate:
                wrong = WITHOUT_WARRANTY.format(**product(i)), WORDINGS[system].format(**product(i, heavier=7))
                texts[system, i] = random.choice(wrong)
    yield dict(texts)
    texts |= {("a", i): WORDINGS["c"].format(**product(i)) for i in range(5)}  # a few are worded anew
    yield dict(texts)
    good = dict(texts)
    for i in range(PRODUCTS):  # system b leaves out the warranty of many products
        wording = WITHOUT_WARRANTY if random.random() < 0.4 else WORDINGS["a"]
        texts["b", i] = wording.format(**product(i))
    yield dict(texts)
    # Repaired; and eight texts of c, all wrong.
    yield good | {("c", i): WORDINGS["a"].format(**product(i, heavier=7)) for i in range(20, 28)}
    new = range(PRODUCTS, PRODUCTS + NEW)
    yield good | {(system, i): WORDINGS[system].format(**product(i)) for system in WORDINGS for i in new}


def scored(folder: Path, number: int, texts: Texts) -> Path:
    """The output of a night, which reuses the labels of the one before."""
    data, out = folder / "data", folder / f"night-{number}"
    data.mkdir(exist_ok=True)
    for system in WORDINGS:
        rows = [
            {"id": f"{system}{i}", "system": system, "attributes": product(i), "text": text}
            for (name, i), text in texts.items()
            if name == system
        ]
        (data / f"{system}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    earlier = ("--reuse", folder / f"night-{number - 1}") if number > 1 else ()
    command("run", data, "--out", out, "--bundle", "embedded", *earlier)
    return out


@pytest.mark.slow
def test_a_week_fails_when_it_should_and_says_what_broke(tmp_path: Path) -> None:
    gates, changes = tmp_path / "gates.toml", tmp_path / "changes.toml"
    audits: dict[int, Any] = {}
    passed: Path | None = None
    for number, texts in enumerate(week(), 1):
        out = scored(tmp_path, number, texts)
        if passed is None:
            command("gates", "init", out, "--by", "system", "--gates", gates, "--changes", changes)
        against = ("--baseline", passed, "--gates", changes) if passed is not None else ()
        result = command("audit", out, "--gates", gates, *against, "--json", code=int(number in (3, 4)))
        audits[number] = json.loads(result.stdout)
        passed = out if audits[number]["status"] == "pass" else passed
    assert [document["status"] for document in audits.values()] == ["pass", "pass", "fail", "fail", "pass"]
    first = audits[3]["findings"][0]
    assert (first["group"], first["predicate"]) == ({"system": "b"}, "warranty")
    assert audits[3]["headline"].startswith("b: warranty omitted in ")
    assert len(first["rows"]) == 2
    for row in first["rows"]:
        assert row["now"]["file"] == "b.parquet"
        assert "warranty" in {fact["predicate"] for fact in row["now"]["facts"] if fact["omitted"]}
    assert audits[4]["findings"][0]["group"] == {"system": "c"}
