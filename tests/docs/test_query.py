"""Every query of docs/query.md gives what plain Python counts in the same rows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.audit.nights import night, row
from tests.conftest import ROOT
from tests.docs.test_examples import blocks

PAGE = ROOT / "docs" / "query.md"
ORDER = ("omission+hallucination", "hallucination", "omission", "OK")
Rows = list[dict[str, Any]]


def made(shift: int) -> Rows:
    """Forty rows of two systems whose facts and texts fail by turns."""
    found = []
    for i in range(40):
        facts = [("food", 0.1 if (i + shift) % 4 == 0 else 0.9), ("area", 0.2 if (i + shift) % 5 == 0 else 0.8)]
        text = f"text {i}" if i % 3 else f"text {i} of {shift}"
        error = "too_long:omission" if i == 11 else None
        more = {"id": i, "system": "ab"[i % 2], "input": i // 4}
        found.append(row(text, facts, 0.3 if (i + shift) % 7 == 0 else 0.95, subject=f"S{i}", error=error, **more))
    return found


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query")
    night(folder / "tonight", made(0), shards=3)
    night(folder / "yesterday", made(1), shards=2)
    return folder


def read(folder: Path) -> Rows:
    tables = {file.name: pq.read_table(file).to_pylist() for file in sorted(folder.glob("*.parquet"))}
    return [one | {"place": f"{name}:{i}"} for name, table in tables.items() for i, one in enumerate(table)]


def percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1)


def by_predicate(rows: Rows) -> dict[str, tuple[int, int]]:
    """Facts that were checked, and omitted ones."""
    checked = [one for one in rows if one["omitted"] is not None]
    facts = Counter(triple["predicate"] for one in checked for triple in one["triples"])
    lost = Counter(one["triples"][i]["predicate"] for one in checked for i in one["omitted"])
    return {name: (facts[name], lost[name]) for name in facts}


def expected(tonight: Rows, yesterday: Rows) -> dict[str, list[tuple[Any, ...]]]:
    """The results by the first words of each question."""
    labelled = [one for one in tonight if one["error"] is None]
    bad = [one for one in labelled if one["rough"] == "not_OK"]
    before = {one["id"]: one for one in yesterday}
    keys = {one["row_key"]: one["fine"] for one in yesterday}
    systems = {name: [one for one in labelled if one["system"] == name] for name in "ab"}
    worst = [
        (name, sum(one["system"] == name for one in tonight), percent(sum(one in bad for one in found), len(found)))
        for name, found in systems.items()
    ]
    kinds = Counter((one["system"], one["fine"]) for one in bad)
    lost = [(name, n, percent(m, n)) for name, (n, m) in by_predicate(tonight).items()]
    worse = [one for one in bad if before[one["id"]]["rough"] == "OK"]
    pairs = Counter((one["fine"], keys[one["row_key"]]) for one in tonight if one["row_key"] in keys)
    inputs = {i: [one for one in labelled if one["input"] == i] for i in sorted({one["input"] for one in labelled})}
    best = [max(found, key=lambda one: (ORDER.index(one["fine"]), one["confidence"])) for found in inputs.values()]
    return {
        "Which system is worst": sorted(worst, key=lambda one: -one[2]),
        "What kinds": sorted(((*key, n) for key, n in kinds.items()), key=lambda one: (one[0], -one[2], one[1])),
        "Which rows have no label": [("too_long", 1, 11)],
        "Which predicates": sorted(lost, key=lambda one: (-one[2], one[0])),
        "Which rows should": [
            (one["place"], one["fine"], one["confidence"], one["text"])
            for one in sorted(bad, key=lambda one: (one["confidence"], one["place"]))
        ][:20],
        "What became worse": [(one["id"], before[one["id"]]["text"], one["text"], one["fine"]) for one in worse],
        "Do two models": sorted(
            ((*key, n) for key, n in pairs.items()), key=lambda one: (-one[2], one[0] or "~", one[1] or "~")
        ),
        "Which of several": list(zip(inputs, (one["text"] for one in best), strict=True)),
    }


def test_the_queries_answer_their_questions(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(outputs)
    queries = re.findall(r"^\*\*(.*?)\*\*.*?^```sql\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    wanted = expected(read(outputs / "tonight"), read(outputs / "yesterday"))
    for (question, query), (words, result) in zip(queries, wanted.items(), strict=True):
        assert question.startswith(words) and result
        assert duckdb.sql(query).fetchall() == result, question


def test_the_polars_of_the_page(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("polars")
    monkeypatch.chdir(outputs)
    names: dict[str, Any] = {}
    (code,) = blocks(PAGE, "python")
    exec(code, names)
    found = {name: (facts, round(share * facts)) for name, facts, share in names["by_predicate"].rows()}
    assert found == by_predicate(read(outputs / "tonight"))
