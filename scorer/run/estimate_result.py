"""What ``scorer plan`` reports, typed: the console and the JSON show the same :class:`Estimate`."""

from __future__ import annotations

from ..scoring.summary import ReusedOutput
from ..storage.counts import FactCounts
from ..system.codec import OpenRecord


class PlannedShards(OpenRecord, frozen=True, kw_only=True):
    """Shards that can be scored (``usable``), and those of them that are done (``skipped``).

    ``again``: relative paths of outputs that are scored again, by reason. ``outside``, ``shorter``, ``divided``: what a
    run without ``--prune`` refuses to remove or shorten, as in :class:`.preview.Losses`. ``failed``: why a shard cannot
    be scored, by relative path. ``pieces``: how many of the usable ones are pieces of a shard, by its relative path.
    ``note``: on those of very many rows.
    """

    usable: int
    skipped: int
    again: dict[str, list[str]]
    outside: list[str]
    shorter: dict[str, tuple[int, int]]
    divided: list[str]
    failed: dict[str, str]
    pieces: dict[str, int]
    note: str | None = None


class PlannedRows(OpenRecord, frozen=True, omit_defaults=True):
    """Rows of all usable shards, of those that are not done, and those that were read for the estimate.

    ``reused``: rows that earlier outputs would provide; ``None`` where none is named.
    """

    all: int
    to_score: int
    sampled: int
    reused: int | None = None


class PlannedChecks(OpenRecord, frozen=True):
    """Checks that would be asked, and distinct pairs among them."""

    all: int
    unique: int


class LengthBin(OpenRecord, frozen=True):
    """Distinct pairs that have at most ``up_to`` tokens, and more than the bin before."""

    up_to: int
    pairs: int


class DiskSpace(OpenRecord, frozen=True):
    """Bytes that the output needs, and bytes that are free where it goes; ``None`` for an object store."""

    needed: int
    free: int | None


class PlannedDevice(OpenRecord, frozen=True):
    """Where the model would run."""

    kind: str
    name: str


class Estimate(OpenRecord, frozen=True, kw_only=True):
    """What a run would do and cost.

    ``estimated``: the counts come from a sample and are scaled up by rows. ``errors``, ``notes``: rows by kind.
    ``too_long``: pairs longer than the model's maximum. ``seconds``: of the model alone, from a probe on this device.
    ``rows_in_five_minutes``: rows that the model scores in about that time, ``None`` where nothing is to be scored.
    ``first_facts``: of the first row that has facts, as sentences.
    """

    signature: str
    shards: PlannedShards
    rows: PlannedRows
    estimated: bool
    reuse: tuple[ReusedOutput, ...]
    errors: dict[str, int]
    notes: dict[str, int]
    checks: PlannedChecks
    facts: FactCounts
    token_lengths: tuple[LengthBin, ...]
    too_long: int
    disk: DiskSpace
    seconds: float
    device: PlannedDevice
    precision: str
    rows_in_five_minutes: int | None = None
    first_facts: tuple[str, ...] = ()
