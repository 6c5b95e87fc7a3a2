"""The bundle and the template file of a run on the nodes of a cluster.

A node that sees the driver's files under the driver's paths uses them there. Any other gets them through Ray's object
store, once, into the cache folder, where later runs find them. Both ways each file must have the driver's SHA-256. It
imports nothing of Ray: what puts parts into the object store and takes them out is given.
"""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import BundleError, ScorerError, TemplateError
from ..inference import BUILTIN_BUNDLES
from ..inference.bundle import MANIFEST, Bundle
from ..inference.verification import cache_folder
from ..scoring.settings import Settings
from ..storage.store import discard, file_sha256, temporary_name

BUNDLE, TEMPLATES = "bundle", "templates.json"
"""Names in the folder of a node: a folder, and a file."""
_PART = 64 << 20
"""Bytes of an object in the store."""

Parts = Mapping[str, Sequence[Any]]
"""References to the objects that a file consists of, by its name."""


@dataclass(frozen=True)
class SentFile:
    """A file of the driver. ``name``: below the folder of a node; ``source``: absolute path on the driver's machine."""

    name: str
    source: str
    sha256: str

    def is_at(self, path: Path) -> bool:
        """Whether a path of this machine has its content."""
        with suppress(OSError):
            return file_sha256(path) == self.sha256
        return False


def files_of(settings: Settings) -> tuple[SentFile, ...]:
    """Files that workers need besides the data: the bundle's small files, the variants that they may open (that of the
    precision, and fp32 for ``--exact`` and for rows that are not finite), and the template file.

    Raises:
        BundleError, TemplateError: something is not there, or not what was exported.
    """
    found = []
    if str(settings.bundle) not in BUILTIN_BUNDLES:
        bundle = Bundle.load(settings.bundle)
        digests = {MANIFEST: bundle.sha256, **{str(name): one for name, one in bundle.manifest.files.items()}}
        for variant in bundle.variants.values():
            if settings.precision in ("auto", variant.precision) or variant.precision == "fp32":
                digests |= {variant.file: variant.sha256, **variant.external}
        found += [SentFile(f"{BUNDLE}/{name}", str(bundle.path / name), digest) for name, digest in digests.items()]
    if isinstance(settings.templates, str | Path):
        path = Path(settings.templates)
        try:
            found.append(SentFile(TEMPLATES, str(path), file_sha256(path)))
        except OSError as error:
            raise TemplateError(f"template file {path}: {error.strerror}; give a readable JSON file") from error
    return tuple(found)


def parts_of(files: Sequence[SentFile], put: Callable[[bytes], Any]) -> Parts:
    """Put the files into the object store, in parts that a small one has room for.

    Raises:
        BundleError: a file cannot be read any more. What changed since :func:`files_of` is found by :func:`place`.
    """
    found = {}
    for sent in files:
        try:
            with Path(sent.source).open("rb") as file:
                found[sent.name] = [put(content) for content in iter(partial(file.read, _PART), b"")]
        except OSError as error:
            raise BundleError(f"{sent.source} cannot be sent to the nodes: {error.strerror}") from error
    return found


def place(files: Sequence[SentFile], parts: Parts | None, get: Callable[[Any], bytes]) -> str | None:
    """The folder of this node that has the files; empty where they are in the driver's places.

    Args:
        parts: what :func:`parts_of` gave; ``None`` to look only.
        get: takes one out of the object store.

    Returns:
        ``None`` where they are not here and were not sent.

    Raises:
        ScorerError: they cannot be written, or are not what the driver had at first.
    """
    if all(sent.is_at(Path(sent.source)) for sent in files):
        return ""
    digest = hashlib.sha256(repr([(sent.name, sent.sha256) for sent in files]).encode()).hexdigest()
    folder = cache_folder() / "sent" / digest
    if parts is None:
        return str(folder) if all(sent.is_at(folder / sent.name) for sent in files) else None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "_lock").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # of the workers of one node, one writes and the others wait
            for sent in files:
                if not sent.is_at(folder / sent.name):
                    _write(sent, folder / sent.name, map(get, parts[sent.name]))
    except OSError as error:
        raise ScorerError(
            f"the bundle cannot be written to {folder}: {error.strerror}; set XDG_CACHE_HOME in the environment of "
            "`ray start` to a folder with space, or give all nodes a bundle under the driver's path"
        ) from error
    return str(folder)


def with_files_of(settings: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Settings as a plan has them, with the files that a node has in a folder; empty for none."""
    found = dict(settings)
    for name, path in (("bundle", Path(folder, BUNDLE)), ("templates", Path(folder, TEMPLATES))):
        if folder and path.exists():
            found[name] = str(path)
    return found


def _write(sent: SentFile, path: Path, contents: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(temporary_name())
    try:
        with temporary.open("xb") as file:
            file.writelines(contents)
        if not sent.is_at(temporary):
            raise ScorerError(f"{sent.source} changed or arrived damaged; copy it again, or export the bundle again")
        temporary.replace(path)
    finally:
        discard(temporary)
