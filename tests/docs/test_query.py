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
        more = {"id": i, "system": "ab"[i % 2], "input": i // 4, "error": "too_long:omission" if i == 11 else None}
        found.append(row(text, facts, 0.3 if (i + shift) % 7 == 0 else 0.95, subject=f"S{i}", **more))
    return found


def read(folder: Path) -> Rows:
    tables = {file.name: pq.read_table(file).to_pylist() for file in sorted(folder.glob("*.parquet"))}
    return [one | {"place": f"{name}:{i}"} for name, table in tables.items() for i, one in enumerate(table)]


def expected(tonight: Rows, yesterday: Rows) -> dict[str, list[tuple[Any, ...]]]:
    """The results by the first words of each question."""
    labelled = [one for one in tonight if one["error"] is None]
    bad = [one for one in labelled if one["rough"] == "not_OK"]
    before = {one["id"]: one for one in yesterday}
    keys = {one["row_key"]: one["fine"] for one in yesterday}
    systems, inputs = ({one[name]: [] for one in labelled} for name in ("system", "input"))
    for one in labelled:
        systems[one["system"]].append(one)
        inputs[one["input"]].append(one)
    rows = Counter(one["system"] for one in tonight)
    worst = [(name, rows[name], round(100 * sum(x in bad for x in of) / len(of), 1)) for name, of in systems.items()]
    kinds = Counter((one["system"], one["fine"]) for one in bad)
    facts = Counter(triple["predicate"] for one in labelled for triple in one["triples"])
    lost = Counter(one["triples"][i]["predicate"] for one in labelled for i in one["omitted"])
    pairs = Counter((one["fine"], keys[one["row_key"]]) for one in tonight if one["row_key"] in keys)
    best = [max(of, key=lambda one: (ORDER.index(one["fine"]), one["confidence"])) for of in inputs.values()]
    doubted = sorted(bad, key=lambda one: (one["confidence"], one["place"]))[:20]
    worse = [one for one in bad if before[one["id"]]["rough"] == "OK"]
    return {
        "Which system is worst": sorted(worst, key=lambda one: -one[2]),
        "What kinds": sorted(((*key, n) for key, n in kinds.items()), key=lambda one: (one[0], -one[2], one[1])),
        "Which rows have no label": [("too_long", 1, 11)],
        "Which predicates": sorted(
            ((name, n, round(100 * lost[name] / n, 1)) for name, n in facts.items()), key=lambda one: (-one[2], one[0])
        ),
        "Which rows should": [(one["place"], one["fine"], one["confidence"], one["text"]) for one in doubted],
        "What became worse": [(one["id"], before[one["id"]]["text"], one["text"], one["fine"]) for one in worse],
        "Do two models": sorted(
            ((*key, n) for key, n in pairs.items()), key=lambda one: (-one[2], one[0] or "~", one[1] or "~")
        ),
        "Which of several": [(one["input"], one["text"]) for one in best],
    }


def test_the_queries_answer_their_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    night(tmp_path / "tonight", made(0), shards=3)
    night(tmp_path / "yesterday", made(1), shards=2)
    monkeypatch.chdir(tmp_path)
    queries = re.findall(r"^\*\*(.*?)\*\*.*?^```sql\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    wanted = expected(read(tmp_path / "tonight"), read(tmp_path / "yesterday"))
    for (question, query), (words, result) in zip(queries, wanted.items(), strict=True):
        assert question.startswith(words) and result
        assert duckdb.sql(query).fetchall() == result, question
    pytest.importorskip("polars")
    names: dict[str, Any] = {}
    (code,) = blocks(PAGE, "python")
    exec(code, names)
    found = [(name, facts, round(100 * share, 1)) for name, facts, share in names["by_predicate"].rows()]
    assert sorted(found) == sorted(wanted["Which predicates"])
