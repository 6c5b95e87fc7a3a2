"""Outputs that this process has hashed or written; they are trusted until they or their receipts are changed."""

from __future__ import annotations

from pathlib import Path

from .receipts import Receipt, Receipts
from .records import Fingerprint, Identity
from .stamps import Stamp, stamp_of


class Believed:
    """Remembers receipts together with the stamps (size, modification time, inode) of both files.

    Thus a run hashes each output only once, and still notices at its end what was removed or overwritten meanwhile.
    """

    def __init__(self, out: Path, receipts: Receipts) -> None:
        self._out = out
        self._receipts = receipts
        self._known: dict[str, tuple[Receipt, tuple[Stamp | None, Stamp | None]]] = {}

    def check(self, relative: str, identity: Identity, fingerprint: Fingerprint, uri: str = "") -> str | None:
        """Why a shard is not done; ``None`` when it is, and is remembered. See :meth:`Receipts.check`."""
        before = self._stamps(relative)
        found = self._receipts.check(relative, identity, fingerprint, uri)
        if isinstance(found, str):
            return found
        self._known[relative] = found, before
        return None

    def renew(self, relative: str, identity: Identity) -> None:
        """Let the receipt of a shard that is done have the identity of its input now; see :meth:`Receipts.renew`.

        Raises:
            OutputError: the receipt cannot be written.
        """
        receipt, (output, _) = self._known[relative]
        if receipt.input.identity != identity and (renewed := self._receipts.renew(relative, identity)) is not None:
            self._known[relative] = renewed, (output, self._stamps(relative)[1])

    def write(self, receipt: Receipt) -> None:
        """Mark a shard as done, after this process has written its output.

        Raises:
            OutputError: the receipt cannot be written.
        """
        written = stamp_of(self._out / receipt.relative)
        self._receipts.write(receipt)
        self._known[receipt.relative] = receipt, (written, self._stamps(receipt.relative)[1])

    def receipt(self, relative: str) -> Receipt | None:
        """The receipt of an output that this process hashed or wrote, if neither file has changed since."""
        receipt, before = self._known.get(relative, (None, None))
        return receipt if receipt is not None and before == self._stamps(relative) else None

    def _stamps(self, relative: str) -> tuple[Stamp | None, Stamp | None]:
        return stamp_of(self._out / relative), stamp_of(self._receipts.path(relative))
