"""A data set, a run over it, and what a night over that run must come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.faults.harness import SCHEMA
from tests.run.calls import bytes_of, run

SHARD = 40
Before = tuple[Path, Path]
"""Inputs, and the output of a run over them."""


def rows(numbers: list[int] | range, *, edited: bool = False) -> pa.Table:
    """A row a number, with error rows and noted rows among them; an edited row says something else."""
    triples = [
        [{"subject": f"N{i}", "predicate": "eatType", "object": f"pub {i % 3 + j}"} for j in range(1 + i % 3)]
        for i in numbers
    ]
    texts = [
        None if i % 20 == 7 else "" if i % 20 == 8 else f"N{i} is {'no ' * edited}pub {i % 4}, they say."
        for i in numbers
    ]
    return pa.table([texts, list(numbers), triples], schema=SCHEMA)


def full_run(data: Path, out: Path, bundle: Path, *more: Any) -> Path:
    run(data, out, bundle, *more)
    return out


def assert_labels_of(full_out: Path, out: Path, prefix: str = "") -> pa.Table:
    """All columns of all rows are those of a run that reused nothing; returns the rows of ``out``."""
    assert bytes_of(full_out).keys() == bytes_of(out).keys()
    tables = []
    for name in bytes_of(out):
        full, found = pq.read_table(full_out / name), pq.read_table(out / name)
        assert found.schema.equals(full.schema, check_metadata=True)
        assert found.drop_columns(f"{prefix}reused").equals(full.drop_columns(f"{prefix}reused")), name
        tables.append(found.drop_columns("triples"))
    counted, full_counts = (json.loads((folder / "_run.json").read_text()) for folder in (out, full_out))
    for key in ("labels", "facts", "signature"):
        assert counted[key] == full_counts[key]
    together = pa.concat_tables(tables)
    assert counted["rows"]["in"] == len(together)
    assert counted["rows"]["reused"] == sum(together[f"{prefix}reused"].to_pylist())
    assert counted["rows"]["reused"] + counted["rows"]["scored"] == full_counts["rows"]["scored"]
    for key in ("in", "errors", "notes"):
        assert counted["rows"][key] == full_counts["rows"][key]
    return together


def replaced(table: pa.Table, name: str, row: int, value: Any) -> pa.Table:
    column = table[name].to_pylist()
    column[row] = value
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(place), pa.array(column).cast(table.schema.field(place).type))
