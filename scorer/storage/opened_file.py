"""A file of input that is open, local or in a store, and the reasons to refuse one."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from ..errors import OutputError
from ..system.waiting import Closing
from .location import StoreUri

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC_BYTES = 32
"""A format is known by so many first bytes."""
ENCRYPTED = "encrypted Parquet, for which this program takes no keys; write it unencrypted"
_OTHER_FORMATS = {
    b"PK\x03\x04": "an Excel workbook or another ZIP archive; save it as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "an Excel workbook of an old version; save it as CSV UTF-8",
    b"version https://git-lfs": "a pointer of Git LFS without the data; fetch it with `git lfs pull`",
}


class RefusedError(Exception):
    """A shard that is refused before any of its data is decoded, or at a line that cannot be read."""


class UnseenError(RefusedError):
    """An input that cannot be opened, or changed since it was first looked at, perhaps on this machine alone."""


def other_format(start: bytes) -> str | None:
    """The format of a file of another program by its first :data:`MAGIC_BYTES`, with advice; ``None`` for others."""
    return next((description for magic, description in _OTHER_FORMATS.items() if start.startswith(magic)), None)


def reason_of(error: BaseException) -> str:
    """The message of a library's exception in one line of at most 300 characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    if "decrypt" in text:  # Parquet's message for encrypted columns with a readable footer
        return ENCRYPTED
    return text if len(text) <= 300 else text[:297] + "..."


class OpenedFile(Closing):
    """A file, local or remote; :class:`RefusedError` if it cannot be opened."""

    file: pa.PythonFile
    """The open file."""
    size: int
    """Size in bytes."""
    mtime_ns: int | None
    """Time of the last change in nanoseconds; ``None`` in a store."""
    e_tag: str
    """Version of an object, which is the one that is read; empty for a local file."""

    def __init__(self, uri: str) -> None:
        import pyarrow as pa

        self._descriptor: int | None = None
        self.mtime_ns = None
        self.e_tag = ""
        location = StoreUri.parse(uri)
        try:
            if location is not None:
                from .object_store import ObjectStore

                stored = ObjectStore(StoreUri(location.scheme, location.bucket, "")).open(location.path)
                self.size, self.e_tag, _ = stored.raw.info  # type: ignore[attr-defined]  # a VersionedFile
                self.file = pa.PythonFile(stored, "r")
                return
            # Non-blocking: opening a FIFO would wait for its writer.
            self._descriptor = os.open(uri, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            status = os.fstat(self._descriptor)
        except (OSError, OutputError) as error:
            reason = error.strerror if location is None and isinstance(error, OSError) else reason_of(error)
            raise UnseenError(f"cannot be opened: {reason}") from error
        if not stat.S_ISREG(status.st_mode):
            os.close(self._descriptor)
            raise RefusedError("is not a regular file")
        self.size, self.mtime_ns = status.st_size, status.st_mtime_ns
        self.file = pa.PythonFile(os.fdopen(self._descriptor, "rb"), "r")

    def close(self) -> None:
        self.file.close()

    def changed(self) -> bool:
        """Whether a local file was written to since this object opened it."""
        if self._descriptor is None:
            return False
        status = os.fstat(self._descriptor)
        return (status.st_size, status.st_mtime_ns) != (self.size, self.mtime_ns)
