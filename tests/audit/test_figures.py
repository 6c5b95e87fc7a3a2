"""The figures of groups, against the same rows read one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.document import RATES, FactShown, OptionsShown
from scorer.metric.verdict import FINE
from tests.audit.nights import Row, night, row, table
from tests.scored_outputs import finish

PREDICATES = ("food", "area", "near", "price range")


def made(rng: np.random.Generator, n: int) -> list[Row]:
    rows = []
    for i in range(n):
        facts = [(str(rng.choice(PREDICATES)), float(rng.beta(3, 0.5))) for _ in range(rng.integers(1, 12))]
        text = ["", "   "][i % 2] if i % 17 == 0 else None if i % 29 == 0 else "word " * int(rng.integers(1, 300))
        error = "too_long:omission" if i % 31 == 0 and text else None
        groups = {"system": f"s{i % 3}", "seen": bool(i % 2), "k": i % 4}
        rows.append(row(text, facts, float(rng.beta(3, 0.5)), f"S{i % 40}", error, **groups))
    return rows


def naive(out: Path, kind: str, errors: str, group: dict[str, Any]) -> dict[str, Any]:
    """Figures of the rows of a group, read as Python objects."""
    lines = [line for path in sorted(out.glob("*.parquet")) for line in pq.read_table(path).to_pylist()]
    lines = [line for line in lines if all(line[column] == value for column, value in group.items())]
    labelled = [line for line in lines if line["fine"] is not None]
    counted = lines if errors == "not-ok" else labelled
    predicates: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for line in lines:
        if line["fact_entailment"] is None:
            continue
        if kind == "mr":
            names = [slot.partition("[")[0] for slot in line["mr"].split(", ")][1:]
        else:
            names = [t.split(" | ")[1] if kind == "strings" else t["predicate"] for t in line["triples"]]
        for position, name in enumerate(names):
            predicates[name][0] += 1
            predicates[name][1] += position in line["omitted"]
    keys = Counter(line["row_key"] for line in lines)
    return {
        "rows": len(lines),
        "fine": {name: sum(line["fine"] == name for line in lines) for name in FINE},
        "errors": dict(Counter(line["error"].partition(":")[0] for line in lines if line["error"])),
        "notes": dict(Counter(line["note"] for line in lines if line["note"])),
        "rates": {
            "not_ok_rate": (sum(line["fine"] != "OK" for line in counted), len(counted)),
            "omission_rate": (sum("omission" in (line["fine"] or "") for line in counted), len(counted)),
            "hallucination_rate": (sum("hallucination" in (line["fine"] or "") for line in counted), len(counted)),
            "error_rate": (len(lines) - len(labelled), len(lines)),
            "empty_rate": (sum(line["note"] == "empty_text" for line in lines), len(lines)),
            "unsupported_numbers_rate": (0, 0),
        },
        "confidence": [line["confidence"] for line in labelled],
        "predicates": dict(predicates),
        "lengths": [len(line["text"]) for line in labelled],
        "hallucinated": [len(line["text"]) for line in labelled if "hallucination" in line["fine"]],
        "distinct": len(keys),
        "most": max(keys.values(), default=0),
    }


@pytest.mark.parametrize(("kind", "errors"), [("struct", "not-ok"), ("strings", "excluded"), ("mr", "not-ok")])
def test_every_figure_of_every_group(tmp_path: Path, kind: str, errors: Any) -> None:
    out = night(tmp_path / "out", made(np.random.default_rng(5), 310), shards=3, triples=kind)
    by = (("system",), ("k", "seen"))
    document = audit(out, AuditOptions(by=by, errors=errors))
    assert len(document.groups) == 1 + 3 + 4  # k and seen go together: i % 4 says i % 2
    for figures in document.groups:
        values: dict[str, Any] = dict(figures.group)
        if "k" in values:
            values = {"k": int(values["k"]), "seen": values["seen"] == "true"}
        right = naive(out, kind, errors, values)
        assert figures.grouping == list(figures.group)
        for key in ("rows", "fine", "errors", "notes"):
            assert getattr(figures, key) == right[key]
        assert {name: (figures.rates[name].count, figures.rates[name].n) for name in RATES} == right["rates"]
        assert figures.rates["not_ok_rate"].n == figures.labels["OK"].n
        fine = right["fine"]
        assert figures.rough == {"OK": fine["OK"], "not_OK": sum(fine.values()) - fine["OK"]}
        found = {p.predicate: [p.omission.n, p.omission.count] for p in figures.predicates}
        assert found == right["predicates"]
        assert figures.confidence.n == len(right["confidence"])
        assert figures.confidence.mean == pytest.approx(np.mean(right["confidence"]))
        assert figures.confidence.quantiles["0.50"] == pytest.approx(np.median(right["confidence"]))
        assert figures.confidence.histogram == np.histogram(right["confidence"], 20, (0, 1))[0].tolist()
        for one in figures.by_length:
            most = one.most or 10**9
            assert one.rows == sum(one.least <= n <= most for n in right["lengths"])
            assert one.hallucination.count == sum(one.least <= n <= most for n in right["hallucinated"])
        assert sum(one.rows for one in figures.by_length) == len(right["lengths"])
        assert sum(one.rows for one in figures.by_facts) == len(right["lengths"])
        duplicates = figures.duplicates
        assert (duplicates.distinct, duplicates.most) == (right["distinct"], right["most"])
        assert duplicates.repeated == right["rows"] - right["distinct"]


def test_groups_come_by_falling_rate_and_null_is_a_group(tmp_path: Path) -> None:
    rows = [row("t", said=0.1 if s == "bad" else 0.9, system=s) for s in ("good", "bad", None, "good", "bad")]
    document = audit(night(tmp_path / "out", rows))
    assert [g.group for g in document.groups] == [{}, {"system": "bad"}, {"system": "good"}, {"system": None}]
    assert document.options == OptionsShown(by=[["system"]], errors="not-ok")


def test_worst_rows_are_the_least_certain_each_key_once(tmp_path: Path) -> None:
    rows = [row(f"t{i}", [("food", 0.4 - i / 100)], subject=f"S{i}") for i in range(8)]
    rows += [row("t7", [("food", 0.33)], subject="S7")] * 3
    rows += [row("", subject="E"), row("x", error="too_long:omission", subject="L"), row(None, subject="N")]
    worst = audit(night(tmp_path / "out", rows), AuditOptions(worst=3)).worst
    kinds = {kind: [one.text for one in worst if one.kind == kind] for kind in {one.kind for one in worst}}
    assert kinds == {
        "omission": ["t7", "t6", "t5"],
        "empty_text": [""],
        "error:too_long": ["x"],
        "error:null_text": [None],
    }
    first = worst[0]
    assert (first.file, first.row, first.clipped, first.note) == ("part-0.parquet", 7, False, None)
    fact = FactShown(subject="S7", predicate="food", object="o0", sentence="The food of S7 is o0.",
                     entailment=pytest.approx(0.33), omitted=True)  # fmt: skip
    assert first.facts == [fact]


def test_an_output_without_rows(tmp_path: Path) -> None:
    empty = table([row(system="s")]).slice(0, 0)
    document = audit(finish(tmp_path / "out", {"a.parquet": empty}))
    assert (document.rows.all, document.groups[0].rates["not_ok_rate"].value) == (0, None)
    assert audit(finish(tmp_path / "none", {})).rows.all == 0


def test_backoff_is_that_of_the_run(tmp_path: Path) -> None:
    rows = [row("t", [("food", 0.9), ("area", 0.9)], system=s) for s in "aab"] + [row("t", [("food", 0.9)], system="b")]
    counted = {"food": {"template": 4, "backoff": 0}, "area": {"template": 0, "backoff": 3}}
    groups = audit(night(tmp_path / "out", rows, by_predicate=counted)).groups
    backoff = {g.group.get("system"): (g.backoff.count, g.backoff.n) for g in groups if g.backoff}
    assert backoff == {None: (3, 7), "a": (2, 4), "b": (1, 3)}
    assert {p.predicate: p.backoff for p in groups[0].predicates} == {"food": 0.0, "area": 1.0}


def test_shards_that_spell_their_facts_differently_and_lack_columns(tmp_path: Path) -> None:
    first, second = (table([row(f"{kind} {i}", system=kind) for i in range(4)], kind) for kind in ("struct", "strings"))
    out = finish(tmp_path / "out", {"a.parquet": first, "b.parquet": second.drop_columns(["system"])})
    document = audit(out)
    assert document.groups[0].predicates[0].omission.n == 8
    assert {str(g.group.get("system")): g.rows for g in document.groups[1:]} == {"struct": 4, "None": 4}


def test_long_texts_and_many_facts_are_clipped(tmp_path: Path) -> None:
    rows = [row("long " * 5000, [("p" * 3000, 0.1)] * 300)]
    worst = audit(night(tmp_path / "out", rows)).worst
    assert [(one.clipped, len(one.text), len(one.facts)) for one in worst] == [(True, 4000, 100)]
