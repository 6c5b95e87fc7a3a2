"""The content of an input, for the case that its modification time alone has changed.

A file that is copied, checked out or touched has the same rows and another time. Its SHA-256 decides then. It is taken
of local files alone: a store would have to send the whole file again.
"""

from __future__ import annotations

import os
from functools import lru_cache

from ..system.progress import sha256_of
from .records import Identity


@lru_cache(maxsize=1024)
def content_sha256(uri: str, identity: Identity) -> str | None:
    """SHA-256 of a local file, as hex. The pieces of one file share what was taken once by this process.

    Returns:
        ``None`` for a URI of a store, and if the file cannot be read or has another size or time than the identity,
        before or after it was read.
    """
    if "://" in uri:
        return None
    try:
        with open(uri, "rb") as file:  # noqa: PTH123  (names that are not UTF-8 stay as they are)
            before = os.fstat(file.fileno())
            digest = sha256_of(file)
            after = os.fstat(file.fileno())
    except (OSError, ValueError):
        return None
    times = {(found.st_size, found.st_mtime_ns) for found in (before, after)}
    return digest if times == {(identity.size, identity.mtime_ns)} else None
