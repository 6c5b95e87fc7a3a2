"""Files that a user names: their paths and formats; small ones read without blocking, if they are regular files: a
FIFO could wait without limit, and opening a device may already have an effect."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal

from ..errors import UsageError
from .waiting import note_progress

Format = Literal["auto", "parquet", "csv", "tsv", "jsonl"]
"""``auto``: by the suffix of each file, a further ``.gz`` apart; Parquet where it tells nothing."""
PARQUET_SUFFIXES = (".parquet", ".pq", ".parq")
GZIP_SUFFIX = ".gz"
TEXT_SUFFIXES: dict[Format, tuple[str, ...]] = {"csv": (".csv",), "tsv": (".tsv",), "jsonl": (".jsonl", ".ndjson")}
ROW_INFO = "\0row"
"""The column of remarks on rows by the readers of text files; null for a row without a remark. A struct:

- ``error``: kind of error of a row that could not be read, as in the output column ``error``
- ``detail``: the error in words
- ``raw``: bytes of the row
- ``nested``: columns with an object or a list in this row

It does not reach the output."""
_BLOCK = 1 << 20


def user_path(name: str | Path) -> Path:
    """A path with a leading ``~`` or ``~name`` replaced, unless a file or folder of that literal name exists: shells do
    not replace ``--out=~/x``. A :class:`.UsageError` if there is no such user, or no home folder."""
    path = Path(name)
    first = path.parts[0] if path.parts else ""
    if not first.startswith("~") or os.path.lexists(first):
        return path
    try:
        return path.expanduser()
    except RuntimeError as e:
        missing = f"no user {first[1:]!r}" if first != "~" else "no home folder known"
        raise UsageError(f"{str(path)!r}: there is {missing} on this machine; write the path from / on") from e


def format_of(name: str, form: Format) -> Format:
    """The format of a file, a path or URI, under the user's choice ``form``; never ``auto``."""
    if form != "auto":
        return form
    plain = name.lower().removesuffix(GZIP_SUFFIX)
    for text_form, suffixes in TEXT_SUFFIXES.items():
        if plain.endswith(suffixes):
            return text_form
    return "jsonl" if plain.endswith(".json") else "parquet"


def suffixes_of(form: Format) -> tuple[tuple[str, ...], ...]:
    """Groups of suffixes of the files to take from a folder, which has files of the first group that finds any. Under
    ``auto`` these are Parquet files, and text files only in a folder without Parquet."""
    if form == "parquet":
        return (PARQUET_SUFFIXES,)
    plain = [
        suffix for text_form, suffixes in TEXT_SUFFIXES.items() if form in (text_form, "auto") for suffix in suffixes
    ]
    if form == "jsonl":
        plain.append(".json")
    text = tuple(name for suffix in plain for name in (suffix, suffix + GZIP_SUFFIX))
    return (PARQUET_SUFFIXES, text) if form == "auto" else (text,)


def output_name(relative: str, form: Format) -> str:
    """The path of an output, which is always Parquet: that of the input, with ``.parquet`` for the suffix of a text
    file (``a.csv.gz``: ``a.parquet``)."""
    if form == "parquet":
        return relative
    if relative.lower().endswith(GZIP_SUFFIX):
        relative = relative[: -len(GZIP_SUFFIX)]
    return str(PurePosixPath(relative).with_suffix(".parquet"))


def read_small(path: Path, largest: int) -> bytes:
    """The content of a regular file of at most ``largest`` bytes. Symbolic links are followed. An :class:`OSError` says
    in one phrase (``strerror``) why it cannot be read, also of an impossible name."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    except ValueError as e:
        raise OSError(errno.EINVAL, f"not a possible file name ({e})", str(path)) from e
    with file:  # the name may refer to a pipe by now, which gives nothing
        content = file.read(largest + 1)
    if len(content) > largest:
        raise OSError(errno.EFBIG, f"more than the {largest:,} bytes that such a file may have", str(path))
    return content


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as hex."""
    with path.open("rb") as file:
        return sha256_of(file)


def sha256_of(file: BinaryIO) -> str:
    """SHA-256 of the rest of an open file, as hex."""
    digest = hashlib.sha256()
    while block := file.read(_BLOCK):
        digest.update(block)
        note_progress()
    return digest.hexdigest()
