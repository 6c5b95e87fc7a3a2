"""The Parquet file of a shard: written under a temporary name, read back, checked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import OutputError
from ..system.files import sha256_of
from .receipts import WrittenFile
from .store import crash_point, create_file, discard, output_errors, sync_folder, temporary_name

COMPRESSION_LEVEL = 1


class ShardWriter:
    """Writer of one Parquet file. The same tables, schema and metadata give the same bytes.

    Args:
        temporary: the file to write, which does not exist yet.
        schema: of all tables; its metadata is kept.
        metadata: added to the footer's key/value metadata; overrides the schema's.
        path: the final name of the file, for messages.

    Raises:
        OutputError: the file cannot be created.
    """

    def __init__(
        self, temporary: Path, schema: pa.Schema, *, metadata: Mapping[str, str] | None = None, path: Path
    ) -> None:
        self._temporary, self._path = temporary, path
        self._metadata = {key.encode(): value.encode() for key, value in (metadata or {}).items()}
        self._schema = schema.with_metadata({**(schema.metadata or {}), **self._metadata})
        self._rows = 0
        self._file: BinaryIO | None = None
        self._parquet: pq.ParquetWriter | None = None
        with output_errors("write", self._path):
            self._file = create_file(temporary)
        with self._or_abandoned():
            self._parquet = pq.ParquetWriter(
                self._file,
                self._schema,
                compression="zstd",
                compression_level=COMPRESSION_LEVEL,
                write_page_checksum=True,
                store_schema=True,
            )

    def write(self, table: pa.Table) -> None:
        """Append a table as one row group; one without rows adds nothing.

        Raises:
            OutputError: it cannot be written, or has another schema; the file is abandoned.
        """
        if self._parquet is None:
            raise OutputError(f"{self._path}: the file was finished or abandoned and cannot be written to")
        if not table.schema.equals(self._schema):
            self.abandon()
            raise OutputError(f"{self._path}: the columns of a later window differ from those of the first")
        if not table.num_rows:
            return
        with self._or_abandoned():
            self._parquet.write_table(table, row_group_size=table.num_rows)
        self._rows += table.num_rows

    def finish(self) -> WrittenFile:
        """Close, sync, read back and check the file, and leave it under its temporary name.

        Raises:
            OutputError: one of these steps failed; the file is deleted, and not synced a second time.
        """
        if self._parquet is None or self._file is None:
            raise OutputError(f"{self._path}: the file was finished or abandoned and cannot be finished")
        with self._or_abandoned():
            crash_point("output", "written")
            self._parquet.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            # Opened here and not by pyarrow, which takes some names for URIs and cannot open names that are not UTF-8.
            with self._temporary.open("rb") as file:
                size, digest = os.fstat(file.fileno()).st_size, sha256_of(file)
                found = pq.ParquetFile(file)
                metadata, names = found.metadata, found.schema_arrow.names
            if metadata.num_rows != self._rows:
                raise OSError(f"{metadata.num_rows} rows were read back, {self._rows} written")
            if names != self._schema.names:
                raise OSError(f"the columns {names} were read back")
            if not self._metadata.items() <= (metadata.metadata or {}).items():
                raise OSError("the metadata was not read back as written")
        self._parquet = self._file = None
        return WrittenFile(digest, size, self._rows)

    @contextmanager
    def _or_abandoned(self) -> Iterator[None]:
        """Throw the file away when anything inside fails."""
        try:
            with output_errors("write", self._path):
                yield
        except pa.ArrowException as error:
            self.abandon()
            raise OutputError(f"cannot write {self._path} as Parquet: {error}") from error
        except OutputError:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Delete the file; does nothing after :meth:`finish`."""
        parquet, self._parquet = self._parquet, None
        file, self._file = self._file, None
        if file is None:
            return
        # Closing writes a footer. This may fail as the writes before it did, but the file is deleted anyway.
        if parquet is not None:
            with suppress(OSError, pa.ArrowException):
                parquet.close()
        with suppress(OSError):
            file.close()
        discard(self._temporary)


def write_parquet(path: Path, tables: Sequence[pa.Table], metadata: Mapping[str, str] | None = None) -> WrittenFile:
    """Write tables of one schema, each as a row group, to a Parquet file that appears only when it is complete.

    Raises:
        OutputError: it cannot be written; an earlier file is unchanged.
    """
    temporary = path.with_name(temporary_name())
    writer = ShardWriter(temporary, tables[0].schema, metadata=metadata, path=path)
    try:
        for table in tables:
            writer.write(table)
        written = writer.finish()
        with output_errors("write", path):
            temporary.replace(path)
            sync_folder(path.parent)
        return written
    finally:
        writer.abandon()
        discard(temporary)
