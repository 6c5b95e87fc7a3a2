"""What plans and receipts record of files: what was read, what was written, and what an output depends on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import field

from ..system.codec import Count, Magnitude, Record
from ..system.progress import sha256_of
from .canonical import changes, line_parts
from .pieces import Piece


class Identity(Record, frozen=True, omit_defaults=True):
    """What identifies an input: ``size`` in bytes, ``mtime_ns`` (``None`` where a store has none), the SHA-256 of its
    Parquet footer as hex, and the version that an object store gave it (empty for local files)."""

    size: Count
    mtime_ns: int | None
    footer_sha256: str
    e_tag: str = ""

    def changes_to(self, other: Identity) -> list[str]:
        """The names of the fields in which two identities differ, sorted."""
        return [name for name in sorted(self.__struct_fields__) if getattr(self, name) != getattr(other, name)]


class InputRecord(Record, frozen=True, omit_defaults=True):
    """An input. ``identity``: ``None`` where it could not be opened. ``content``: SHA-256 of a local file as hex,
    ``None`` where it was not taken (:func:`content_sha256`). ``piece``: the rows of it, ``None`` for all."""

    uri: str
    identity: Identity | None
    content: str | None = field(name="content_sha256", default=None)
    piece: Piece | None = None


@lru_cache(maxsize=1024)
def content_sha256(uri: str, identity: Identity) -> str | None:
    """SHA-256 of a local file, as hex: it decides if the modification time alone has changed, as of a file that was
    copied, checked out or touched. The pieces of one file share what was taken once by this process.

    Returns:
        ``None`` for a URI of a store, which would have to send the whole file again, and if the file cannot be read or
        has another size or time than the identity, before or after it was read.
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


class WrittenFile(Record, frozen=True, omit_defaults=True):
    """A committed file: SHA-256 as hex, size in bytes, rows. ``e_tag``: in an object store, its version."""

    sha256: str
    bytes: Count
    rows: Count
    e_tag: str = ""


class Maker(Record, frozen=True, kw_only=True):
    """What made an output. ``run``: id of the run; ``worker``: device of the worker and host. ``origin``: where it
    computed, an object whose fields only the scorer knows. ``seconds``: by stage. ``computed``: pairs."""

    run: str
    worker: str
    origin: Mapping[str, Any]
    seconds: Mapping[str, Magnitude]
    computed: Count


class Fingerprint(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What an output depends on, compared as a whole; all in the types of JSON.

    ``signature``: its line; ``signature_parts``: all of it. ``columns``: what shapes the output's columns besides.
    ``rows``: rows to score, all when ``None``. ``reuse``: digest of the earlier outputs that labels may come from,
    empty when there are none. ``piece``: the rows of the input, ``None`` for all.
    """

    signature: str
    signature_parts: Mapping[str, Any]
    columns: Any = None
    rows: Count | None = None
    reuse: str = ""
    piece: Piece | None = None

    def differences(self, wanted: Fingerprint) -> list[str]:
        """In which parts another one differs, as ``signature differs: prec int8 → fp32``."""
        found = []
        if self.signature != wanted.signature:
            found.append(f"signature differs: {_changes(line_parts(self.signature), line_parts(wanted.signature))}")
        elif self.signature_parts != wanted.signature_parts:
            found.append(f"signature differs: {_changes(self.signature_parts, wanted.signature_parts)}")
        for name in ("columns", "reuse", "rows"):
            one, other = getattr(self, name), getattr(wanted, name)
            if one != other:
                if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
                    one, other = {name: one}, {name: other}
                found.append(f"{name} differs: {_changes(one, other)}")
        if self.piece != wanted.piece:  # each piece differs by other numbers, and one reason is told for all
            found.append("it holds other rows of its input (--split-rows)")
        return found


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    return ", ".join(changes(before, after))
