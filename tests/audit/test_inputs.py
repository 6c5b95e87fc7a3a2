"""Rows that share an input: keys, design effects in the document, and rows rewritten as pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scorer.audit import AuditOptions, audit
from tests.audit.nights import Row, night, row, table
from tests.scored_outputs import finish


def shared(seed: int, inputs: int, systems: int, hard: float, text: str = "") -> list[Row]:
    """A text of each system for each input; hard inputs are wrong in every text."""
    random = np.random.default_rng(seed)
    wrong = random.random(inputs) < hard
    return [
        row(f"{text}{i} {s}", [("food", 0.1 if wrong[i] else 0.9)], subject=f"S{i}", system=f"s{s}")
        for i in range(inputs)
        for s in range(systems)
    ]


def test_texts_of_one_input_that_agree_count_as_one_row(tmp_path: Path) -> None:
    document = audit(night(tmp_path / "out", shared(1, 200, 5, 0.2)))
    everything, system = document.groups[:2]
    assert everything.design_effects["not_ok_rate"] == pytest.approx(5, rel=0.01)
    assert system.design_effects["not_ok_rate"] == 1
    one, other = everything.rates["not_ok_rate"], system.rates["not_ok_rate"]
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=2e-3)
    assert "as 200 independent rows would (design effect 5.0)" in " ".join(document.notes)


def test_without_facts_duplicates_are_known(tmp_path: Path) -> None:
    whole = table(shared(1, 300, 1, 0.2))
    bare = pa.concat_tables([whole.drop_columns(["triples"])] * 3)
    document = audit(finish(tmp_path / "out", {"part-0.parquet": bare}))
    assert document.groups[0].design_effects["not_ok_rate"] == pytest.approx(3, rel=0.01)


def test_rewritten_rows_are_compared_as_pairs(tmp_path: Path) -> None:
    """Half of the inputs are hard for every text; one in ten easy ones gets a bad text."""
    before = shared(3, 200, 1, 0.5)
    after = shared(3, 200, 1, 0.5, "other ")
    easy = [one for one in after if one["facts"][0][1] > 0.5]
    for one in easy[:10]:
        one["facts"] = [("food", 0.2)]
    document = audit(night(tmp_path / "b", after), AuditOptions(baseline=night(tmp_path / "a", before)))
    change = document.groups[0].change
    assert change is not None
    moved = change.rates["not_ok_rate"]
    assert (change.kept, change.rewritten) == (0, 200)
    assert moved.rewritten.worse == 10 and moved.rewritten.better == 0
    assert moved.significant and moved.low is not None and moved.low > 0
    assert moved.tests[0].p == pytest.approx(2**-10)  # mid-p of ten changes in one direction


def test_the_rate_of_unsupported_numbers(tmp_path: Path) -> None:
    folders = []
    for name, count in (("a", 10), ("b", 30)):
        whole = table([row(f"{name} {i}", error="too_long:omission" if i == 99 else None) for i in range(100)])
        numbers = pa.array([["7"] if i < count else [] for i in range(99)] + [None], pa.list_(pa.string()))
        folders.append(finish(tmp_path / name, {"p.parquet": whole.append_column("unsupported_numbers", numbers)}))
    gates = tmp_path / "gates.toml"
    table_of = '[[gates]]\nmetric = "{}unsupported_numbers_rate"\nfail = 0.1\nagainst = "{}"\n'
    gates.write_text(table_of.format("", "baseline") + table_of.format("added_", "removed"))
    document = audit(folders[1], AuditOptions(baseline=folders[0], gates=(gates,), history=tmp_path / "h.parquet"))
    for gate in document.gates:  # all rows are new
        assert (gate.status, gate.now, gate.before) == ("fail", 30 / 99, 10 / 99)
    assert document.history[0].rates.unsupported_numbers_rate == 30 / 99
