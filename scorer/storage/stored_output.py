"""An output that is there and is only read, in a folder or in an object store: for ``--reuse`` and ``scorer plan``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Protocol

from ..errors import OutputError
from ..system.json_fields import Fields
from .durable import read_json
from .finished import RUN
from .joined import RunReceipts
from .objects.stored_output import StoreOutput
from .objects.uri import Location
from .plan import OutputFolder
from .receipts import Receipt, Receipts
from .records import Fingerprint, Identity
from .stamps import Stamp, stamp


class OutputFile(Protocol):
    """One version of a shard's output. ``name``: for messages. ``is_remote``: whether reading can fail although the
    file is as its receipt says."""

    @property
    def name(self) -> str: ...

    @property
    def is_remote(self) -> bool: ...

    def open(self) -> IO[bytes]:
        """The file, to be closed by the caller.

        Raises:
            OutputError: another version is there. OSError: it cannot be read.
        """
        ...


class StoredOutput(Protocol):
    """An output. ``name``: the absolute path or the URI, which plans record."""

    @property
    def name(self) -> str: ...

    @property
    def receipts(self) -> RunReceipts: ...

    def read_plan(self) -> Fields | None:
        """The fields of the plan; ``None`` where there is none that can be read.

        Raises:
            OutputError: a newer version wrote it, or the output cannot be read.
        """
        ...

    def read_run(self) -> object:
        """The content of ``_run.json``; ``None`` where there is none, or it is not JSON."""
        ...

    def file(self, relative: str) -> OutputFile:
        """A shard's output as it is now.

        Raises:
            OSError: there is none.
        """
        ...

    def is_intact(self, receipt: Receipt) -> bool:
        """Whether an output is what its receipt describes; see :meth:`.Receipts.is_intact`."""
        ...

    def check(self, relative: str, identity: Identity, fingerprint: Fingerprint, uri: str) -> Receipt | str:
        """The receipt of a shard that is done, or why it is not; see :meth:`.Receipts.check`."""
        ...

    def stored(self, relatives: Iterable[str]) -> Mapping[str, str]:
        """Those of the outputs that are there, with the absolute path or the URI of each."""
        ...

    def outside_of(self, keep: Collection[str]) -> list[str]:
        """Relative paths of outputs that are there and not to be kept, sorted."""
        ...


@dataclass(frozen=True)
class LocalFile:
    """A file; see :class:`OutputFile`. ``stamp``: its :func:`.stamp` when it was looked at."""

    path: Path
    stamp: Stamp
    is_remote: bool = False

    @property
    def name(self) -> str:
        return str(self.path)

    def open(self) -> IO[bytes]:
        file = self.path.open("rb")
        try:
            if stamp(self.path) != self.stamp:
                raise OutputError(f"{self.path} changed while it was read for --reuse; run again when it is complete")
        except BaseException:
            file.close()
            raise
        return file


class FolderOutput:
    """An output in a folder; see :class:`StoredOutput`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        return str(self.path.resolve())

    @cached_property
    def receipts(self) -> Receipts:
        return Receipts(self.path)

    def read_plan(self) -> Fields | None:
        return OutputFolder.peek_plan(self.path)

    def read_run(self) -> object:
        return read_json(self.path / RUN)

    def file(self, relative: str) -> LocalFile:
        path = self.path / relative
        return LocalFile(path, stamp(path))

    def is_intact(self, receipt: Receipt) -> bool:
        return self.receipts.is_intact(receipt)

    def check(self, relative: str, identity: Identity, fingerprint: Fingerprint, uri: str) -> Receipt | str:
        return self.receipts.check(relative, identity, fingerprint, uri)

    def stored(self, relatives: Iterable[str]) -> Mapping[str, str]:
        return {one: str(path.absolute()) for one in relatives if (path := self.path / one).is_file()}

    def outside_of(self, keep: Collection[str]) -> list[str]:
        return OutputFolder.outside(self.path, keep)


def stored_output(out: Location) -> StoredOutput:
    """An output to be read. In a store, all of it is listed, and the receipts are read, when they are asked for first.

    Raises:
        OutputError: the store cannot be used.
        MissingDependencyError: ``obstore`` is not installed.
    """
    return FolderOutput(out) if isinstance(out, Path) else StoreOutput(out)
