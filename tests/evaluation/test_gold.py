from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from scorer.errors import ColumnError, OutputError
from scorer.evaluation.gold import Scored, find_inputs, load
from scorer.metric import ColumnNames
from scorer.scoring.outputs import Output
from tests.audit.nights import night, row
from tests.evaluation.scored import SIGNATURE, save, scored


def _scored(**columns: object) -> Scored:
    return Scored(pa.table(columns), None, True)


def test_inputs_are_sets_of_facts() -> None:
    rows = [["a | p | b", "a | q | c"], ["a | q | c", "a|p|b"], ["a | p | b"], None, None]
    found = find_inputs(_scored(triples=pa.array(rows)), ColumnNames())
    assert found.codes[0] == found.codes[1] != found.codes[2]
    assert len({*found.codes.tolist()}) == 4, "rows without facts are inputs of their own"
    assert found.lengths is not None and found.lengths.tolist() == [2, 2, 1, 0, 0]
    assert find_inputs(_scored(mr=["name[X], food[Y]", "name[X], food[Z]"]), ColumnNames()).codes.tolist() == [0, 1]
    sentences = pa.array([["A is x.", "A is y."], ["A is y.", "A is x."], ["A is x."], None])
    assert find_inputs(_scored(facts=sentences), ColumnNames()).codes.tolist() == [0, 0, 1, 2]
    attributes = ['{"name": "p", "x": 1}', '{"x": 1.0, "name": "p"}', '{"name": "p", "x": 2}']
    assert find_inputs(_scored(attributes=attributes), ColumnNames()).codes.tolist() == [0, 0, 1]
    other = find_inputs(_scored(facts=[["a | p | b"]]), ColumnNames(triples="facts"))
    assert other.known and other.codes.tolist() == [0]


def test_inputs_without_facts() -> None:
    table = _scored(fact_entailment=pa.array([[0.5, 0.2], None], pa.list_(pa.float32())), mr_id=[7, 7])
    bare = find_inputs(table, ColumnNames())
    assert not bare.known and bare.codes.tolist() == [0, 1]
    named = find_inputs(table, ColumnNames(), "mr_id")
    assert named.known and named.codes.tolist() == [0, 0]
    assert bare.lengths is None
    with pytest.raises(ColumnError, match="--input-column 'y': no such column"):
        find_inputs(table, ColumnNames(), "y")


def test_columns_that_exist_in_the_order_of_files_of_a_folder_or_a_run(tmp_path: Path) -> None:
    save(scored(["OK"], gold_fine=["OK"]), tmp_path / "b.parquet")
    save(scored(["omission"], gold_fine=["OK"]), tmp_path / "a" / "a.parquet")
    found = load(Output.open(tmp_path), ["fine", "absent"])
    assert found.table.to_pydict() == {"fine": ["omission", "OK"]}
    assert found.signature == SIGNATURE and found.finished
    out = night(tmp_path / "out", [row()])
    (out / "_SUCCESS").unlink()
    with pytest.raises(OutputError, match=r"not finished: it has no _SUCCESS.*--allow-partial"):
        Output.open(out)
    assert not load(Output.open(out, allow_partial=True)).finished
