"""The files of a bundle in an object store: read once, checked against ``bundle.json``, and written to a folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..errors import BundleError
from ..inference.manifest import MANIFEST, ListedFile
from ..storage.objects.store import ObjectStore, Stored
from ..storage.objects.uri import StoreUri
from ..storage.space import require_space

_THREADS = 8
_PART = 16 << 20
_ADVICE = "upload the whole bundle folder again"


def fetch_bundle(
    store: ObjectStore,
    place: StoreUri,
    manifest: bytes,
    files: Mapping[str, ListedFile],
    folder: Path,
    say: Callable[[str], None],
) -> None:
    """Copy a bundle to an empty folder. Sizes are compared before the first byte is read, all digests after the last.

    For each file one request looks at it, and one reads each 16 MiB of the version that was seen.

    Args:
        manifest: the content of ``bundle.json``, which is written last.
        files: what it lists.
        say: told what is fetched, and how large it is.

    Raises:
        BundleError: a file is missing, or has another size or content.
        StoreError: the store cannot be read, or a file was replaced meanwhile.
        OutputError: the disk has too little space. OSError: the folder cannot be written.
    """
    with ThreadPoolExecutor(_THREADS, "bundle") as pool:
        there = dict(zip(files, pool.map(lambda item: _look(store, place, *item), files.items()), strict=True))
        total = sum(one.size for one in there.values())
        require_space(folder, total, f"a copy of the bundle {place}")
        say(f"fetching the bundle {place}: {len(there)} files, {total / 1e6:,.1f} MB, to {folder.parent}")
        for name in there:
            (folder / name).touch(exist_ok=False)
        parts = [(one, folder / name, start) for name, one in there.items() for start in range(0, one.size, _PART)]
        list(pool.map(lambda part: _copy(store, *part), parts))
    for name, listed in files.items():
        _check(place, folder / name, listed)
    _write(folder / MANIFEST, manifest)


def _look(store: ObjectStore, place: StoreUri, name: str, listed: ListedFile) -> Stored:
    """The version of a file that is to be copied."""
    uri = place.below(name)
    found = store.head(place.key(name))
    if found is None:
        raise BundleError(f"{uri} is not there, but {MANIFEST} lists it; {_ADVICE}")
    if listed.size is not None and found.size != listed.size:
        raise BundleError(f"{uri} has {found.size:,} bytes, but {MANIFEST} says {listed.size:,}; {_ADVICE}")
    if found.size > listed.largest:
        raise BundleError(
            f"{uri} has {found.size:,} bytes, and such a file may have {listed.largest:,}; `scorer export` did not "
            "write it"
        )
    return found


def _copy(store: ObjectStore, one: Stored, path: Path, start: int) -> None:
    content = store.read_range(one.key, start, min(one.size, start + _PART), one.e_tag)
    with path.open("r+b") as file:
        file.seek(start)
        file.write(content)


def _check(place: StoreUri, path: Path, listed: ListedFile) -> None:
    """Compare the digest of a copied file, and sync it."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    if found != listed.sha256:
        raise BundleError(
            f"{place.below(path.name)} is not the file that was exported: {path.stat().st_size:,} bytes with sha256 "
            f"{found[:12]}…, but {MANIFEST} says {listed.sha256[:12]}…; {_ADVICE}"
        )


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
