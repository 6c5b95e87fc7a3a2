"""What ``scorer plan`` reports, typed: the console and the JSON show the same :class:`Estimate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import msgspec

from ..scoring.summary import ReusedOutput
from ..storage.counts import FactCounts
from .preview import Losses


@dataclass(frozen=True)
class PlannedShards:
    """Shards that can be scored (``usable``), and those of them that are done (``skipped``).

    ``again``: relative paths of outputs that are scored again, by reason. ``losses``: outputs that a run without
    ``--prune`` refuses to remove or shorten. ``failed``: why a shard cannot be scored, by relative path. ``pieces``:
    how many of the usable ones are pieces of a shard, by its relative path. ``note``: on those of very many rows.
    """

    usable: int
    skipped: int
    again: Mapping[str, list[str]]
    losses: Losses
    failed: Mapping[str, str]
    pieces: Mapping[str, int] = field(default_factory=dict)
    note: str | None = None

    def to_json(self) -> dict[str, object]:
        """As a JSON object."""
        return {
            "usable": self.usable,
            "skipped": self.skipped,
            "again": dict(self.again),
            "outside": self.losses.outside,
            "shorter": {name: list(rows) for name, rows in self.losses.shorter.items()},
            "divided": self.losses.divided,
            "pieces": dict(self.pieces),
            "failed": dict(self.failed),
        }


@dataclass(frozen=True)
class PlannedRows:
    """Rows of all usable shards, of those that are not done, and those that were read for the estimate.

    ``reused``: rows that earlier outputs would provide; ``None`` where none is named.
    """

    all: int
    to_score: int
    sampled: int
    reused: int | None = None

    def to_json(self) -> dict[str, int]:
        """As a JSON object."""
        found = {"all": self.all, "to_score": self.to_score, "sampled": self.sampled}
        return found if self.reused is None else {**found, "reused": self.reused}


@dataclass(frozen=True)
class PlannedChecks:
    """Checks that would be asked, and distinct pairs among them."""

    all: int
    unique: int


@dataclass(frozen=True)
class LengthBin:
    """Distinct pairs that have at most ``up_to`` tokens, and more than the bin before."""

    up_to: int
    pairs: int


@dataclass(frozen=True)
class DiskSpace:
    """Bytes that the output needs, and bytes that are free where it goes; ``None`` for an object store."""

    needed: int
    free: int | None


@dataclass(frozen=True)
class PlannedDevice:
    """Where the model would run."""

    kind: str
    name: str


@dataclass(frozen=True)
class Estimate:
    """What a run would do and cost.

    ``estimated``: the counts come from a sample and are scaled up by rows. ``errors``, ``notes``: rows by kind.
    ``too_long``: pairs longer than the model's maximum. ``seconds``: of the model alone, from a probe on this device.
    ``five_minutes``: rows that the model scores in about that time, ``None`` where nothing is to be scored.
    ``first_facts``: of the first row that has facts, as sentences.
    """

    signature: str
    shards: PlannedShards
    rows: PlannedRows
    reuse: tuple[ReusedOutput, ...]
    errors: Mapping[str, int]
    notes: Mapping[str, int]
    checks: PlannedChecks
    facts: FactCounts
    token_lengths: tuple[LengthBin, ...]
    too_long: int
    disk: DiskSpace
    seconds: float
    device: PlannedDevice
    precision: str
    five_minutes: int | None = None
    first_facts: tuple[str, ...] = ()

    @property
    def estimated(self) -> bool:
        """Whether the counts come from a part of the rows."""
        return self.rows.sampled < self.rows.to_score

    def to_json(self) -> dict[str, object]:
        """As a JSON object: what ``scorer plan --json`` prints."""
        return {
            "signature": self.signature,
            "shards": self.shards.to_json(),
            "rows": self.rows.to_json(),
            "reuse": msgspec.to_builtins(self.reuse),
            "estimated": self.estimated,
            "errors": dict(self.errors),
            "notes": dict(self.notes),
            "checks": asdict(self.checks),
            "facts": msgspec.to_builtins(self.facts),
            "first_facts": list(self.first_facts),
            "token_lengths": [asdict(one) for one in self.token_lengths],
            "too_long": self.too_long,
            "disk": asdict(self.disk),
            "seconds": self.seconds,
            "rows_in_five_minutes": self.five_minutes,
            "device": asdict(self.device),
            "precision": self.precision,
        }
