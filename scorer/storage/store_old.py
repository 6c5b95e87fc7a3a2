"""The place that holds an output: what a folder and an object store have in common.

Names are paths below the output, with slashes. A version is a short text that changes whenever what has a name is
replaced. A write says what it expects to replace; it returns ``None``, and writes nothing, where something else is
there. Two stores: :class:`.folder.FolderStore` and :class:`.objects.store.BucketStore`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from .location import Location

ANY: Final = "*"
"""Expected version of a write that replaces whatever is there."""
ABSENT: Final = ""
"""Expected version of a write that replaces nothing."""


@dataclass(frozen=True)
class Entry:
    """What has a name. ``size`` in bytes; ``modified``: seconds since 1970 on the store's clock."""

    size: int
    version: str
    modified: float


class Store(Protocol):
    """One output. All methods raise :class:`.OutputError` if the store cannot be used."""

    @property
    def place(self) -> Location: ...

    @property
    def is_remote(self) -> bool:
        """Whether a question is a request to another machine, so that answers are kept and several asked at once."""
        ...

    def list(self, prefix: str = "") -> dict[str, Entry]:
        """All that is below a prefix (``_receipts``), by name, sorted; everything without one."""
        ...

    def list_top(self) -> Sequence[str]:
        """Names of what is directly here, folders too, sorted."""
        ...

    def look(self, name: str) -> Entry | None:
        """What has a name; ``None`` where nothing has."""
        ...

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Content and version of something small."""
        ...

    def put(self, name: str, data: bytes, expect: str = ANY, *, label: str = "file") -> str | None:
        """Write something small, durably; returns its version. ``label``: names the step, for tests of crashes."""
        ...

    def upload(self, name: str, path: Path, sha256: str, expect: str = ANY) -> str | None:
        """Give a complete local file, which disappears, its name here; returns its version.

        What is there already counts as written where it has the same SHA-256 and its store says so.
        """
        ...

    def delete(self, names: Iterable[str]) -> None:
        """Delete; names of nothing are passed over."""
        ...

    def open(self, name: str, entry: Entry) -> BinaryIO:
        """One version, to be read; a later one makes reading fail.

        Raises:
            OSError: it cannot be read.
        """
        ...

    def uri(self, name: str) -> str:
        """Absolute path or URI."""
        ...
