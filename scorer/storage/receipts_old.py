"""A shard's receipt: the file whose presence makes a shard done, and all that must agree for it to be believed.

``_receipts/<relative>.json`` is written after the shard's output has its name. ``_failed/<relative>.json`` says why a
shard was quarantined. Neither is trusted further than it can be checked: a receipt carries a digest of its own content,
and the output must have the version that the store gave it, or the SHA-256 where a store gives none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import field
from msgspec.structs import replace

from ..errors import DamagedFileError, OutputError
from ..system.codec import Record, decode, encode, seal, unseal
from ..system.formats import FAILED_SCHEMA, RECEIPT_SCHEMA
from ..system.progress import sha256_of
from ..system.waiting import several
from .canonical import digest
from .counts import Counts
from .finished import FAILED, RECEIPTS, check_relative
from .folder import FolderStore
from .listing import is_hidden
from .records import Fingerprint, Identity, InputRecord, Maker, WrittenFile, content_sha256
from .store_old import ANY, Entry, Store

_SUFFIX = ".json"
_THREADS = 16
NO_RECEIPT, DAMAGED_OUTPUT = "it has no receipt", "its output is damaged"
_RECEIPT = "its receipt"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


class Receipt(Record, frozen=True, kw_only=True):
    """What was made of a shard.

    ``relative``: the output's path below OUT. ``input``: what was read. ``fingerprint``: what the content depends on,
    compared as a whole. ``output``: the file that was written. ``counts``: of its rows. ``plan``: digest of the plan
    it was made under. ``created``: when, UTC, ISO 8601. ``maker``: which run and worker made it, where, in what time.
    """

    schema: int = RECEIPT_SCHEMA
    relative: str
    input: InputRecord
    fingerprint: Fingerprint
    output: WrittenFile
    counts: Counts
    plan: str
    created: str = field(default_factory=_now)
    maker: Maker


class FailedShard(Record, frozen=True, kw_only=True):
    """Why a shard was quarantined. ``kind``: that of the error. ``identity``: of its input, ``None`` where that could
    not be opened or the note is damaged. ``created``: when, UTC, ISO 8601."""

    schema: int = FAILED_SCHEMA
    relative: str
    kind: str = ""
    message: str = ""
    identity: Identity | None = None
    created: str = ""


class Receipts:
    """The receipts and the quarantined shards of one output.

    What a remote store says of its objects is kept until :meth:`refresh` or :meth:`forget`, and a receipt is read once
    for each version.

    Args:
        store: of the output; a path is a folder that is only read.
    """

    def __init__(self, store: Store | Path) -> None:
        self._store: Store = FolderStore(store) if isinstance(store, Path) else store
        self._listed: dict[str, Entry] | None = None
        self._read: dict[str, tuple[str, Receipt | str]] = {}

    @property
    def listed(self) -> dict[str, Entry]:
        """Everything in a remote output by name, as of the last look."""
        if self._listed is None:
            self._listed = self._store.list()
        return self._listed

    def entry(self, name: str) -> Entry | None:
        """What has a name; in a remote store as of the last look."""
        return self.listed.get(name) if self._store.is_remote else self._store.look(name)

    def forget(self) -> None:
        """Look again when something is asked."""
        self._listed = None

    def refresh(self) -> None:
        """Look again, and read the receipts of a remote store whose version is not known yet, several at a time."""
        self.forget()
        if not self._store.is_remote:
            return
        found = relatives_of(self.listed, RECEIPTS)
        several(self._fetch, [one for one in found if not self._is_read(one)], _THREADS)

    def write(self, receipt: Receipt) -> None:
        """Make a shard done. Its output must have its name by now.

        Raises:
            OutputError: the receipt cannot be written.
        """
        version = self._put(receipt_name(receipt.relative), seal(receipt), "receipt")
        if version is not None and self._store.is_remote:
            self._read[receipt.relative] = version, receipt
            if self._listed is not None:
                self._listed[receipt.relative] = Entry(receipt.output.bytes, receipt.output.e_tag, 0.0)

    def read(self, relative: str) -> Receipt | None:
        """The receipt of a shard; ``None`` when there is none or it is damaged.

        Raises:
            SchemaError: it was written by another version of this program.
        """
        found = self.look(relative)
        return found if isinstance(found, Receipt) else None

    def look(self, relative: str) -> Receipt | str:
        """The receipt of a shard, or why there is none; see :meth:`read`."""
        found = self._read[relative][1] if self._is_read(relative) else self._fetch(relative)
        if isinstance(found, Receipt) and found.relative != relative:
            return f"{_RECEIPT} is that of another output"
        return found

    def remove(self, *relatives: str) -> None:
        """Make shards not done."""
        self.delete([receipt_name(relative) for relative in relatives])

    def delete(self, names: Sequence[str]) -> None:
        """Delete something of the output; in a remote store, what was there at the last look."""
        if self._store.is_remote:
            names = [name for name in names if name in self.listed]
        self._store.delete(names)
        if self._listed is not None:
            for name in names:
                self._listed.pop(name, None)

    def check(self, relative: str, identity: Identity, fingerprint: Fingerprint, uri: str = "") -> Receipt | str:
        """The receipt of a shard that is done, or why it is not.

        Everything must agree: identity of the input, fingerprint, and the output's bytes, version or SHA-256, and row
        count. An input whose time alone changed agrees if its content does.

        Args:
            uri: of the input; without it, its content is not looked at.
        """
        receipt = self.look(relative)
        if isinstance(receipt, str):
            return receipt
        if why := why_not_done(receipt, identity, fingerprint, uri):
            return why
        return receipt if self.is_intact(receipt) else DAMAGED_OUTPUT

    def renew(self, relative: str, identity: Identity) -> Receipt | None:
        """Let a receipt have the identity that its input has now, because the content is the same.

        Raises:
            OutputError: the receipt cannot be written.
        """
        receipt = self.read(relative)
        if receipt is None or receipt.input.identity == identity:
            return receipt
        receipt = replace(receipt, input=replace(receipt.input, identity=identity))
        self.write(receipt)
        return receipt

    def is_intact(self, receipt: Receipt) -> bool:
        """Whether a receipt's output is the file that the receipt describes.

        The file is not opened as Parquet: these are the bytes that were read back before the receipt was written. The
        receipt itself must name one number of rows. An output without a version in its receipt is read in full.
        """
        relative, output = receipt.relative, receipt.output
        if receipt.counts.rows.all != output.rows:
            return False
        there = self.entry(relative)
        if there is None or there.size != output.bytes:
            return False
        if output.e_tag:
            return there.version == output.e_tag
        try:
            with self._store.open(relative, there) as file:
                return sha256_of(file) == output.sha256
        except (OSError, OutputError):
            return False

    def all(self) -> Sequence[str]:
        """Relative paths of all shards that have a receipt file, damaged ones included, sorted."""
        return relatives_of(self._listing(RECEIPTS), RECEIPTS)

    def write_failed(self, relative: str, kind: str, message: str, identity: Identity | None) -> None:
        """Quarantine a shard, with the reason."""
        note = FailedShard(relative=relative, kind=kind, message=message, identity=identity, created=_now())
        self._put(failed_name(relative), encode(note, indent=1), "failed")

    def clear_failed(self, relative: str) -> None:
        """Forget that a shard was quarantined; costs nothing where it was not."""
        self.delete([failed_name(relative)])

    def failed_names(self) -> list[str]:
        """Relative paths of the quarantined shards, sorted."""
        return relatives_of(self._listing(FAILED), FAILED)

    def failed(self) -> dict[str, FailedShard]:
        """Quarantined shards, by relative path; of a damaged note, only that there is one.

        Raises:
            SchemaError: a note was written by another version of this program.
        """
        found = {}
        for relative in self.failed_names():
            content = self._store.read(failed_name(relative))
            try:
                found[relative] = decode(content[0] if content is not None else b"", FailedShard, failed_name(relative))
            except DamagedFileError:
                found[relative] = FailedShard(relative=relative)
        return found

    def _listing(self, top: str) -> dict[str, Entry]:
        return self.listed if self._store.is_remote else self._store.list(top)

    def _is_read(self, relative: str) -> bool:
        """Whether the version of a receipt that the last look showed was read, or that there is none."""
        if self._listed is None or relative not in self._read:
            return False
        there = self._listed.get(f"{RECEIPTS}/{relative}{_SUFFIX}")
        return self._read[relative][0] == (there.version if there is not None else "")

    def _fetch(self, relative: str) -> Receipt | str:
        name = receipt_name(relative)
        content = self._store.read(name)
        found: Receipt | str = NO_RECEIPT
        if content is not None:
            try:
                found = unseal(content[0], Receipt, self._store.uri(name), advice="")
            except DamagedFileError as error:
                found = _RECEIPT + str(error).removeprefix(self._store.uri(name))  # one reason for many shards
        if self._store.is_remote:
            self._read[relative] = content[1] if content is not None else "", found
        return found

    def _put(self, name: str, content: bytes, label: str) -> str | None:
        version = self._store.put(name, content, ANY, label=label)
        if version is not None and self._listed is not None:
            self._listed[name] = Entry(len(content), version, 0.0)
        return version


def receipt_name(relative: str) -> str:
    """The name of a shard's receipt.

    Raises:
        OutputError: it is not a valid output path.
    """
    check_relative(relative)
    return f"{RECEIPTS}/{relative}{_SUFFIX}"


def failed_name(relative: str) -> str:
    """The name of the note that a shard was quarantined; see :func:`receipt_name`."""
    check_relative(relative)
    return f"{FAILED}/{relative}{_SUFFIX}"


def digest_of(receipts: Iterable[Receipt]) -> str:
    """SHA-256 over what receipts say of their outputs, as hex: the content of ``_SUCCESS``."""
    return digest(sorted([one.relative, one.output.sha256, one.output.rows] for one in receipts))


def why_not_done(receipt: Receipt, identity: Identity, fingerprint: Fingerprint, uri: str = "") -> str | None:
    """Why a receipt does not hold for an input that is to be scored in some way; ``None`` if it does.

    Args:
        uri: of the input; without it, its content is not looked at.
    """
    if receipt.fingerprint != fingerprint:
        return "; ".join(receipt.fingerprint.differences(fingerprint))
    found = receipt.input.identity
    if found != identity and not _same_content(receipt.input, identity, uri):
        return f"its input changed: {', '.join(found.changes_to(identity)) if found is not None else 'identity'}"
    return None


def _same_content(record: InputRecord, identity: Identity, uri: str) -> bool:
    """Whether an input has another time than a record, and the same content."""
    if not uri or record.content is None or record.identity is None:
        return False
    touched = record.identity.changes_to(identity) == ["mtime_ns"]
    return touched and content_sha256(uri, identity) == record.content


def relatives_of(names: Iterable[str], top: str) -> list[str]:
    """The paths of the shards that files below ``top`` are about; hidden names (``._a.json``) are left out."""
    skip = len(top) + 1
    found = [one[skip : -len(_SUFFIX)] for one in names if one.startswith(f"{top}/") and one.endswith(_SUFFIX)]
    return sorted(one for one in found if not any(map(is_hidden, f"{one}{_SUFFIX}".split("/"))))
