"""Write the Parquet file of a conversion, completely or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from ..errors import InputError, OutputError, UsageError
from ..storage.user_files import check_user_file, staged
from ..storage.writer import ShardWriter
from .rows import Rows

ROW_GROUP = 100_000


def check_output(out: Path, inputs: Sequence[str], force: bool) -> None:
    """Refuse an output that would overwrite something, before any work is done.

    Raises:
        UsageError: ``out`` is not the name of a Parquet file.
        OutputError: ``out`` is one of the inputs, exists and ``force`` is not set, or is a folder.
    """
    if out.suffix != ".parquet":
        raise UsageError(
            f"--out {out} is not the name of a Parquet file; write F.parquet, since `scorer run` reads those"
        )
    check_user_file(out, "--out", inputs=inputs, is_parquet=True)
    if out.exists() and not force:
        raise OutputError(f"--out {out} exists; choose another name, or replace it with --force")


def write_rows(rows: Rows, out: Path) -> None:
    """Write the table of all rows.

    Raises:
        InputError: there are no rows, or none has facts and a text that can be read.
        OutputError: it cannot be written; an earlier file of that name is unchanged.
    """
    if not len(rows):
        raise InputError(f"the inputs have no rows, so {out} was not written; check the input files")
    if not rows.readable:
        raise InputError(
            f"not one of {len(rows):,} lines has facts and a text that can be read, so {out} was not written; check "
            "that the command suits the files"
        )
    write_table(rows.table(), out)


def write_table(table: pa.Table, out: Path, what: str = "--out") -> None:
    """Write a table; ``what``: the option that named the file.

    Raises:
        OutputError: it cannot be written; an earlier file of that name is unchanged.
    """
    with staged(out, what) as place:
        writer = ShardWriter.replacing(place, table.schema)
        try:
            for start in range(0, table.num_rows, ROW_GROUP):
                writer.write(table.slice(start, ROW_GROUP))
            writer.commit()
        finally:
            writer.abandon()
