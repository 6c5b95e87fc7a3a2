"""Run in the environment with the package ``deltalake``: makes a table of several versions, and says its rows.

``make FOLDER``: version 0 has two countries, 1 appends, 2 deletes, 3 rewrites small files into one.
``rows FOLDER VERSION``: prints the column ``id`` of a version as JSON, as the package itself reads it.
"""

from __future__ import annotations

import json
import sys

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, write_deltalake


def table(first: int, country: str, n: int = 2) -> pa.Table:
    ids = range(first, first + n)
    return pa.table({
        "id": pa.array(ids, pa.int64()),
        "text": [f"Row {i} is a pub." for i in ids],
        "facts": [[f"Row {i} is a pub."] for i in ids],
        "country": [country] * n,
    })  # fmt: skip


def make(folder: str) -> None:
    both = pa.concat_tables([table(0, "DE"), table(10, "a b")])
    write_deltalake(folder, both, partition_by=["country"])
    write_deltalake(folder, table(20, "DE"), mode="append")
    DeltaTable(folder).delete("id = 1")
    DeltaTable(folder).optimize.compact()


def rows(folder: str, version: int) -> list[int]:
    # Not by to_pyarrow_table: threads of pyarrow then call into Python, and some processes abort as they end.
    query = QueryBuilder().register("rows", DeltaTable(folder, version=version)).execute("select id from rows")
    return sorted(pa.table(query.read_all())["id"].to_pylist())


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        sys.stdout.write(json.dumps(rows(sys.argv[2], int(sys.argv[3]))))
