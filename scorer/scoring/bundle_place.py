"""Where a bundle is: a word for a model that ships, a local folder, or a place in an object store.

A bundle in a store is copied to the user's cache folder, once for all processes of a machine. Its folder there is named
by the SHA-256 of ``bundle.json``, which holds the hashes of all other files. So a copy never changes; a bundle that is
replaced in the store is another folder, and each start reads ``bundle.json`` from the store to see which one is meant.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path

from ..errors import BundleError
from ..inference.manifest import LARGEST_FILES, MANIFEST, ListedFile, listed_files, parse_manifest
from ..inference.shipped import SHIPPED, folder_of
from ..storage.kept_folder import keep_folder
from ..storage.local_paths import local_path
from ..storage.objects.uri import StoreUri
from ..system.cache_folder import bundle_cache
from ..system.files import read_small


def bundle_argument(given: str, what: str) -> str:
    """A bundle as a plan records it, from an option or argument: a word, an absolute path, or the URI of a store.

    Args:
        what: the option or argument, for messages.

    Raises:
        UsageError: a URI of another kind, or one with credentials or a query.
    """
    if given in SHIPPED:
        return given
    place = StoreUri.parse(given)
    return str(place) if place is not None else str(local_path(given, what).resolve())


def local_bundle(bundle: str | Path, say: Callable[[str], None] = lambda message: None) -> Path:
    """The folder of a bundle on this machine; one in an object store is fetched, unless the cache has it.

    If the cache has it, the only request is the one for ``bundle.json``. What is not a store's is not looked at.

    Args:
        bundle: a word for a model that ships, a path, or a URI of a store.
        say: told that something is fetched, or that another process is fetching it.

    Raises:
        BundleError: there is no bundle at the URI, a file of it is missing or not what ``bundle.json`` says, or the
            cache folder cannot be written.
        StoreError: the store cannot be reached, or refuses. OutputError: the disk has too little space.
        UsageError: a URI with credentials or a query. MissingDependencyError: ``obstore`` is not installed.
    """
    place = StoreUri.parse(bundle) if isinstance(bundle, str) else None
    return folder_of(bundle) if place is None else _fetched(place, say)


def _fetched(place: StoreUri, say: Callable[[str], None]) -> Path:
    from ..storage.objects.store import ObjectStore
    from .bundle_fetch import fetch_bundle

    store = ObjectStore.open(place, patient=False)
    found = store.read(place.key(MANIFEST))
    if found is None or len(found[0]) > LARGEST_FILES[MANIFEST]:
        raise BundleError(
            f"no bundle at {place}: {MANIFEST} is not there or too large; give the URI to which a folder of "
            "`scorer export` was uploaded"
        )
    manifest = found[0]
    where = str(place.below(MANIFEST))
    files = listed_files(parse_manifest(manifest, where), where)
    folder = bundle_cache() / sha256(manifest).hexdigest()
    try:
        keep_folder(
            folder,
            partial(_is_complete, folder, manifest, files),
            lambda empty: fetch_bundle(store, place, manifest, files, empty, say),
            lambda: say(f"waiting for another process, which is fetching the bundle {place}"),
        )
    except OSError as error:
        raise BundleError(
            f"the bundle {place} cannot be copied to {folder.parent}: {error.strerror or error}; set XDG_CACHE_HOME to "
            "a folder with space that this user can write"
        ) from error
    return folder


def _is_complete(folder: Path, manifest: bytes, files: Mapping[str, ListedFile]) -> bool:
    """Whether a copy is there; its content is checked when the bundle is loaded."""
    try:
        if read_small(folder / MANIFEST, LARGEST_FILES[MANIFEST]) != manifest:
            return False
        found = {name: (folder / name).lstat() for name in files}
    except OSError:
        return False
    return all(stat.S_ISREG(found[name].st_mode) and listed.size in (None, found[name].st_size)
               for name, listed in files.items())  # fmt: skip
