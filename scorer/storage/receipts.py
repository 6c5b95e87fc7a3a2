"""A shard's receipt: the file whose presence makes a shard done, and all that must agree for it to be believed.

``OUT/_receipts/<relative>.json`` is written after the shard's output has its name. ``OUT/_failed/<relative>.json``
says why a shard was set aside. Neither is trusted further than it can be checked: a receipt carries a digest of its
own content, and the output is hashed in full.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ..errors import OutputError
from ..system.formats import RECEIPT_SCHEMA as SCHEMA
from ..system.json_fields import Fields
from .canonical import digest
from .content import content_of
from .counts import Counts
from .durable import Holder, atomic_json, crash_point, output_errors, read_json, refuse_links, sync_folder
from .listing import is_hidden
from .records import Fingerprint, Identity, InputRecord, Maker, WrittenFile

RECEIPTS, FAILED = "_receipts", "_failed"
_SUFFIX = ".json"
_KNOWN_IN_SCHEMA_1 = {"relative", "input", "signature", "output", "counts", "created"}
NO_RECEIPT, DAMAGED_RECEIPT, DAMAGED_OUTPUT = "it has no receipt", "its receipt is damaged", "its output is damaged"


@dataclass(frozen=True)
class Receipt:
    """What was made of a shard.

    ``relative``: the output's path below OUT. ``input``: what was read. ``fingerprint``: what the content depends on,
    compared as a whole. ``output``: the file that was written. ``counts``: of its rows. ``plan``: digest of the plan
    it was made under. ``created``: when, UTC, ISO 8601. ``maker``: the worker, if the run was a joined one.
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
        known = cls.__dataclass_fields__.keys() - {"maker"}
        if not intact or body.keys() - {"maker"} != (known if schema == SCHEMA else _KNOWN_IN_SCHEMA_1):
            return None
        try:
            found = Fields(body, "a receipt")
            return cls(
                found.text("relative"),
                InputRecord.from_json(found.inner("input")),
                Fingerprint.of(found.inner("fingerprint").content)
                if schema == SCHEMA
                else Fingerprint.of_schema_1(body["signature"]),
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
    """The receipts and the set-aside shards of one output folder.

    Args:
        holder: who holds the folder; needed for writing and removing, not for reading.
    """

    def __init__(self, out: Path, holder: Holder | None = None) -> None:
        self._out = out
        self._holder = holder
        self._receipts = out / RECEIPTS
        self._failed = out / FAILED

    def write(self, receipt: Receipt) -> None:
        """Make a shard done. Its output must have its name by now.

        Raises:
            OutputError: the receipt cannot be written.
        """
        atomic_json(self._path(self._receipts, receipt.relative), receipt.to_json(), "receipt", self._holder)

    def read(self, relative: str) -> Receipt | None:
        """The receipt of a shard; ``None`` when there is none or it is damaged."""
        receipt = Receipt.from_json(read_json(self._path(self._receipts, relative)))
        return receipt if receipt is not None and receipt.relative == relative else None

    def remove(self, relative: str) -> None:
        """Make a shard not done."""
        self._remove(self._path(self._receipts, relative))

    def remove_all(self, relatives: Iterable[str]) -> None:
        """Make shards not done."""
        for relative in relatives:
            self.remove(relative)

    def check(self, relative: str, identity: Identity, fingerprint: Fingerprint, uri: str = "") -> Receipt | str:
        """The receipt of a shard that is done, or why it is not.

        Everything must agree: identity of the input, fingerprint, and the output's bytes, SHA-256 and row count. An
        input whose time alone changed agrees if its content does.

        Args:
            uri: of the input; without it, its content is not looked at.
        """
        receipt = self.compare(relative, identity, fingerprint, uri)
        if isinstance(receipt, str):
            return receipt
        return receipt if self.is_intact(receipt) else DAMAGED_OUTPUT

    def compare(self, relative: str, identity: Identity, fingerprint: Fingerprint, uri: str = "") -> Receipt | str:
        """As :meth:`check`, but the output is only looked for, and not read."""
        receipt = self.read(relative)
        if receipt is None:
            there = self._path(self._receipts, relative).exists()
            return DAMAGED_RECEIPT if there else NO_RECEIPT
        if why := why_not_done(receipt, identity, fingerprint, uri):
            return why
        try:
            size = (self._out / relative).lstat().st_size
        except OSError:
            size = -1
        return receipt if size == receipt.output.bytes else DAMAGED_OUTPUT

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
        """Whether a receipt's output is the file that the receipt describes, by its bytes and SHA-256.

        The file is not opened as Parquet: these are the bytes that were read back before the receipt was written. The
        receipt itself must name one number of rows.
        """
        if receipt.counts.rows.all != receipt.output.rows:
            return False
        return _is_intact(self._out / receipt.relative, receipt.output)

    def all(self) -> Iterator[str]:
        """Relative paths of all shards that have a receipt file, damaged ones included, sorted."""
        yield from _listed(self._receipts)

    def write_failed(self, relative: str, kind: str, message: str, identity: Identity | None) -> None:
        """Set a shard aside, with the reason."""
        note = FailedShard(kind, message, identity, datetime.now(UTC).isoformat(timespec="seconds"))
        atomic_json(self._path(self._failed, relative), note.to_json(relative), "failed", self._holder)

    def clear_failed(self, relative: str) -> None:
        """Forget that a shard was set aside."""
        self._remove(self._path(self._failed, relative))

    def is_settled(self, relative: str) -> bool:
        """Whether a shard has a receipt or was set aside; neither is read."""
        return self._path(self._receipts, relative).exists() or self._path(self._failed, relative).exists()

    def failed_names(self) -> list[str]:
        """Relative paths of the shards set aside, sorted."""
        return _listed(self._failed)

    def failed(self) -> dict[str, FailedShard]:
        """Shards set aside, by relative path."""
        return {
            relative: FailedShard.from_json(read_json(self._path(self._failed, relative)))
            for relative in _listed(self._failed)
        }

    def path(self, relative: str) -> Path:
        """Where the receipt of a shard lies, or would."""
        return self._path(self._receipts, relative)

    def _path(self, folder: Path, relative: str) -> Path:
        check_relative(relative)
        return folder / (relative + _SUFFIX)

    def _remove(self, path: Path) -> None:
        if self._holder is not None:
            refuse_links(self._holder.root, path)
        with output_errors("remove", path):
            try:
                path.unlink()
            except (FileNotFoundError, NotADirectoryError):
                return
            crash_point("removed")
            sync_folder(path.parent)


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


def check_relative(relative: str) -> None:
    """Refuse a path that would not lie below the output folder, or that is the name of one of its own files.

    Raises:
        OutputError: it is absolute, goes up, or has a part that begins with ``_`` or ``.``.
    """
    parts = relative.split("/")
    if relative.startswith("/") or "\0" in relative or any(not part or part[0] in "_." for part in parts):
        raise OutputError(f"{relative!r} is no path of an output: it must lie below the output folder, "
                          "and no part of it may begin with '_' or '.'")  # fmt: skip


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _same_content(record: InputRecord, identity: Identity, uri: str) -> bool:
    """Whether an input has another time than a record, and the same content."""
    if not uri or record.content is None or record.identity is None:
        return False
    touched = record.identity.changes_to(identity) == ["mtime_ns"]
    return touched and content_of(uri, identity, record.piece) == record.content


def _is_intact(path: Path, output: WrittenFile) -> bool:
    try:
        found = path.lstat()
        return stat.S_ISREG(found.st_mode) and found.st_size == output.bytes and file_sha256(path) == output.sha256
    except OSError:
        return False


def _listed(folder: Path) -> list[str]:
    """Relative paths of the shards that a folder has a file about; hidden names (``._a.json``) are left out."""
    found = []
    top = len(str(folder)) + 1
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        base = f"{root[top:]}/" if len(root) > top else ""
        found += [base + name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and not is_hidden(name)]
    return sorted(found)
