"""Receipts of shards: their content, and why a shard is not done.

``_receipts/<relative>.json`` is written after a shard's output has its name; it makes the shard done. A receipt carries
a digest of its own content and names the SHA-256 and the size of the output. ``_failed/<relative>.json`` says why a
shard was quarantined.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

from msgspec import field

from ..errors import OutputError
from ..system.codec import Count, Magnitude, Record
from ..system.formats import FAILED_SCHEMA, RECEIPT_SCHEMA
from ..system.progress import sha256_of
from .counts import Counts

RECEIPTS, FAILED = "_receipts", "_failed"
NO_RECEIPT, DAMAGED_OUTPUT = "it has no receipt", "its output is damaged"
_SUFFIX = ".json"
_SHOWN = 40

Groups = tuple[Count, Count]
"""First row group and end, of an input that ``--split-rows`` divides."""


class Identity(Record, frozen=True, omit_defaults=True):
    """Identity of an input: ``size`` in bytes, ``mtime_ns`` (``None`` where a store has none), SHA-256 of its Parquet
    footer as hex, and the version that an object store gave it (empty for local files)."""

    size: Count
    mtime_ns: int | None
    footer_sha256: str
    e_tag: str = ""

    def changes_to(self, other: Identity) -> list[str]:
        """The names of the fields in which two identities differ, sorted."""
        return [name for name in sorted(self.__struct_fields__) if getattr(self, name) != getattr(other, name)]


class InputRecord(Record, frozen=True, omit_defaults=True):
    """An input. ``identity``: ``None`` if it could not be opened. ``content_sha256``: of a local file, ``None`` if it
    was not taken. ``groups``: the row groups that were read, ``None`` for all."""

    uri: str
    identity: Identity | None
    content_sha256: str | None = None
    groups: Groups | None = None


class WrittenFile(Record, frozen=True, omit_defaults=True):
    """A complete file: SHA-256 as hex, size in bytes, rows. ``e_tag``: its version in an object store."""

    sha256: str
    bytes: Count
    rows: Count
    e_tag: str = ""


class Provenance(Record, frozen=True, kw_only=True):
    """Origin of an output. ``run``: id of the run; ``worker``: device of the worker. ``origin``: where it computed, an
    object whose fields only the scorer knows. ``seconds``: by stage. ``computed``: pairs."""

    run: str
    worker: str
    origin: Mapping[str, Any]
    seconds: Mapping[str, Magnitude]
    computed: Count


class Fingerprint(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that an output depends on besides the content of its input, in the types of JSON.

    ``signature``: its line; ``signature_parts``: all of it, with whole digests. ``columns``: other settings that shape
    the output's columns. ``rows``: limit of the rows that are scored, ``None`` for all. ``reuse``: digest of the
    earlier outputs that labels may come from, empty without any. ``groups``: row groups, ``None`` for all.
    """

    signature: str
    signature_parts: Mapping[str, Any]
    columns: Any = None
    rows: Count | None = None
    reuse: str = ""
    groups: Groups | None = None

    def has_signature_of(self, other: Fingerprint) -> bool:
        """Whether labels under both compare."""
        return (self.signature, self.signature_parts) == (other.signature, other.signature_parts)

    def differences(self, wanted: Fingerprint) -> list[str]:
        """The parts in which another one differs, as ``signature differs: prec int8 → fp32``."""
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
        if self.groups != wanted.groups:  # other numbers for each shard, and one reason covers all
            found.append("it has other rows of its input (--split-rows)")
        return found


class Receipt(Record, frozen=True, kw_only=True):
    """Record of a finished shard.

    ``relative``: the output's path below OUT. ``input``: the input that was read. ``output``: the file that was
    written. ``counts``: of its rows. ``plan``: digest of the plan it was made under. ``created``: UTC, ISO 8601.
    """

    schema: int = RECEIPT_SCHEMA
    relative: str
    input: InputRecord
    fingerprint: Fingerprint
    output: WrittenFile
    counts: Counts
    plan: str
    created: str = ""
    provenance: Provenance


class FailedShard(Record, frozen=True, kw_only=True):
    """Record of a quarantined shard. ``kind``: that of the error. ``identity``: of its input, ``None`` if that could
    not be opened. ``created``: UTC, ISO 8601."""

    schema: int = FAILED_SCHEMA
    relative: str
    kind: str = ""
    message: str = ""
    identity: Identity | None = None
    created: str = field(default_factory=lambda: utc_now())


def why_outdated(receipt: Receipt, identity: Identity | None, wanted: Fingerprint, uri: str = "") -> str | None:
    """Why a receipt does not cover an input that is to be scored; ``None`` if it does.

    Its counts must be those of the output, its fingerprint the wanted one, and its input the same: the same size and
    footer, and either the same time and version or the same content.

    Args:
        uri: of the input, whose content is read where only its time changed; empty: it is not read.
    """
    if receipt.counts.rows.all != receipt.output.rows:
        return DAMAGED_OUTPUT
    if receipt.fingerprint != wanted:
        return "; ".join(receipt.fingerprint.differences(wanted))
    found = receipt.input.identity
    if found is not None and found == identity:
        return None
    if found is None or identity is None:
        return "its input changed: identity"
    changed, content = found.changes_to(identity), receipt.input.content_sha256
    if changed == ["mtime_ns"] and uri and content is not None and content_sha256(uri, identity) == content:
        return None
    return f"its input changed: {', '.join(changed)}"


@lru_cache(maxsize=1024)
def content_sha256(uri: str, identity: Identity) -> str | None:
    """SHA-256 of a local file, as hex, which tells a touched file from a changed one.

    The ranges of one file share what was taken once by this process.

    Returns:
        ``None`` for an object of a store, which would have to be sent again, and for a file that cannot be read or has
        another size or time than the identity, before or after it was read.
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


def digest_of(receipts: Iterable[Receipt]) -> str:
    """SHA-256 over the outputs of receipts, as hex: the content of ``_SUCCESS``."""
    return digest(sorted([one.relative, one.output.sha256, one.output.rows] for one in receipts))


def is_output(relative: str) -> bool:
    """Whether a path may be that of an output: not absolute, not upwards, and no part begins with ``_`` or ``.``."""
    parts = relative.split("/")
    return "\0" not in relative and all(part and part[0] not in "_." for part in parts)


def check_relative(relative: str) -> None:
    """Refuse a path that would not lie below the output folder, or that is the name of one of its own files.

    Raises:
        OutputError: see :func:`is_output`.
    """
    if not is_output(relative):
        raise OutputError(
            f"{relative!r} is not a valid output path: it must be inside the output folder, and no part of it may "
            "begin with '_' or '.'"
        )


def receipt_name(relative: str) -> str:
    """Name of a shard's receipt; raises :class:`OutputError` for a path that no output has."""
    check_relative(relative)
    return f"{RECEIPTS}/{relative}{_SUFFIX}"


def failed_name(relative: str) -> str:
    """Name of the record that a shard was quarantined; see :func:`receipt_name`."""
    check_relative(relative)
    return f"{FAILED}/{relative}{_SUFFIX}"


def relatives_of(names: Iterable[str], folder: str) -> list[str]:
    """The shards whose records are in a folder (:data:`RECEIPTS`, :data:`FAILED`), sorted; hidden files are skipped."""
    skip = len(folder) + 1
    found = [one[skip : -len(_SUFFIX)] for one in names if one.startswith(f"{folder}/") and one.endswith(_SUFFIX)]
    return sorted(filter(is_output, found))


def utc_now() -> str:
    """The present time, UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def canonical(content: Any) -> str:
    """Content as JSON with sorted keys, without blanks, in ASCII; equal content has equal text. Tuples are lists.

    Raises:
        TypeError, ValueError: content that JSON cannot represent, such as NaN.
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(content: Any) -> str:
    """SHA-256 of :func:`canonical` content, as hex."""
    return sha256(canonical(content).encode("ascii")).hexdigest()


def json_round_trip(content: Any) -> Any:
    """Content as it would be read back from JSON, for comparison with content that was read."""
    return json.loads(canonical(content))


def line_parts(line: str) -> dict[str, str]:
    """The parts of a signature line (``key:value|key:value``) by key."""
    return dict(part.partition(":")[::2] for part in line.split("|"))


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The keys in which two objects differ, sorted, as ``key value → value``; long values and digests are shortened.

    A nested object is compared key by key. If the shortened values are equal, only the key is named.
    """
    found = []
    for key in sorted({*before, *after}):
        one, other = before.get(key), after.get(key)
        if one == other:
            continue
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += changes(one, other)
            continue
        shown = _shown(one), _shown(other)
        found.append(f"{key} {shown[0]} → {shown[1]}" if shown[0] != shown[1] else key)
    return found


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    return ", ".join(changes(before, after))


def _shown(value: Any) -> str:
    """A value on one line of bounded length; digests in a list are shortened to twelve digits."""
    if value is None:
        return "none"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value[:4]))}{', ...' if len(value) > 4 else ''}]"
    text = value if isinstance(value, str) else canonical(value)
    if len(text) == 64 and all(c in "0123456789abcdef" for c in text):
        return text[:12]
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
