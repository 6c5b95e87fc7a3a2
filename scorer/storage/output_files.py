"""Files of scored rows: one file, opened for reading; the files of a folder; and the keys in their paths."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import InputError, OutputError
from ..system.files import sha256_of
from .receipts import ROW_RANGE, Receipt, Signature, is_output
from .store import Store

RUN_AGAIN = "; run `scorer run` again to replace it"
_NULL_KEY = "__HIVE_DEFAULT_PARTITION__"


@dataclass
class OutputFile:
    """A file of scored rows, opened when its columns or rows are asked for."""

    store: Store
    """Store of its output."""
    relative: str
    """POSIX path below the location of the store."""
    version: str | None = None
    """Version to read; ``None`` for any."""
    receipt: Receipt | None = None
    """Record of its run, with a SHA-256 that is compared at the first opening; ``None`` for a file by itself."""
    _is_hashed: bool = field(default=False, init=False, repr=False, compare=False)

    @property
    def uri(self) -> str:
        """Absolute path or URI."""
        return self.store.uri(self.relative)

    @cached_property
    def rows(self) -> int:
        """Number of its rows, from the receipt, otherwise from the footer."""
        return self._footer[0] if self.receipt is None else self.receipt.output.rows

    @property
    def schema(self) -> pa.Schema:
        """Its columns, from the footer, which is read once."""
        return self._footer[1]

    @property
    def signature(self) -> Signature:
        """Signature of its labels, from the receipt, otherwise from the footer."""
        return (
            Signature.of_footer(self.schema.metadata)
            if self.receipt is None
            else Signature.of(self.receipt.fingerprint)
        )

    @cached_property
    def _footer(self) -> tuple[int, pa.Schema]:
        with self.parquet() as file:
            return file.metadata.num_rows, file.schema_arrow

    @contextmanager
    def parquet(self) -> Iterator[pq.ParquetFile]:
        """Open it.

        Raises:
            InputError: it cannot be read, a damaged page inside included.
            OutputError: it is not the file that its receipt describes, by rows, signature or SHA-256.
        """
        advice = "" if self.receipt is None else RUN_AGAIN
        try:
            with (
                self.store.open(self.relative, self.version) as handle,
                pq.ParquetFile(handle, page_checksum_verification=True) as file,
            ):
                if self.receipt is not None:
                    _check_footer(self.uri, file, self.receipt)
                    if not self._is_hashed:
                        _check_content(self.uri, handle, self.receipt)
                        self._is_hashed = True
                yield file
        except (OSError, pa.ArrowException, UnicodeDecodeError) as e:  # the last: of names
            raise InputError(f"{self.uri} cannot be read as Parquet: {e}{advice}") from e


def _check_footer(uri: str, file: pq.ParquetFile, receipt: Receipt) -> None:
    rows, signature = file.metadata.num_rows, Signature.of_footer(file.schema_arrow.metadata)
    if rows != receipt.output.rows:
        raise OutputError(f"{uri} has {rows:,} rows, its receipt says {receipt.output.rows:,}{RUN_AGAIN}")
    if changed := ", ".join(map(str, Signature.of(receipt.fingerprint).changes_to(signature))):
        raise OutputError(f"{uri} was scored differently from what its receipt says ({changed}){RUN_AGAIN}")


def _check_content(uri: str, handle: BinaryIO, receipt: Receipt) -> None:
    """Refuse a file with a changed bit, also one that no checksum of a page covers. An object store checks its content
    by itself, and gives the version that the receipt names."""
    if receipt.output.e_tag:
        return
    handle.seek(0)
    if sha256_of(handle) != receipt.output.sha256:
        raise OutputError(f"{uri} changed after its run: its SHA-256 is not its receipt's{RUN_AGAIN}")


def data_files(path: Path) -> list[Path]:
    """The scored files of a folder in order, without hidden names; or the file itself. An
    :class:`.InputError` where there is none."""
    if not path.is_dir():
        if path.exists():
            return [path]
        raise InputError(f"{path} does not exist; give the output folder of `scorer run`, or a scored Parquet file")
    files = [
        file for file in sorted(path.rglob("*")) if file.is_file() and is_output(file.relative_to(path).as_posix())
    ]
    if not files:
        raise InputError(f"no scored file in {path}; has `scorer run --out {path}` finished a shard?")
    return files


def partition_keys(relative: str) -> dict[str, str | None]:
    """Keys and values in the path of an output file: ``country=DE/part-0.parquet`` has ``country`` with ``DE``.

    An output mirrors the paths of its inputs. The keys are not in the files, since readers of such folders (Arrow,
    DuckDB, Spark) add them from the path, and some fail when a file has them too. ``%`` escapes are decoded.
    """
    folders = ROW_RANGE.sub("", relative).split("/")[:-1]  # the folder of an input in row ranges stands for a file
    pairs = (part.partition("=") for part in folders)
    return {unquote(key): None if value == _NULL_KEY else unquote(value) for key, sep, value in pairs if key and sep}
