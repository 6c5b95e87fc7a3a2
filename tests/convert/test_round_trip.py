"""Real data, written out in its published form and converted back, gives the triples it was prepared with."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from tests.convert.conftest import Convert, Write

COLUMNS = ["mr", "text", "system", "triples"]


def test_e2e_primary(shared_data: Path, tmp_path: Path, write: Write, convert: Convert) -> None:
    table = pq.read_table(shared_data / "e2e_primary.parquet", columns=COLUMNS)
    rows = table.to_pylist()
    assert not any(mark in row[key] for row in rows for key in ("mr", "text") for mark in "\t\n\r")
    systems: dict[str, list[str]] = {}
    for row in rows:
        systems.setdefault(row["system"], []).append(f"{row['mr']}\t{row['text']}\n")
    paths = [write(f"{system}.tsv", "MR\toutput\n" + "".join(lines)) for system, lines in systems.items()]
    result = convert("e2e", *paths)
    assert "0 malformed lines" in result.err
    assert [{key: row[key] for key in COLUMNS} for row in result.rows] == [
        {**row, "text": row["text"].strip()} for row in rows
    ]
