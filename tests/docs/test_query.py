"""Every query of docs/query.md gives what plain Python counts in the same rows."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.audit.nights import night, row
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "query.md"
Rows = list[dict[str, Any]]


def made(shift: int) -> Rows:
    """Forty rows of two systems whose facts and texts fail by turns."""
    found = []
    for i in range(40):
        facts = [("food", 0.1 if (i + shift) % 4 == 0 else 0.9), ("area", 0.2 if (i + shift) % 5 == 0 else 0.8)]
        said = 0.3 if (i + shift) % 7 == 0 else 0.95
        error = "too_long:omission" if i == 11 else None
        text = f"text {i}" if i % 3 else f"text {i} of {shift}"
        found.append(row(text, facts, said, subject=f"S{i}", error=error, id=i, system="ab"[i % 2], input=i // 4))
    return found


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query")
    night(folder / "tonight", made(0), shards=3)
    night(folder / "yesterday", made(1), shards=2)
    return folder


@pytest.fixture(scope="module")
def rows(outputs: Path) -> tuple[Rows, Rows]:
    def read(name: str) -> Rows:
        files = sorted((outputs / name).glob("*.parquet"))
        tables = [(file.name, pq.read_table(file).to_pylist()) for file in files]
        return [one | {"place": f"{name}:{i}"} for name, table in tables for i, one in enumerate(table)]

    return read("tonight"), read("yesterday")


def percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1)


def by_predicate(rows: Rows) -> dict[str, tuple[int, int]]:
    facts: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for one in rows:
        for position, triple in enumerate(one["triples"] if one["omitted"] is not None else ()):
            facts[triple["predicate"]] += 1
            lost[triple["predicate"]] += position in one["omitted"]
    return {name: (facts[name], lost[name]) for name in facts}


def expected(tonight: Rows, yesterday: Rows) -> dict[str, list[tuple[Any, ...]]]:
    """The results by the first words of each question."""
    labelled = [one for one in tonight if one["error"] is None]
    bad = [one for one in labelled if one["rough"] == "not_OK"]
    of_system = {system: [one for one in labelled if one["system"] == system] for system in "ab"}
    all_rows = Counter(one["system"] for one in tonight)
    before = {one["id"]: one for one in yesterday}
    worse = [one for one in bad if before[one["id"]]["rough"] == "OK"]
    keys = {one["row_key"]: one["fine"] for one in yesterday}
    predicates = by_predicate(tonight)
    worst = [
        (system, all_rows[system], percent(sum(one["rough"] == "not_OK" for one in found), len(found)))
        for system, found in of_system.items()
    ]
    kinds = Counter((one["system"], one["fine"]) for one in bad)
    lost = Counter(one["triples"][i]["predicate"] for one in worse for i in one["omitted"])
    pairs = Counter((one["fine"], keys[one["row_key"]]) for one in tonight if one["row_key"] in keys)
    bins = Counter(10 * math.floor(one["confidence"] * 10) for one in labelled)
    candidates = {i: [one for one in labelled if one["input"] == i] for i in {one["input"] for one in labelled}}
    order = ("omission+hallucination", "hallucination", "omission", "OK")
    said_too_much = [one for one in bad if one["system"] == "b" and "hallucination" in one["fine"]]

    def rank(one: dict[str, Any]) -> tuple[int, float]:
        return order.index(one["fine"]), one["confidence"]

    return {
        "Which system is worst": sorted(worst, key=lambda one: -one[2]),
        "What kinds": sorted(((*key, n) for key, n in kinds.items()), key=lambda one: (one[0], -one[2], one[1])),
        "Which rows have no label": [("too_long", 1, 11)],
        "Which predicates": sorted(
            ((name, n, percent(m, n)) for name, (n, m) in predicates.items()), key=lambda one: (-one[2], one[0])
        ),
        "Which rows should": [
            (one["place"], one["fine"], one["confidence"], one["text"])
            for one in sorted(bad, key=lambda one: (one["confidence"], one["place"]))
        ][:20],
        "Which rows are behind": [
            (one["id"], one["text"], one["text_entailment"])
            for one in sorted(said_too_much, key=lambda one: (one["text_entailment"], one["id"]))
        ],
        "What became worse": [(one["id"], before[one["id"]]["text"], one["text"], one["fine"]) for one in worse],
        "Which facts": sorted(lost.items(), key=lambda one: (-one[1], one[0])),
        "Do two models": sorted(
            ((*key, n) for key, n in pairs.items()), key=lambda one: (-one[2], one[0] or "~", one[1] or "~")
        ),
        "How sure": sorted(bins.items()),
        "Which of several": [(i, max(of_input, key=rank)["text"]) for i, of_input in sorted(candidates.items())],
    }


def test_the_queries_answer_their_questions(
    outputs: Path, rows: tuple[Rows, Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(outputs)
    queries = re.findall(r"^\*\*(.*?)\*\*.*?^```sql\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    wanted = expected(*rows)
    assert len(queries) == len(wanted) == 11
    for (question, query), (words, result) in zip(queries, wanted.items(), strict=True):
        assert question.startswith(words)
        assert result, question
        assert duckdb.sql(query).fetchall() == result, question


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_the_python_runs(outputs: Path, rows: tuple[Rows, Rows], monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    pytest.importorskip(library)
    monkeypatch.chdir(outputs)
    code = re.findall(rf"^```python\n(import {library}.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code[0], names)
    if library == "polars":
        found = {name: (facts, round(share * facts)) for name, facts, share in names["by_predicate"].rows()}
        assert found == by_predicate(rows[0])
    else:
        labelled = [one for one in rows[0] if one["error"] is None and one["system"] == "a"]
        share = sum(one["rough"] == "not_OK" for one in labelled) / len(labelled)
        assert names["not_ok"].to_dict()["a"] == pytest.approx(share)
