"""An output in an object store that is only read; see :mod:`scorer.storage.stored_output`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import IO, cast

from ...system.json_fields import Fields
from ..finished import PLAN, RUN, plan_fields
from ..receipts import Receipt
from ..records import Fingerprint, Identity
from .reading import VersionedFile
from .receipts import StoreReceipts, parsed_json
from .store import ObjectStore, Stored
from .uri import StoreUri

_PART = 8 << 20


@dataclass(frozen=True)
class StoreFile:
    """One version of an object; see :class:`.OutputFile`."""

    uri: StoreUri
    stored: Stored
    is_remote: bool = True

    @property
    def name(self) -> str:
        return str(self.uri)

    def open(self) -> IO[bytes]:
        """The object. If it is replaced, reading fails; the store checks the version."""
        return cast("IO[bytes]", VersionedFile(self.uri, self.stored))


class StoreOutput:
    """An output as one listing shows it; see :class:`.StoredOutput`."""

    def __init__(self, out: StoreUri) -> None:
        self._out = out
        self._store = ObjectStore.open(out)

    @property
    def name(self) -> str:
        return str(self._out)

    @cached_property
    def receipts(self) -> StoreReceipts:
        """With all receipts read, several at a time."""
        found = StoreReceipts(self._store, self._out)
        found.refresh()
        return found

    def read_plan(self) -> Fields | None:
        return plan_fields(self._json(PLAN), str(self._out.below(PLAN)))

    def read_run(self) -> object:
        return self._json(RUN)

    def file(self, relative: str) -> StoreFile:
        found = self.receipts.listed.objects.get(relative)
        if found is None:
            raise FileNotFoundError(f"{self._out.below(relative)} is not there")
        return StoreFile(self._out.below(relative), found)

    def is_intact(self, receipt: Receipt) -> bool:
        """See :class:`.StoredOutput`. An output that another program uploaded has no version in its receipt, and is
        read in full."""
        if receipt.output.e_tag:
            return self.receipts.is_intact(receipt)
        there = self.receipts.listed.objects.get(receipt.relative)
        if there is None or (there.size, receipt.counts.rows.all) != (receipt.output.bytes, receipt.output.rows):
            return False
        content = sha256()
        for start in range(0, there.size, _PART):
            content.update(self._store.read_range(there.key, start, min(there.size, start + _PART), there.e_tag))
        return content.hexdigest() == receipt.output.sha256

    def check(self, relative: str, identity: Identity, fingerprint: Fingerprint, uri: str) -> Receipt | str:
        """See :class:`.StoredOutput`; an output is not read, because its receipt names its version."""
        return self.receipts.compare(relative, identity, fingerprint, uri)

    def stored(self, relatives: Iterable[str]) -> Mapping[str, str]:
        there = self.receipts.listed.objects
        return {one: str(self._out.below(one)) for one in relatives if one in there}

    def outside_of(self, keep: Collection[str]) -> list[str]:
        return sorted(set(self.receipts.listed.outputs).difference(keep))

    def _json(self, name: str) -> object:
        found = self._store.read(self._out.key(name))
        return parsed_json(found[0]) if found is not None else None
