"""A shard's receipt: the file whose presence makes a shard done, and all that must agree for it to be believed.

``_receipts/<relative>.json`` is written after the shard's output has its name. ``_failed/<relative>.json`` says why a
shard was quarantined. Neither is trusted further than it can be checked: a receipt carries a digest of its own content,
and the output must have the version that the store gave it, or the SHA-256 where a store gives none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ..errors import OutputError
from ..system.formats import RECEIPT_SCHEMA as SCHEMA
from ..system.json_fields import Fields
from .canonical import digest
from .content import content_of
from .counts import Counts
from .durable import json_bytes
from .folder import FolderStore
from .listing import is_hidden
from .receipt_files import FAILED, RECEIPTS, check_relative
from .records import Fingerprint, Identity, InputRecord, Maker, WrittenFile
from .store import ANY, Entry, Store

_SUFFIX = ".json"
_THREADS = 16
NO_RECEIPT, DAMAGED_RECEIPT, DAMAGED_OUTPUT = "it has no receipt", "its receipt is damaged", "its output is damaged"


@dataclass(frozen=True)
class Receipt:
    """What was made of a shard.

    ``relative``: the output's path below OUT. ``input``: what was read. ``fingerprint``: what the content depends on,
    compared as a whole. ``output``: the file that was written. ``counts``: of its rows. ``plan``: digest of the plan
    it was made under. ``created``: when, UTC, ISO 8601. ``maker``: which run and worker made it, where, in what time.
    """

    relative: str
    input: InputRecord
    fingerprint: Fingerprint
    output: WrittenFile
    counts: Counts
    plan: str = ""
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    maker: Maker | None = None

    def to_json(self) -> dict[str, object]:
        """The receipt as a JSON object, with a digest of its content."""
        content = {
            "schema": SCHEMA,
            "relative": self.relative,
            "input": self.input.to_json(),
            "fingerprint": self.fingerprint.to_json(),
            "output": self.output.to_json(),
            "counts": self.counts.to_json(),
            "plan": self.plan,
            "created": self.created,
        }
        if self.maker is not None:
            content["maker"] = self.maker.to_json()
        return {**content, "digest": digest(content)}

    @classmethod
    def from_json(cls, content: object) -> Receipt | None:
        """A receipt from its JSON object; ``None`` when it is damaged or of another schema."""
        if not isinstance(content, dict):
            return None
        body = {key: value for key, value in content.items() if key != "digest"}
        try:
            intact = content.get("digest") == digest(body)
        except (ValueError, RecursionError):  # not-a-number, or nested too deeply: no receipt of ours
            return None
        schema = body.pop("schema", None)
        if not intact or schema != SCHEMA or body.keys() | {"maker"} != cls.__dataclass_fields__.keys():
            return None
        try:
            found = Fields(body, "a receipt")
            return cls(
                found.text("relative"),
                InputRecord.from_json(found.inner("input")),
                Fingerprint.of(found.inner("fingerprint").content),
                WrittenFile.from_json(found.inner("output")),
                Counts.from_json(found.inner("counts")),
                found.text("plan"),
                found.text("created"),
                Maker.from_json(maker) if (maker := found.optional_inner("maker")) is not None else None,
            )
        except OutputError:
            return None


@dataclass(frozen=True)
class FailedShard:
    """Why a shard was set aside. ``kind``: that of the error. ``identity``: of its input, ``None`` where that could not
    be opened or the note is damaged. ``created``: when, UTC, ISO 8601."""

    kind: str = ""
    message: str = ""
    identity: Identity | None = None
    created: str = ""

    def to_json(self, relative: str) -> dict[str, object]:
        """As the content of the note about the output ``relative``."""
        return {
            "schema": 1,
            "relative": relative,
            "kind": self.kind,
            "message": self.message,
            "identity": self.identity.to_json() if self.identity is not None else {},
            "created": self.created,
        }

    @classmethod
    def from_json(cls, content: object) -> FailedShard:
        """From the content of a note; one without a field is what is left of a damaged note."""
        try:
            found = Fields.of(content, "a note")
            identity = Identity.from_json(found.inner("identity"))
            return cls(found.text("kind"), found.text("message"), identity, found.text("created"))
        except OutputError:
            return cls()


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
        self._read: dict[str, tuple[str, Receipt | None]] = {}

    @property
    def listed(self) -> dict[str, Entry]:
        """Everything in the output by name; of a remote store as of the last look."""
        if not self._store.is_remote:
            return self._store.list()
        if self._listed is None:
            self._listed = self._store.list()
        return self._listed

    def forget(self) -> None:
        """Look again when something is asked."""
        self._listed = None

    def refresh(self) -> None:
        """Look again, and read the receipts of a remote store whose version is not known yet, several at a time."""
        self.forget()
        if not self._store.is_remote:
            return
        listed = self.listed
        names = [one for one in _relatives(listed, RECEIPTS) if self._read.get(one, ("",))[0] != _version(listed, one)]
        with ThreadPoolExecutor(_THREADS, "receipts") as pool:
            for _ in pool.map(self._fetch, names):
                pass

    def write(self, receipt: Receipt) -> None:
        """Make a shard done. Its output must have its name by now.

        Raises:
            OutputError: the receipt cannot be written.
        """
        name = receipt_name(receipt.relative)
        version = self._store.put(name, json_bytes(receipt.to_json()), ANY, label="receipt")
        if version is not None and self._store.is_remote:
            self._read[receipt.relative] = version, receipt
            if self._listed is not None:
                self._listed[name] = Entry(0, version, 0.0)
                self._listed[receipt.relative] = Entry(receipt.output.bytes, receipt.output.e_tag, 0.0)

    def read(self, relative: str) -> Receipt | None:
        """The receipt of a shard; ``None`` when there is none or it is damaged."""
        check_relative(relative)
        known = self._read.get(relative)
        if self._listed is not None and known is not None and known[0] == _version(self._listed, relative):
            receipt = known[1]
        else:
            receipt = self._fetch(relative)
        return receipt if receipt is not None and receipt.relative == relative else None

    def remove(self, relative: str) -> None:
        """Make a shard not done."""
        self._delete([receipt_name(relative)])

    def remove_all(self, relatives: Iterable[str]) -> None:
        """Make shards not done; in a remote store, those that had a receipt at the last look."""
        names = [receipt_name(relative) for relative in relatives]
        if self._store.is_remote:
            names = [name for name in names if name in self.listed]
        self._delete(names)

    def check(self, relative: str, identity: Identity, fingerprint: Fingerprint, uri: str = "") -> Receipt | str:
        """The receipt of a shard that is done, or why it is not.

        Everything must agree: identity of the input, fingerprint, and the output's bytes, version or SHA-256, and row
        count. An input whose time alone changed agrees if its content does.

        Args:
            uri: of the input; without it, its content is not looked at.
        """
        receipt = self.read(relative)
        if receipt is None:
            name = receipt_name(relative)
            there = name in self.listed if self._store.is_remote else self._store.look(name) is not None
            return DAMAGED_RECEIPT if there else NO_RECEIPT
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

    def agrees(self, relative: str, identity: Identity, fingerprint: Fingerprint) -> Receipt | None:
        """The receipt of a shard that is done, or ``None``; see :meth:`check`."""
        found = self.check(relative, identity, fingerprint)
        return found if isinstance(found, Receipt) else None

    def is_intact(self, receipt: Receipt) -> bool:
        """Whether a receipt's output is the file that the receipt describes.

        The file is not opened as Parquet: these are the bytes that were read back before the receipt was written. The
        receipt itself must name one number of rows. An output without a version in its receipt is read in full.
        """
        relative, output = receipt.relative, receipt.output
        if receipt.counts.rows.all != output.rows:
            return False
        there = self.listed.get(relative) if self._store.is_remote else self._store.look(relative)
        if there is None or there.size != output.bytes:
            return False
        return there.version == output.e_tag if output.e_tag else self._store.sha256(relative) == output.sha256

    def all(self) -> Sequence[str]:
        """Relative paths of all shards that have a receipt file, damaged ones included, sorted."""
        return _relatives(self._listing(RECEIPTS), RECEIPTS)

    def write_failed(self, relative: str, kind: str, message: str, identity: Identity | None) -> None:
        """Quarantine a shard, with the reason."""
        note = FailedShard(kind, message, identity, datetime.now(UTC).isoformat(timespec="seconds"))
        self._store.put(failed_name(relative), json_bytes(note.to_json(relative)), ANY, label="failed")
        self.forget()

    def clear_failed(self, relative: str) -> None:
        """Forget that a shard was quarantined; costs nothing where it was not."""
        name = failed_name(relative)
        if not self._store.is_remote or name in self.listed:
            self._delete([name])

    def failed_names(self) -> list[str]:
        """Relative paths of the quarantined shards, sorted."""
        return _relatives(self._listing(FAILED), FAILED)

    def failed(self) -> dict[str, FailedShard]:
        """Quarantined shards, by relative path."""
        found = {}
        for relative in self.failed_names():
            content = self._store.read(failed_name(relative))
            found[relative] = FailedShard.from_json(parsed_json(content[0] if content is not None else b""))
        return found

    def _listing(self, top: str) -> dict[str, Entry]:
        return self.listed if self._store.is_remote else self._store.list(top)

    def _fetch(self, relative: str) -> Receipt | None:
        content = self._store.read(receipt_name(relative))
        receipt = Receipt.from_json(parsed_json(content[0])) if content is not None else None
        if self._store.is_remote:
            self._read[relative] = content[1] if content is not None else "", receipt
        return receipt

    def _delete(self, names: Sequence[str]) -> None:
        self._store.delete(names)
        for name in names if self._listed is not None else ():
            self._listed.pop(name, None)  # type: ignore[union-attr]  # it is there


def receipt_name(relative: str) -> str:
    """The name of a shard's receipt.

    Raises:
        OutputError: it is no path of an output.
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


def parsed_json(content: bytes) -> object:
    """The content of a JSON file; ``None`` if it is none."""
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found


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
    return touched and content_of(uri, identity, record.piece) == record.content


def _version(listed: dict[str, Entry], relative: str) -> str:
    found = listed.get(f"{RECEIPTS}/{relative}{_SUFFIX}")
    return found.version if found is not None else ""


def _relatives(names: Iterable[str], top: str) -> list[str]:
    """The paths of the shards that files below ``top`` are about; hidden names (``._a.json``) are left out."""
    skip = len(top) + 1
    found = [one[skip : -len(_SUFFIX)] for one in names if one.startswith(f"{top}/") and one.endswith(_SUFFIX)]
    return sorted(one for one in found if not any(map(is_hidden, f"{one}{_SUFFIX}".split("/"))))
