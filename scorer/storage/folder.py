"""A local folder as a :class:`.store.Store`: every write is durable, and none goes through a symbolic link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from ..errors import OutputError
from .durable import (
    LARGEST_JSON,
    Holder,
    atomic_bytes,
    crash_point,
    output_errors,
    publish,
    refuse_links,
    sync_folder,
)
from .store_old import ABSENT, ANY, Entry


class FolderStore:
    """See :class:`.store.Store`.

    Args:
        holder: who holds the folder, asked before each rename; needed for writing, not for reading.
    """

    is_remote = False

    def __init__(self, path: Path, holder: Holder | None = None) -> None:
        self.place = path
        self._holder = holder

    def list(self, prefix: str = "") -> dict[str, Entry]:
        top = self.place / prefix if prefix else self.place
        skip = len(str(self.place)) + 1
        found = {}
        for root, _, names in os.walk(top):
            for name in names:
                path = os.path.join(root, name)  # noqa: PTH118  (a Path for each of many files takes long)
                try:
                    found[path[skip:]] = _entry(os.lstat(path))
                except FileNotFoundError:
                    continue
        return dict(sorted(found.items()))

    def list_top(self) -> Sequence[str]:
        with output_errors("look into", self.place):
            return sorted(path.name for path in self.place.iterdir()) if self.place.is_dir() else []

    def look(self, name: str) -> Entry | None:
        try:
            return _entry((self.place / name).lstat())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise OutputError(f"cannot look at {self.place / name}: {error.strerror}") from error

    def read(self, name: str) -> tuple[bytes, str] | None:
        path = self.place / name
        try:
            # Non-blocking: opening a FIFO would wait for its writer.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_JSON:
                    return None
                return file.read(), _entry(found).version
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ENXIO:
                return None
            raise OutputError(f"cannot read {path}: {error.strerror}") from error

    def put(self, name: str, data: bytes, expect: str = ANY, *, label: str = "file") -> str | None:
        if expect not in (ANY, ABSENT):
            there = self.look(name)
            if there is None or there.version != expect:
                return None
        if not atomic_bytes(self.place / name, data, label, self._holder, replace=expect != ABSENT):
            return None
        written = self.look(name)
        return written.version if written is not None else ABSENT

    def upload(self, name: str, path: Path, sha256: str, expect: str = ANY) -> str | None:
        """See :class:`.store.Store`. The file lies in the folder of its name, and was synced."""
        target = self._own(name)
        with output_errors("write", target):
            publish(path, target, "output", self._holder)
        return ABSENT  # the digest in the receipt says which version it is

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            path = self._own(name)
            with output_errors("remove", path):
                try:
                    path.unlink()
                except (FileNotFoundError, NotADirectoryError):
                    continue
                crash_point("removed")
                sync_folder(path.parent)

    def _own(self, name: str) -> Path:
        """The path of a name, which no link leads away from."""
        if self._holder is not None:
            refuse_links(self._holder.root, self.place / name)
        return self.place / name

    def open(self, name: str, entry: Entry) -> BinaryIO:
        file = (self.place / name).open("rb")
        if _entry(os.fstat(file.fileno())) != entry:
            file.close()
            raise OutputError(f"{self.place / name} changed while it was read; run again when it is complete")
        return file

    def uri(self, name: str) -> str:
        return str((self.place / name).absolute())


def _entry(found: os.stat_result) -> Entry:
    return Entry(found.st_size, f"{found.st_size}-{found.st_mtime_ns}-{found.st_ino}", found.st_mtime)
