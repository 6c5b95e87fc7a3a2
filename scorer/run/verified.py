"""Outputs that this process has hashed or written; they are trusted until they or their receipts are replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..storage import Fingerprint, Receipt, SeenOutput
from ..storage.receipts_old import receipt_name
from .survey import Shard

Versions = tuple[str, str]


class VerifiedOutputs:
    """Remembers receipts together with the versions of both files.

    Thus a run hashes each output only once, and still notices at its end what was removed or overwritten meanwhile.
    """

    def __init__(self, output: SeenOutput) -> None:
        self._output = output
        self._known: dict[str, tuple[Receipt, Versions]] = {}

    def check(self, shard: Shard, fingerprint: Fingerprint) -> str | None:
        """Why a shard is not done; ``None`` when it is, and is remembered. See :meth:`.Receipts.check`."""
        relative = shard.file.relative
        before = self._versions(relative)
        found = self._output.receipts.check(relative, shard.info.identity, fingerprint, shard.file.uri)
        if isinstance(found, str):
            return found
        self._known[relative] = found, before
        return None

    def why_not_done(self, shards: Iterable[Shard], fingerprint: Callable[[Shard], Fingerprint]) -> dict[str, str]:
        """By relative path, why shards are not done; see :meth:`check`."""
        checked = {shard.file.relative: self.check(shard, fingerprint(shard)) for shard in shards}
        return {relative: reason for relative, reason in checked.items() if reason is not None}

    def renew(self, shard: Shard) -> None:
        """Let the receipt of a shard that is done have the identity of its input now; see :meth:`.Receipts.renew`.

        Raises:
            OutputError: the receipt cannot be written.
        """
        relative, identity = shard.file.relative, shard.info.identity
        receipt, _ = self._known[relative]
        if receipt.input.identity != identity:
            renewed = self._output.receipts.renew(relative, identity)
            if renewed is not None:
                self._known[relative] = renewed, self._versions(relative)

    def write(self, receipt: Receipt) -> None:
        """Mark a shard as done, after its output was published.

        Raises:
            OutputError: the receipt cannot be written.
        """
        self._output.receipts.write(receipt)
        self._known[receipt.relative] = receipt, self._versions(receipt.relative)

    def receipt(self, relative: str) -> Receipt | None:
        """The receipt of an output that this process hashed or wrote, if neither file was replaced since."""
        receipt, before = self._known.get(relative, (None, None))
        return receipt if receipt is not None and before == self._versions(relative) else None

    def _versions(self, relative: str) -> Versions:
        found = [self._output.receipts.entry(name) for name in (relative, receipt_name(relative))]
        one, two = ("" if entry is None else entry.version for entry in found)
        return one, two
