"""Seven nights over a data set that changes, through the real commands and the embedded model: what rings, and what
does not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from scorer.audit.document import Document
from scorer.commands import app
from scorer.system.codec import decode
from tests.bundles import RESTAURANTS

STRUCT = pa.struct([("subject", pa.string()), ("predicate", pa.string()), ("object", pa.string())])
NAMES = ("The Wrestlers", "Blue Spice", "The Mill", "Cocum", "The Punter", "Loch Fyne", "The Eagle", "Zizzi")
INPUTS = list(product(NAMES, ("coffee shop", "pub"), ("Italian", "French", "Japanese"), ("riverside", "city centre")))[
    ::2
]
FORMS = {
    "ann": "{name} is a {kind} that serves {food} food in the {area} area.",
    "bob": "{name} is a {kind} in the {area} serving {food} food.",
    "cat": "In the {area} area there is a {kind} called {name}, which serves {food} food.",
}
WITHOUT_FOOD = "{name} is a {kind} in the {area}."
EDITED = "{name} is a {kind} in the {area} area that serves {food} food."
GATES = """
[[gates]]
metric = "not_ok_rate"
warn = 0.02
fail = 0.10
by = ["system"]
against = "baseline"
min_rows = 20

[[gates]]
metric = "label_flips"
fail = 0
"""
ALWAYS = """
[[gates]]
metric = "empty_rate"
fail = 0.05
by = ["system"]

[[gates]]
metric = "backoff_rate"
fail = 0.2
"""

Key = tuple[str, int]


class Week:
    """The data set as it stands, one shard a system, and the nights over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.form: dict[Key, str] = {(s, i): FORMS[s] for s in FORMS for i in range(40)}
        self.passed: Path | None = None
        self.finished: Path | None = None
        self.rang: list[Any] = []
        (folder / "gates.toml").write_text(GATES)
        (folder / "always.toml").write_text(ALWAYS)

    def write(self) -> None:
        for system in FORMS:
            chosen = [(INPUTS[i], form) for (s, i), form in sorted(self.form.items()) if s == system]
            rows = [(dict(zip(("name", "kind", "food", "area"), one, strict=True)), form) for one, form in chosen]
            triples = [
                [
                    {"subject": slots["name"], "predicate": predicate, "object": slots[slot]}
                    for predicate, slot in (("eatType", "kind"), ("food", "food"), ("area", "area"))
                ]
                for slots, _ in rows
            ]
            table = pa.table(
                {
                    "system": [system] * len(rows),
                    "triples": pa.array(triples, pa.list_(STRUCT)),
                    "text": [form.format(**slots) for slots, form in rows],
                }
            )
            (self.folder / "data").mkdir(exist_ok=True)
            pq.write_table(table, self.folder / "data" / f"{system}.parquet")

    def night(self, name: str, *run_options: Any) -> tuple[Document | None, str, int]:
        """Score and audit: the document (``None`` when refused), stderr of the audit, its exit code."""
        self.write()
        out = self.folder / name
        reuse = ("--reuse", self.finished) if self.finished else ()
        command = ["run", self.folder / "data", "--out", out, "--bundle", str(RESTAURANTS), *reuse, *run_options]
        ran = CliRunner().invoke(app, [str(one) for one in command])
        assert ran.exit_code == 0, ran.output
        gates = ["--gates", self.folder / "always.toml", "--history", self.folder / "history.parquet", "--json"]
        if self.passed:
            gates += ["--baseline", self.passed, "--gates", self.folder / "gates.toml"]
        audited = CliRunner().invoke(app, [str(one) for one in ["audit", out, *gates]])
        self.finished = out
        if audited.exit_code == 0:
            self.passed = out
        document = decode(audited.stdout.encode(), Document, "--json") if audited.exit_code < 2 else None
        return document, audited.stderr, audited.exit_code


def changes(document: Document) -> tuple[int, int, int, int]:
    found = document.baseline_changes
    return found.kept, found.added, found.removed, found.flips.count


def alarms(document: Document) -> list[tuple[str, str, str]]:
    """Gates that rang and callouts that warn: kind, system (or all), and for gates the metric. That the model is the
    embedded one is told every night."""
    rang = [("gate", g.metric, g.group.get("system", "all")) for g in document.gates if g.status in ("warn", "fail")]
    called = [(c.kind, "", c.group.get("system", "all")) for c in document.callouts if c.severity != "info"]
    return rang + [one for one in called if one[0] not in ("gate", "bundle")]


@pytest.fixture
def week(tmp_path: Path) -> Week:
    return Week(tmp_path)


@pytest.mark.slow
def test_a_week(week: Week) -> None:
    def set_form(system: str, numbers: Iterable[int], form: str) -> None:
        week.form.update({(system, i): form for i in numbers})

    # Monday: the first night; nothing to compare with.
    document, _, code = week.night("mon")
    assert document is not None
    assert (code, document.status, alarms(document)) == (0, "pass", [])
    assert (document.rows.scored, document.rows.reused) == (120, 0)

    # Tuesday: rows edited, added, removed, all of them good: nothing rings.
    set_form("ann", range(5), EDITED)
    set_form("bob", range(40, 44), FORMS["bob"])
    for i in (37, 38, 39):
        del week.form["cat", i]
    document, _, code = week.night("tue")
    assert document is not None
    assert changes(document) == (112, 9, 8, 0)
    assert (code, alarms(document)) == (0, [])
    assert (document.rows.scored, document.rows.reused) == (9, 112)

    # Wednesday: bob's new version forgets the food.
    before = dict(week.form)
    set_form("bob", range(44), WITHOUT_FOOD)
    document, stderr, code = week.night("wed")
    assert document is not None
    assert (code, document.status) == (1, "fail")
    assert "1 of" in stderr
    assert alarms(document) == [
        ("gate", "not_ok_rate", "bob"),
        ("regression", "", "all"),
        ("regression", "", "bob"),
        ("drift", "", "all"),
        ("drift", "", "bob"),
    ]
    assert changes(document)[:3] == (77, 44, 44)
    # It is bob who forgets, not the template that is wrong.
    predicates = {p.predicate: p for p in document.groups[0].predicates}
    assert predicates["food"].omission.count == 44
    assert not any(p.suspect for p in predicates.values())
    worst = [row for row in document.worst if row.kind == "omission"]
    assert {row.group["system"] for row in worst} == {"bob"}
    assert {f.predicate for row in worst for f in row.facts if f.omitted} == {"food"}

    # Thursday: bob is fixed; compared with the last night that passed, nothing has changed but one edit.
    week.form = before
    set_form("cat", [0], EDITED)
    document, _, code = week.night("thu")
    assert document is not None
    assert (code, alarms(document)) == (0, [])
    assert document.baseline.out.endswith("tue")
    assert changes(document) == (120, 1, 1, 0)

    # Friday: somebody changes the template file; the nights do not compare, and the audit says why.
    templates = week.folder / "templates.json"
    templates.write_text(
        json.dumps(
            {
                "eatType": "<subject> is a <object>.",
                "food": "<subject> serves <object> food.",
                "area": "<subject> is near Burger King and has a low customer rating.",
            }
        )
    )
    document, stderr, code = week.night("fri", "--templates", templates)
    assert (document, code) == (None, 2)
    assert "templates: " in stderr
    assert "--across-signatures" in stderr
    # Compared all the same, the bad template shows as one predicate failing everywhere.
    across = ["audit", week.folder / "fri", "--baseline", week.folder / "thu", "--across-signatures", "--json"]
    result = CliRunner().invoke(app, [str(one) for one in across])
    document = decode(result.stdout.encode(), Document, "--json")
    assert [c.message for c in document.callouts if c.kind == "template"] == ["the template of 'area' looks wrong"]
    assert document.callouts[0].kind == "signature"
    assert document.groups[0].change.rates["not_ok_rate"].tests[0].name == "mcnemar"

    # Saturday: the old templates again, and cat says nothing at all.
    set_form("cat", range(37), "")
    document, stderr, code = week.night("sat", "--reuse", week.folder / "thu")
    assert document is not None, stderr
    assert code == 1
    assert [one for one in alarms(document) if one[0] == "gate"] == [
        ("gate", "empty_rate", "cat"),
        ("gate", "not_ok_rate", "cat"),
    ]
    assert {one[2] for one in alarms(document)} == {"cat", "all"}
    assert not any(c.kind == "template" for c in document.callouts)
    assert document.rows.notes == {"empty_text": 37}

    # Sunday: cat speaks again; two rows more, and nothing rings.
    set_form("cat", range(37), FORMS["cat"])
    set_form("ann", (40, 41), FORMS["ann"])
    document, _, code = week.night("sun", "--reuse", week.folder / "thu")
    assert document is not None
    assert (code, document.status, alarms(document)) == (0, "pass", [])
    assert changes(document) == (120, 3, 1, 0)

    # The history has the nights that could be audited, with what they came to.
    history = pq.read_table(week.folder / "history.parquet").to_pylist()
    everything = [(line["status"], round(line["not_ok_rate"], 2)) for line in history if line["group"] == "{}"]
    assert everything == [("pass", 0.0), ("pass", 0.0), ("fail", 0.36), ("pass", 0.0), ("fail", 0.31), ("pass", 0.0)]
