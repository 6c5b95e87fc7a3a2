"""The formats that input files may have, and how a file's name tells which it has."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

Format = Literal["auto", "parquet", "csv", "tsv", "jsonl"]
"""``auto``: by the suffix of each file, a further ``.gz`` apart; Parquet where it tells nothing."""

PARQUET_SUFFIXES = (".parquet", ".pq", ".parq")
GZIP_SUFFIX = ".gz"
TEXT_SUFFIXES: dict[str, tuple[str, ...]] = {"csv": (".csv",), "tsv": (".tsv",), "jsonl": (".jsonl", ".ndjson")}


def format_of(name: str, given: Format) -> Format:
    """The format of a file, never ``auto``.

    Args:
        name: a path or URI.
        given: what the user said.
    """
    if given != "auto":
        return given
    for found, suffixes in TEXT_SUFFIXES.items():
        if name.lower().removesuffix(GZIP_SUFFIX).endswith(suffixes):
            return found  # type: ignore[return-value]  # the keys of the table are formats
    return "jsonl" if name.lower().removesuffix(GZIP_SUFFIX).endswith(".json") else "parquet"


def suffixes_of(given: Format) -> tuple[tuple[str, ...], ...]:
    """The suffixes of the files to take from a folder: the first of these groups that finds any.

    Without a format these are Parquet files, and all others only in a folder that has none.
    """
    if given == "parquet":
        return (PARQUET_SUFFIXES,)
    plain = [suffix for form, suffixes in TEXT_SUFFIXES.items() if given in (form, "auto") for suffix in suffixes]
    if given == "jsonl":
        plain.append(".json")
    text = tuple(found for suffix in plain for found in (suffix, suffix + GZIP_SUFFIX))
    return (PARQUET_SUFFIXES, text) if given == "auto" else (text,)


def output_name(relative: str, form: Format) -> str:
    """The path of an output, which is always Parquet: that of the input, with ``.parquet`` for the suffix of a text
    file (``a.csv.gz``: ``a.parquet``)."""
    if form == "parquet":
        return relative
    if relative.lower().endswith(GZIP_SUFFIX):
        relative = relative[: -len(GZIP_SUFFIX)]
    return str(PurePosixPath(relative).with_suffix(".parquet"))


ROW_INFO = "\0row"
"""The column in which the readers of text files tell of a row: a struct of ``error`` (why it could not be read, as the
column ``error`` has it), ``detail`` (the same for people), ``raw`` (its bytes) and ``nested`` (the columns that hold an
object or a list in it); null where there is nothing to tell. It is never passed on."""
