"""The figures of groups, against the same rows read one by one; texts and facts in every layout that a run takes."""

from __future__ import annotations

import re
import runpy
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.audit import AuditOptions, audit, document
from scorer.audit.database import GroupCodes
from scorer.audit.document import Document, FactShown, OptionsShown
from scorer.audit.scan import FactReader
from scorer.errors import UsageError
from scorer.metric.verdict import FINE
from scorer.scoring.summary import OTHER_PREDICATES
from scorer.system.codec import decode, encode
from tests.audit.nights import SIGNATURE, Row, gates_file, night, of_system, row, table
from tests.audit.nights import table as made_table
from tests.conftest import ROOT
from tests.scored_outputs import finish

PREDICATES = ("food", "area", "near", "price range")
WITHOUT_TEMPLATE = ("area", "near")
OTHERS = ("rates", "predicates", "left_out", "backoff")


def made(rng: np.random.Generator, n: int) -> list[Row]:
    rows: list[Row] = []
    for i in range(n):
        facts = [(str(rng.choice(PREDICATES)), float(rng.beta(3, 0.5))) for _ in range(rng.integers(1, 12))]
        text = ["", "   "][i % 2] if i % 17 == 0 else None if i % 29 == 0 else "word " * int(rng.integers(1, 300))
        error = "too_long:omission" if i % 31 == 0 and text else None
        groups = {"system": f"s{i % 3}", "seen": bool(i % 2), "k": i % 4}
        rows.append(row(text, facts, float(rng.beta(3, 0.5)), f"S{i % 40}", error, **groups))
    return rows


def predicates_of(line: dict[str, Any]) -> list[str]:
    """The predicates of a row's facts, in either spelling."""
    return [fact["predicate"] if isinstance(fact, dict) else fact.split(" | ")[1] for fact in line["triples"]]


def naive(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures of rows, read as Python objects."""
    labels = [line["fine"] or "" for line in lines]
    predicates: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for line in lines:
        for position, name in enumerate(predicates_of(line) if line["fact_entailment"] is not None else ()):
            predicates[name][0] += 1
            predicates[name][1] += position in line["omitted"]
            predicates[name][2] += position in line["contradicted"]
    facts = [name for line in lines for name in predicates_of(line)]
    return {
        "rows": len(lines),
        "fine": {name: labels.count(name) for name in FINE},
        "rough": {"OK": labels.count("OK"), "not_OK": sum(label not in ("", "OK") for label in labels)},
        "errors": dict(Counter(line["error"].partition(":")[0] for line in lines if line["error"])),
        "notes": dict(Counter(line["note"] for line in lines if line["note"])),
        "rates": {
            "not_ok_rate": len(lines) - labels.count("OK"),
            "omission_rate": sum("omission" in label for label in labels),
            "contradicted_rate": sum(bool(line["contradicted"]) for line in lines if line["fine"]),
            "hallucination_rate": sum("hallucination" in label for label in labels),
            "error_rate": labels.count(""),
            "empty_rate": sum(line["note"] == "empty_text" for line in lines),
        },
        "left_out": sum(len(line["omitted"] or ()) > len(line["contradicted"] or ()) for line in lines if line["fine"]),
        "predicates": dict(predicates),
        "backoff": (sum(name in WITHOUT_TEMPLATE for name in facts), len(facts)),
    }


def in_order(lines: list[dict[str, Any]], *columns: str) -> list[dict[str, str | None]]:
    """The groups of some columns: by falling share of rows that are not OK, then by their values, null last."""
    groups = defaultdict(list)
    for line in lines:
        groups[tuple(spelled(line.get(column)) for column in columns)].append(line)
    ranked = sorted(
        groups,
        key=lambda values: (
            -naive(groups[values])["rates"]["not_ok_rate"] / len(groups[values]),
            *((value is None, value or "") for value in values),
        ),
    )
    return [dict(zip(columns, values, strict=True)) for values in ranked]


def spelled(value: Any) -> str | None:
    """A value as the name of its group."""
    return None if value is None else str(value).lower()


def with_contradictions(rows: pa.Table, below: float) -> pa.Table:
    """Rows whose omitted facts of such a probability are contradicted; null where omissions are."""
    contradicted = [
        None if omitted is None else [i for i in omitted if entailment is not None and entailment[i] < below]
        for omitted, entailment in zip(rows["omitted"].to_pylist(), rows["fact_entailment"].to_pylist(), strict=True)
    ]
    place = rows.schema.get_field_index("contradicted")
    return rows.set_column(place, "contradicted", pa.array(contradicted, pa.list_(pa.int32())))


def shard(rows: list[Row], kind: str, without: str | None, rng: np.random.Generator) -> pa.Table:
    """A shard that spells its facts in one way and may lack a column; some of its rows are reused."""
    table = with_contradictions(made_table(rows, kind), 0.2)
    reused = pa.array(rng.random(len(rows)) < 0.4)
    table = table.set_column(table.schema.get_field_index("reused"), "reused", reused)
    return table.drop_columns([without]) if without else table


@pytest.mark.parametrize(
    ("kinds", "without", "groups"),
    [
        (("struct",) * 3, None, 1 + 3 + 4),
        (("strings",) * 3, None, 1 + 3 + 4),
        (("struct", "strings", "struct"), "seen", 1 + 3 + 8),
    ],
    ids=["struct", "strings", "mixed"],
)
def test_every_figure_of_every_group(tmp_path: Path, kinds: tuple[str, ...], without: str | None, groups: int) -> None:
    rng = np.random.default_rng(5)
    rows = made(rng, 310)
    shards = {
        f"part-{i}.parquet": shard(rows[i * 110 : (i + 1) * 110], kind, without if i == 2 else None, rng)
        for i, kind in enumerate(kinds)
    }
    counted = {name: {"backoff": 9} if name in WITHOUT_TEMPLATE else {"template": 9} for name in PREDICATES}
    out = finish(tmp_path / "out", shards, by_predicate=counted)
    document = audit(out, AuditOptions(by=(("system",), ("k", "seen"))))
    assert len(document.groups) == groups  # k and seen go together: i % 4 says i % 2
    assert document.options == OptionsShown(by=[["system"], ["k", "seen"]])
    lines = [line for path in sorted(out.glob("*.parquet")) for line in pq.read_table(path).to_pylist()]
    ranked = [{}, *in_order(lines, "system"), *in_order(lines, "k", "seen")]
    assert [figures.group for figures in document.groups] == ranked
    reused = sum(line["reused"] for line in lines if line["fine"])
    scored = sum(line["fine"] is not None for line in lines) - reused
    assert (document.rows.all, document.rows.scored, document.rows.reused) == (len(lines), scored, reused)
    for figures in document.groups:
        mine = [line for line in lines if all(spelled(line.get(c)) == v for c, v in figures.group.items())]
        right = naive(mine)
        assert {key: getattr(figures, key) for key in right if key not in OTHERS} == {
            key: value for key, value in right.items() if key not in OTHERS
        }
        assert (figures.left_out.count, figures.left_out.n) == (right["left_out"], len(mine))
        assert (figures.backoff.count, figures.backoff.n) == right["backoff"]
        assert {p.predicate: p.backoff for p in figures.predicates} == {
            name: float(name in WITHOUT_TEMPLATE) for name in right["predicates"]
        }
        assert {name: rate.count for name, rate in figures.rates.items()} == right["rates"]
        assert {rate.n for rate in figures.rates.values()} == {len(mine)}
        counts = {p.predicate: [p.omission.n, p.omission.count, p.contradicted.count] for p in figures.predicates}
        assert counts == right["predicates"]
        confidences = [line["confidence"] for line in mine if line["fine"]]
        assert (figures.confidence.n, figures.confidence.mean) == (
            len(confidences), pytest.approx(np.mean(confidences))
        )  # fmt: skip
        assert figures.grouping == list(figures.group)


def test_groups_come_by_falling_rate_and_null_is_the_last_of_equal_ones(tmp_path: Path) -> None:
    rows = [row("t", said=0.1 if s == "bad" else 0.9, system=s) for s in ("good", "bad", None, "good", "bad")]
    document = audit(night(tmp_path / "out", rows))
    assert [g.group for g in document.groups] == [{}, {"system": "bad"}, {"system": "good"}, {"system": None}]


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


BYTES = pa.array([b"caf\xe9", b"abc", b"", None], pa.large_binary())
LARGE = BYTES.cast(pa.large_string(), safe=False)


def replaced(out: Path, name: str, column: pa.Array) -> Path:
    whole = table([row("a", [("food", 0.1)]), row("abc"), row(""), row(None)])
    return finish(out, {"a.parquet": whole.set_column(whole.schema.names.index(name), name, column)})


@pytest.mark.parametrize("texts", [LARGE.dictionary_encode(), BYTES.cast(pa.binary_view()).view(pa.string_view())])
def test_texts(tmp_path: Path, texts: pa.Array) -> None:
    assert [row.text for row in audit(replaced(tmp_path / "out", "text", texts)).worst] == ["caf\ufffd", "", None]


def test_types_that_no_run_takes_have_no_facts(tmp_path: Path) -> None:
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


VALUES = st.one_of(st.none(), st.sampled_from(["a", "b", "null", "", "1"]))


def grouped(tables: list[pa.Table], columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """The values of the group of every row."""
    codes = GroupCodes(columns)
    row_codes = np.concatenate([np.empty(0, np.int64), *(codes.codes(table) for table in tables)]).tolist()
    groups = codes.groups()
    assert len({tuple(group.items()) for group in groups}) == len(groups) == len(set(row_codes)) or not columns
    return [tuple(groups[code][c] for c in columns) for code in row_codes]


@settings(max_examples=50)
@given(st.data())
def test_windows_of_any_columns(data: st.DataObject) -> None:
    columns = tuple(f"c{i}" for i in range(data.draw(st.integers(0, 40))))
    tables = []
    for _ in range(data.draw(st.integers(1, 3))):
        n = data.draw(st.integers(0, 12))
        present = [c for c in columns if data.draw(st.integers(0, 4))]  # a window may lack a column
        drawn = {c: pa.array(data.draw(st.lists(VALUES, min_size=n, max_size=n)), pa.string()) for c in present}
        tables.append(pa.table({"row": pa.array(range(n), pa.int64()), **drawn}))
    assert grouped(tables, columns) == [
        tuple(line.get(c) for c in columns) for table in tables for line in table.to_pylist()
    ]


def test_one_group_too_many() -> None:
    table = pa.table({"a": list(range(40)) * 26, "b": [i // 40 for i in range(40 * 26)]})
    assert len(set(grouped([table.slice(0, 1000)], ("a", "b")))) == 1000
    for tables in ([table], [table.slice(0, 600), table.slice(600)]):
        with pytest.raises(UsageError, match="a, b makes more than 1000 groups"):
            grouped(tables, ("a", "b"))


def test_keys_of_partitioned_folders_group_rows(tmp_path: Path) -> None:
    """``country=…`` of the path; a column of the file is stronger than a key of the same name."""

    def table(n: int) -> pa.Table:
        return made_table(of_system(1, n, None, 100 * n, lang="x"))

    parts = {
        "country=DE/lang=de/part-0.parquet": table(10),
        "country=F%C3%B6/lang=fi/part-0.parquet": table(20),
        "country=__HIVE_DEFAULT_PARTITION__/part-0.parquet": table(5),
        "part-0.parquet": table(3),
    }
    out = finish(tmp_path / "out", parts)
    document = audit(out, AuditOptions(by=(("country",), ("lang",)), worst=50))
    rows_by_country = {
        str(figures.group.get("country")): figures.rows for figures in document.groups if "country" in figures.group
    }
    assert rows_by_country == {"Fö": 20, "DE": 10, "None": 8}
    assert [figures.rows for figures in document.groups if "lang" in figures.group] == [38]
    assert "the column 'lang' of the files is used, and hides the key 'lang' of their folders" in document.notes
    assert not any("'country'" in note for note in document.notes)
    assert {worst.group["country"] for worst in document.worst} == {"DE", "Fö", None}
    with pytest.raises(UsageError, match="country"):
        audit(out, AuditOptions(by=(("town",),)))


KINDS = [kind for kind in vars(document).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]


def keys(value: Any) -> set[str]:
    """The fields of all parts; that every value is of its type is what decoding checks."""
    if isinstance(value, msgspec.Struct):
        fields = {f"{type(value).__name__}.{name}" for name in value.__struct_fields__}
        return fields.union(*(keys(getattr(value, name)) for name in value.__struct_fields__))
    value = list(value.values()) if isinstance(value, dict) else value
    return set().union(*map(keys, value)) if isinstance(value, list | tuple) else set()


def test_every_audit_is_what_its_types_say_and_fills_every_key(tmp_path: Path) -> None:
    """Audits that between them fill every key: alone, against a night, across signatures, with gates and history."""
    facts = [("food", 0.1), ("area", 0.9)]
    rows = [row(f"t{i}" if i else "", facts, 0.2 if i % 3 else 0.9, system="ab"[i % 2], n=i % 2) for i in range(60)]
    rows += [row(f"u{s}", facts, 0.9, "shared", system=s, n=0) for s in "ab"]
    rows += [row(None, system=None, n=None), row("x", error="too_long:omission", system="a", n=0)]
    other = [{**audited, "facts": [("food", 0.9), ("area", 0.9)]} for audited in rows[:30]] + rows[40:]
    changed = [*rows[5:], row("new", [("food", 0.1)], system="c", n=3)]
    before = night(tmp_path / "before", rows)
    tonight = night(tmp_path / "tonight", changed, finished="2026-01-02T03:00:00+00:00")
    flipped = night(tmp_path / "flipped", other, by_predicate={"food": {"template": 9}, "area": {"backoff": 3}})
    across = night(tmp_path / "across", other, signature=SIGNATURE.replace("metric:1", "metric:2"))
    gates = gates_file(tmp_path, 'metric = "not_ok_rate"\nfail = 0.1\nby = ["system"]\nagainst = "baseline"')
    documents = [
        audit(before),
        audit(tonight, AuditOptions(baseline=before, gates=(gates,), history=tmp_path / "h.parquet")),
        audit(flipped, AuditOptions(baseline=before, by=(("system", "n"), ("n",)))),
        audit(across, AuditOptions(baseline=before, across_signatures=True)),
    ]
    for audited in documents:
        assert decode(encode(audited), Document, "x") == audited  # of the types that JSON has: no number of numpy's
    assert set().union(*map(keys, documents)) == {
        f"{kind.__name__}.{name}" for kind in KINDS for name in kind.__struct_fields__
    }


def test_the_site_names_every_key() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "reference.py"))["parts"]()
    sections = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^### |\Z)", page, re.MULTILINE | re.DOTALL))
    for kind in KINDS:
        assert not [key for key in kind.__struct_encode_fields__ if f"`{key}` " not in sections[kind.__name__]]
