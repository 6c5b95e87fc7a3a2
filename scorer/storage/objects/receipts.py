"""Receipts and notes about shards set aside, in an object store; see :mod:`scorer.storage.receipts`.

A receipt is read once for each version of its object. An output is not read back: its receipt names the version that
the store gave it, and a listing shows whether that version is still there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ..durable import json_bytes
from ..listing import is_hidden
from ..receipts import (
    DAMAGED_OUTPUT,
    DAMAGED_RECEIPT,
    FAILED,
    NO_RECEIPT,
    RECEIPTS,
    FailedShard,
    Receipt,
    check_relative,
    why_not_done,
)
from ..records import Fingerprint, Identity
from .store import ObjectStore, Stored
from .uri import StoreUri

_SUFFIX = ".json"
_THREADS = 16


@dataclass(frozen=True)
class Listed:
    """All objects of an output at one time, by their path below it."""

    objects: Mapping[str, Stored]

    @property
    def outputs(self) -> list[str]:
        """The paths without a part that begins with ``_`` or ``.``, sorted."""
        return sorted(name for name in self.objects if not any(map(is_hidden, name.split("/"))))


class StoreReceipts:
    """The receipts and the set-aside shards of one output; see :class:`.RunReceipts`."""

    def __init__(self, store: ObjectStore, out: StoreUri) -> None:
        self._store, self._out = store, out
        self._listed: Listed | None = None
        self._read: dict[str, tuple[str, Receipt | None]] = {}

    @property
    def listed(self) -> Listed:
        """All objects, listed once until :meth:`refresh`."""
        if self._listed is None:
            skip = len(self._out.key("x")) - 1
            self._listed = Listed({one.key[skip:]: one for one in self._store.below(self._out.path)})
        return self._listed

    def forget(self) -> None:
        """List all objects again when they are asked for."""
        self._listed = None

    def refresh(self) -> None:
        """List all objects again, and read the receipts whose version is not known yet.

        Raises:
            StoreError: the store refuses.
        """
        self.forget()
        names = [name for name in self._of(RECEIPTS) if self._read.get(name, ("",))[0] != self._version(name)]
        with ThreadPoolExecutor(_THREADS, "receipts") as pool:
            for _ in pool.map(self._fetch, names):
                pass

    def all(self) -> list[str]:
        """See :meth:`.Receipts.all`; one listing."""
        return self._names(RECEIPTS)

    def failed_names(self) -> list[str]:
        """See :meth:`.Receipts.failed_names`; one listing."""
        return self._names(FAILED)

    def remember(self, receipt: Receipt, version: str) -> None:
        """Take over a receipt that this process has written."""
        self._read[receipt.relative] = version, receipt

    def is_settled(self, relative: str) -> bool:
        """Whether a shard has a receipt."""
        return self._store.head(self._key(RECEIPTS, relative)) is not None

    def read(self, relative: str) -> Receipt | None:
        """See :meth:`.Receipts.read`; a receipt that was read since the last :meth:`refresh` is not read again."""
        known = self._read.get(relative)
        if self._listed is None or known is None or known[0] != self._version(relative):
            self._fetch(relative)
        receipt = self._read[relative][1]
        return receipt if receipt is not None and receipt.relative == relative else None

    def known(self, relative: str) -> tuple[str, str]:
        """The versions of a receipt and of its output in the listing; empty where there is none."""
        there = self.listed.objects.get(relative)
        return self._version(relative), there.e_tag if there is not None else ""

    def compare(self, relative: str, identity: Identity, fingerprint: Fingerprint, uri: str = "") -> Receipt | str:
        """See :meth:`.Receipts.compare`."""
        if f"{RECEIPTS}/{relative}{_SUFFIX}" not in self.listed.objects:
            return NO_RECEIPT
        receipt = self.read(relative)
        if receipt is None:
            return DAMAGED_RECEIPT
        why = why_not_done(receipt, identity, fingerprint, uri)
        return why or (receipt if self.is_intact(receipt) else DAMAGED_OUTPUT)

    def renew(self, relative: str, identity: Identity) -> Receipt | None:
        """See :meth:`.Receipts.renew`."""
        receipt = self.read(relative)
        if receipt is None or receipt.input.identity == identity:
            return receipt
        receipt = replace(receipt, input=replace(receipt.input, identity=identity))
        version = self._store.publish(self._key(RECEIPTS, relative), json_bytes(receipt.to_json()), lambda: None)
        self.forget()
        self.remember(receipt, version)
        return receipt

    def is_intact(self, receipt: Receipt) -> bool:
        """Whether the output is the version that the receipt names, as of the last listing."""
        there, output = self.listed.objects.get(receipt.relative), receipt.output
        if there is None or receipt.counts.rows.all != output.rows:
            return False
        return (there.size, there.e_tag) == (output.bytes, output.e_tag)

    def remove(self, relative: str) -> None:
        """Make a shard not done."""
        self._store.delete([self._key(RECEIPTS, relative)])

    def remove_all(self, relatives: Iterable[str]) -> None:
        """Make those of the shards not done that have a receipt in the listing; one request for a thousand."""
        keys = [f"{RECEIPTS}/{relative}{_SUFFIX}" for relative in relatives]
        self._store.delete(self._out.key(key) for key in keys if key in self.listed.objects)

    def write_failed(self, relative: str, kind: str, message: str, identity: Identity | None) -> None:
        """Set a shard aside, with the reason."""
        note = FailedShard(kind, message, identity, datetime.now(UTC).isoformat(timespec="seconds"))
        self._store.publish(self._key(FAILED, relative), json_bytes(note.to_json(relative)), lambda: None)

    def clear_failed(self, relative: str) -> None:
        """Forget that a shard was set aside."""
        self._store.delete([self._key(FAILED, relative)])

    def failed(self) -> dict[str, FailedShard]:
        """Shards set aside, by relative path."""
        found = {}
        for relative in self.failed_names():
            content = self._store.read(self._key(FAILED, relative))
            found[relative] = FailedShard.from_json(parsed_json(content[0] if content is not None else b""))
        return found

    def key(self, relative: str) -> str:
        """The key of a receipt."""
        return self._key(RECEIPTS, relative)

    def _fetch(self, relative: str) -> None:
        content = self._store.read(self._key(RECEIPTS, relative))
        if content is None:
            self._read[relative] = "", None
        else:
            self._read[relative] = content[1], Receipt.from_json(parsed_json(content[0]))

    def _version(self, relative: str) -> str:
        found = self.listed.objects.get(f"{RECEIPTS}/{relative}{_SUFFIX}")
        return found.e_tag if found is not None else ""

    def _of(self, top: str) -> list[str]:
        return _relatives(list(self.listed.objects), f"{top}/")

    def _names(self, top: str) -> list[str]:
        prefix = self._out.key(top)
        return _relatives([one.key for one in self._store.below(prefix)], f"{prefix}/")

    def _key(self, top: str, relative: str) -> str:
        check_relative(relative)
        return self._out.key(f"{top}/{relative}{_SUFFIX}")


def _relatives(keys: list[str], prefix: str) -> list[str]:
    """The paths of the shards that keys are about; hidden names are left out."""
    found = [one[len(prefix) : -len(_SUFFIX)] for one in keys if one.startswith(prefix) and one.endswith(_SUFFIX)]
    return sorted(one for one in found if not any(map(is_hidden, one.split("/"))))


def parsed_json(content: bytes) -> object:
    """The content of a JSON object; ``None`` if it is none."""
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found
