"""The earlier outputs that a run may reuse, compared with this run's signature."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from ...metric.columns import output_schema
from ...metric.options import ColumnNames
from ...storage.location import Location
from ..origin import Origin
from ..plan import PlannedReuse
from ..signature import Signature, differences
from ..summary import ReusedOutput
from .earlier import EarlierOutput, Wanted, open_earlier

KEY, LABELLED = "row_key", "fine"
_NOT_LABELS = ("reused",)


@dataclass(frozen=True)
class Sources:
    """Earlier outputs in the order given. ``now``: where this run computes. ``labels``: columns that are taken over."""

    outputs: list[EarlierOutput]
    signature: Signature
    now: Origin
    labels: pa.Schema

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the receipts of all shards that serve, as hex; empty when none does."""
        if not any(output.shards for output in self.outputs):
            return ""
        return hashlib.sha256(json.dumps([output.digest for output in self.outputs]).encode("ascii")).hexdigest()

    def planned(self) -> tuple[PlannedReuse, ...]:
        """What ``_plan.json`` records of them."""
        return tuple(
            PlannedReuse(output.name, output.signature.line, len(output.shards), output.digest)
            for output in self.outputs
        )

    def summary(self, keys: Sequence[int] | None = None) -> tuple[ReusedOutput, ...]:
        """What ``_run.json`` says of them.

        Args:
            keys: rows that each output offers; ``None`` where nothing was left to score, so that none was read.
        """
        return tuple(
            ReusedOutput(
                out=str(output.out),
                signature_equal=output.signature == self.signature,
                differs=tuple(differences(output.signature, self.signature)),
                keys=None if keys is None else keys[i],
                shards_used=len(output.shards),
                shards_refused=output.refused,
            )
            for i, output in enumerate(self.outputs)
        )

    def say(self, tell: Callable[[str], None]) -> None:
        """Tell people what is reused, and why not."""
        for output in self.outputs:
            rows = sum(shard.rows for shard in output.shards)
            told = f"--reuse {output.out}: {len(output.shards)} shards with {rows:,} rows"
            if differs := differences(output.signature, self.signature):
                told += f"; its signature differs ({', '.join(differs)})"
            if output.refused:
                reasons = ", ".join(f"{reason} {count:,}" for reason, count in output.refused.items())
                told += f"; shards not used: {reasons}"
            tell(told)

    def origins(self) -> tuple[Origin, ...]:
        """What ``_run.json`` says of where its labels come from: here, and where those of the outputs that serve do."""
        found = [self.now]
        for output in self.outputs:
            if output.shards:
                found += [origin for origin in output.origins if origin not in found]
        return tuple(found)


def open_sources(paths: Sequence[Location], signature: Signature, names: ColumnNames, now: Origin) -> Sources:
    """Verify the shards of earlier outputs.

    Raises:
        OutputError: a plan or a receipt is there and cannot be read.
    """
    labels = pa.schema([column for column in output_schema(names) if column.name not in _NOT_LABELS])
    wanted = Wanted(signature, labels, KEY)
    return Sources([open_earlier(path, wanted) for path in paths], signature, now, labels)
