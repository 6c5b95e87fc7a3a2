"""The formats that input files may have, and how a file's name tells which it has."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

Format = Literal["auto", "parquet", "csv", "tsv", "jsonl"]
"""``auto``: by the suffix of each file; Parquet where it tells nothing."""

PARQUET_SUFFIXES = (".parquet", ".pq", ".parq")
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
        if name.lower().endswith(suffixes):
            return found  # type: ignore[return-value]
    return "parquet"


def suffixes_of(given: Format) -> tuple[tuple[str, ...], ...]:
    """The suffixes of the files to take from a folder: the first of these groups that finds any.

    Without a format these are Parquet files, and all others only in a folder that has none.
    """
    if given == "auto":
        return PARQUET_SUFFIXES, tuple(suffix for suffixes in TEXT_SUFFIXES.values() for suffix in suffixes)
    if given == "parquet":
        return (PARQUET_SUFFIXES,)
    return ((*TEXT_SUFFIXES[given], *((".json",) if given == "jsonl" else ())),)


def output_name(relative: str, form: Format) -> str:
    """The path of an output, which is always Parquet: that of the input, with ``.parquet`` for the suffix of a text
    file."""
    return relative if form == "parquet" else str(PurePosixPath(relative).with_suffix(".parquet"))
