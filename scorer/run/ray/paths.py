"""``--ray``: what every node must see: the same files under the same paths, or the same object store. Checked by each
worker before it starts."""

from __future__ import annotations

import os
import secrets
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ...errors import OutputError, ScorerError
from ...storage import resolve_inputs
from ...storage.durable import discard, make_folders, output_errors, temporary_name
from ...storage.objects.store import ObjectStore, StoreError
from ...storage.objects.uri import Location, StoreUri
from ...storage.workers import CLAIMS
from ...system.closing import Closing
from ..options import RunOptions

_SAMPLES = 3
"""Inputs that are looked at: the first, one in the middle, the last."""


class Probe(Closing):
    """Something in the output that tells whether another machine sees the same output; removed at the end.

    ``place``: its path or URI. ``token``: its content.
    """

    place: str
    token: str

    @abstractmethod
    def exists(self) -> bool:
        """Whether it is there."""

    @abstractmethod
    def write(self) -> None:
        """Write it, if it is not there. The first worker of a run removes temporary files, this one too.

        Raises:
            OutputError: it cannot be written.
        """


class FolderProbe(Probe):
    """A file in the output folder; see :class:`Probe`."""

    def __init__(self, out: Path) -> None:
        self.token = secrets.token_hex(16)
        self.path = out / temporary_name()
        self.place = str(self.path)

    def exists(self) -> bool:
        return self.path.exists()

    def write(self) -> None:
        """See :class:`Probe`."""
        if not self.path.exists():
            with output_errors("write", self.path):
                make_folders(self.path.parent)
                self.path.write_text(self.token, encoding="ascii")

    def close(self) -> None:
        """Remove it."""
        discard(self.path)


class StoreProbe(Probe):
    """An object among the claims of the output; see :class:`Probe`."""

    def __init__(self, out: StoreUri) -> None:
        self.token = secrets.token_hex(16)
        self._store = ObjectStore.open(out, patient=False)
        self._key = out.key(f"{CLAIMS}/probe-{secrets.token_hex(8)}")
        self.place = str(StoreUri(out.scheme, out.bucket, self._key))

    def exists(self) -> bool:
        return self._store.head(self._key) is not None

    def write(self) -> None:
        """See :class:`Probe`."""
        self._store.put_new(self._key, self.token.encode("ascii"))

    def close(self) -> None:
        """Remove it."""
        with suppress(StoreError):  # the worker that ends the run removes it too
            self._store.delete([self._key])


def make_probe(out: Location) -> Probe:
    """A probe that is not written yet.

    Raises:
        OutputError: the store cannot be used.
        MissingDependencyError: ``obstore`` is not installed.
    """
    return FolderProbe(out) if isinstance(out, Path) else StoreProbe(out)


@dataclass(frozen=True)
class SharedPaths:
    """What a node must see.

    ``out``: the output. ``probe``, ``token``: path or URI of a file in it, and its content. ``inputs``: path, size in
    bytes and modification time in ns. ``contents``: path and SHA-256 of files that may be copies.
    """

    out: str
    probe: str
    token: str
    inputs: tuple[tuple[str, int, int], ...]
    contents: tuple[tuple[str, str], ...]

    def missing(self) -> str:
        """What this machine does not see, and how to fix it, in a sentence; empty if it sees everything."""
        place = StoreUri.parse(self.probe)
        if missing := self._output() if place is None else self._store(place):
            return missing
        for path, digest in self.contents:
            try:
                if sha256(Path(path).read_bytes()).hexdigest() != digest:
                    return f"{path} has other content on this node; copy that of the driver"
            except OSError as error:
                return f"{path} cannot be read on this node ({error.strerror}); put it under the same path"
        for path, size, modified in self.inputs:
            try:
                found = Path(path).stat()
            except OSError as error:
                return f"the input {path} cannot be read on this node ({error.strerror}); mount the same folder"
            if (found.st_size, found.st_mtime_ns) != (size, modified):
                return f"the input {path} is another file on this node (size or time differ); mount the same folder"
            if not os.access(path, os.R_OK):
                return f"the input {path} cannot be read by the user of Ray on this node; change its permissions"
        return ""

    def _output(self) -> str:
        try:
            if Path(self.probe).read_text(encoding="ascii") != self.token:
                return f"{self.out} is another folder on this node; mount the same one under this path"
        except OSError as error:
            return f"{self.out} is not the folder of the driver ({error.strerror}); mount the same one under this path"
        if not os.access(self.out, os.W_OK | os.X_OK):
            return f"{self.out} cannot be written by the user of Ray on this node; change its permissions"
        return ""

    def _store(self, place: StoreUri) -> str:
        advice = "set credentials and endpoint in the environment of `ray start` on this node"
        try:
            found = ObjectStore.open(place, patient=False).read(place.path)
        except ScorerError as error:
            return f"{self.out} cannot be used on this node ({error}); {advice}"
        if found is None or found[0] != self.token.encode("ascii"):
            return f"{self.out} is in another store on this node; {advice}"
        return ""


def shared_paths(options: RunOptions, files: Sequence[Path], probe: Probe) -> SharedPaths:
    """What the nodes must see, as this machine sees it.

    Args:
        files: the bundle's manifest, and the template file if there is one.

    Raises:
        ScorerError: an input does not exist.
        OutputError: a file cannot be read.
    """
    found = [Path(file.uri) for file in resolve_inputs(list(options.inputs), options.form) if "://" not in file.uri]
    chosen = dict.fromkeys(found[len(found) * step // _SAMPLES] for step in range(_SAMPLES)) if found else {}
    chosen |= dict.fromkeys(found[-1:])
    inputs = []
    for path in chosen:
        with output_errors("look at", path):
            stat = path.stat()
        inputs.append((str(path), stat.st_size, stat.st_mtime_ns))
    contents = []
    for path in files:
        try:
            contents.append((str(path), sha256(path.read_bytes()).hexdigest()))
        except OSError as error:
            raise OutputError(f"cannot read {path}: {error.strerror}") from error
    return SharedPaths(str(options.out), probe.place, probe.token, tuple(inputs), tuple(contents))
