"""Write the output of a shard: a Parquet file that appears only when it is complete and checked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BufferedWriter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import OutputError
from .durable import Holder, crash_point, discard, file_sha256, open_temporary, output_errors, publish
from .records import WrittenFile

COMPRESSION_LEVEL = 1


class ShardWriter:
    """Writes one Parquet file. The same tables, schema and metadata give the same bytes.

    Nothing appears at ``path`` before :meth:`commit`; until then the bytes are in a temporary file in the same folder.

    Args:
        schema: of all tables; its metadata is kept.
        metadata: added to the footer's key/value metadata; overrides the schema's.
        holder: of the output folder that will contain the file; checked again before the file gets its name.

    Raises:
        OutputError: the file cannot be created.
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        *,
        metadata: Mapping[str, str] | None = None,
        holder: Holder | None = None,
    ) -> None:
        self._path = path
        self._holder = holder
        self._metadata = {key.encode(): value.encode() for key, value in (metadata or {}).items()}
        self._schema = schema.with_metadata({**(schema.metadata or {}), **self._metadata})
        self._rows = 0
        self._file: BufferedWriter | None = None
        self._parquet: pq.ParquetWriter | None = None
        with output_errors("write", path):
            self._temporary, self._file = open_temporary(path, holder)
            try:
                self._parquet = pq.ParquetWriter(
                    self._file,
                    self._schema,
                    compression="zstd",
                    compression_level=COMPRESSION_LEVEL,
                    write_page_checksum=True,
                    store_schema=True,
                )
            except (OSError, pa.ArrowException):
                self.abandon()
                raise

    def write(self, table: pa.Table) -> None:
        """Append a table as one row group; one without rows adds nothing.

        Raises:
            OutputError: it cannot be written, or has another schema; the file is abandoned.
        """
        if self._parquet is None:
            raise OutputError(f"{self._path}: the file was committed or abandoned and cannot be written to")
        if not table.schema.equals(self._schema):
            self.abandon()
            raise OutputError(f"{self._path}: the columns of a later window differ from those of the first")
        if not table.num_rows:
            return
        with self._or_abandoned():
            self._parquet.write_table(table, row_group_size=table.num_rows)
        self._rows += table.num_rows

    def commit(self) -> WrittenFile:
        """Close, sync, read back and check the file, then give it its name.

        Raises:
            OutputError: one of these steps failed; the file is deleted, and not synced a second time.
        """
        written, temporary = self.finish()
        with output_errors("write", self._path):
            publish(temporary, self._path, "output", self._holder)
        return written

    def finish(self) -> tuple[WrittenFile, Path]:
        """Close, sync, read back and check the file, and leave it under its temporary name, which is the caller's now.

        Raises:
            OutputError: one of these steps failed; the file is deleted, and not synced a second time.
        """
        if self._parquet is None or self._file is None:
            raise OutputError(f"{self._path}: the file was committed or abandoned and cannot be committed")
        with self._or_abandoned():
            crash_point("output.written")
            self._parquet.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            written = self._check()
        self._parquet = self._file = None
        return written, self._temporary

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
        """Delete what was written. Does nothing after a commit."""
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

    def _check(self) -> WrittenFile:
        """Read the file back, and check its rows, its schema and its metadata; returns its digest and size."""
        size = self._temporary.stat().st_size
        digest = file_sha256(self._temporary)
        # Opened here and not by pyarrow, which takes some names for URIs and cannot open names that are not UTF-8.
        with self._temporary.open("rb") as file, pq.ParquetFile(file) as found:
            if found.metadata.num_rows != self._rows:
                raise OSError(f"{found.metadata.num_rows} rows were read back, {self._rows} written")
            if found.schema_arrow.names != self._schema.names:
                raise OSError(f"the columns {found.schema_arrow.names} were read back")
            kept = found.metadata.metadata or {}
            if any(kept.get(key) != value for key, value in self._metadata.items()):
                raise OSError("the metadata was not read back as written")
        return WrittenFile(digest, size, self._rows)
