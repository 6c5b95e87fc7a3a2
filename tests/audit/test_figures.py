"""The figures of groups, against the same rows read one by one; texts and facts in every layout that a run takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scorer.audit import AuditOptions, audit
from scorer.audit.document import FactShown, OptionsShown
from scorer.audit.scan import FactReader
from scorer.metric.verdict import FINE
from scorer.scoring.summary import OTHER_PREDICATES
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


def naive(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of rows, read as Python objects."""
    labels = [line["fine"] or "" for line in lines]
    predicates: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for line in lines:
        for position, fact in enumerate(line["triples"] if line["fact_entailment"] is not None else ()):
            one = predicates[fact["predicate"] if isinstance(fact, dict) else fact.split(" | ")[1]]
            one[0] += 1
            one[1] += position in line["omitted"]
    return {
        "rows": len(lines),
        "fine": {name: labels.count(name) for name in FINE},
        "rough": {"OK": labels.count("OK"), "not_OK": sum(label not in ("", "OK") for label in labels)},
        "errors": dict(Counter(line["error"].partition(":")[0] for line in lines if line["error"])),
        "notes": dict(Counter(line["note"] for line in lines if line["note"])),
        "rates": {
            "not_ok_rate": len(lines) - labels.count("OK"),
            "omission_rate": sum("omission" in label for label in labels),
            "hallucination_rate": sum("hallucination" in label for label in labels),
            "error_rate": labels.count(""),
            "empty_rate": sum(line["note"] == "empty_text" for line in lines),
        },
        "predicates": dict(predicates),
    }


@pytest.mark.parametrize("kind", ["struct", "strings"])
def test_every_figure_of_every_group(tmp_path: Path, kind: str) -> None:
    out = night(tmp_path / "out", made(np.random.default_rng(5), 310), shards=3, triples=kind)
    document = audit(out, AuditOptions(by=(("system",), ("k", "seen"))))
    assert len(document.groups) == 1 + 3 + 4  # k and seen go together: i % 4 says i % 2
    lines = [line for path in sorted(out.glob("*.parquet")) for line in pq.read_table(path).to_pylist()]
    for figures in document.groups:
        mine = [line for line in lines if all(str(line[c]).lower() == v for c, v in figures.group.items())]
        right = naive(mine)
        assert {key: getattr(figures, key) for key in right if key not in ("rates", "predicates")} == {
            key: value for key, value in right.items() if key not in ("rates", "predicates")
        }
        assert {name: rate.count for name, rate in figures.rates.items()} == right["rates"]
        assert {rate.n for rate in figures.rates.values()} == {len(mine)}
        assert {p.predicate: [p.omission.n, p.omission.count] for p in figures.predicates} == right["predicates"]
        confidences = [line["confidence"] for line in mine if line["fine"]]
        assert (figures.confidence.n, figures.confidence.mean) == (
            len(confidences), pytest.approx(np.mean(confidences))
        )  # fmt: skip
        assert figures.grouping == list(figures.group)


def test_groups_come_by_falling_rate_and_null_is_a_group(tmp_path: Path) -> None:
    rows = [row("t", said=0.1 if s == "bad" else 0.9, system=s) for s in ("good", "bad", None, "good", "bad")]
    document = audit(night(tmp_path / "out", rows))
    assert [g.group for g in document.groups] == [{}, {"system": "bad"}, {"system": "good"}, {"system": None}]
    assert document.options == OptionsShown(by=[["system"]])


def test_a_worst_row_is_shown_with_its_facts_and_a_long_one_is_clipped(tmp_path: Path) -> None:
    rows = [row("t", [("food", 0.33)], subject="S"), row(None), row("long " * 5000, [("p" * 3000, 0.1)] * 300)]
    long, first, null = audit(night(tmp_path / "out", rows)).worst
    place = (first.file, first.row, first.kind, first.clipped, first.note)
    assert place == ("part-0.parquet", 0, "omission", False, None)
    fact = FactShown(subject="S", predicate="food", object="o0", sentence="The food of S is o0.",
                     entailment=pytest.approx(0.33), omitted=True)  # fmt: skip
    assert first.facts == [fact]
    assert (long.clipped, len(long.text), len(long.facts)) == (True, 4000, 100)
    assert (null.kind, null.text) == ("error:null_text", None)


def test_an_output_without_rows(tmp_path: Path) -> None:
    document = audit(finish(tmp_path / "out", {"a.parquet": table([row(system="s")]).slice(0, 0)}))
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
    document = audit(finish(tmp_path / "out", {"a.parquet": first, "b.parquet": second.drop_columns(["system"])}))
    assert document.groups[0].predicates[0].omission.n == 8
    assert {str(g.group.get("system")): g.rows for g in document.groups[1:]} == {"struct": 4, "None": 4}


BYTES = pa.array([b"caf\xe9", b"abc", b"", None], pa.large_binary())
LARGE = BYTES.cast(pa.large_string(), safe=False)


def replaced(out: Path, name: str, column: pa.Array) -> Path:
    whole = table([row("a", [("food", 0.1)]), row("abc"), row(""), row(None)])
    return finish(out, {"a.parquet": whole.set_column(whole.schema.names.index(name), name, column)})


@pytest.mark.parametrize("texts", [LARGE.dictionary_encode(), BYTES.cast(pa.binary_view()).view(pa.string_view())])
def test_texts(tmp_path: Path, texts: pa.Array) -> None:
    assert [one.text for one in audit(replaced(tmp_path / "out", "text", texts)).worst] == ["caf\ufffd", "", None]


def test_reused_rows_are_counted_apart_and_types_that_no_run_takes_have_no_facts(tmp_path: Path) -> None:
    rows = audit(replaced(tmp_path / "out", "reused", pa.array([True, False, True, True]))).rows
    assert (rows.all, rows.scored, rows.reused) == (4, 1, 2)  # the last one is an error
    document = audit(replaced(tmp_path / "other", "triples", pa.array([[1]] * 4)))
    assert document.groups[0].predicates == []


def test_sentences_are_predicates_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorer.audit.scan.MOST_SENTENCES", 2)
    reader = FactReader("facts", "facts")
    first = reader.read(pa.table({"facts": pa.array([["a", " b "], None, ["", None]], pa.list_(pa.string()))}))
    assert first.lengths.tolist() == [2, 0, 0]  # a row with a blank fact is an error
    assert first.predicate.tolist() == [0, 1]
    second = reader.read(pa.table({"facts": [["c", "a", "d"]]}))
    assert [list(reader.predicates)[i] for i in second.predicate.tolist()] == [OTHER_PREDICATES, "a", OTHER_PREDICATES]
