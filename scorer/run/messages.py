"""Messages between driver and worker: structs over one connection (:mod:`scorer.system.worker_process`).

The driver sends requests and the worker replies. Nothing is pickled: an error travels as its class name and message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from .. import errors
from ..errors import ScorerError
from ..scoring.summary import Origin, ReusedOutput
from ..storage.plan import Budgets, Plan, PlannedReuse
from ..storage.receipts import Identity, Receipt
from ..storage.shards import InputFile, Shard


class ReuseInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The outputs of ``--reuse``. ``digest``: over the receipts of the shards that serve, empty where none does.
    ``origins``: where their labels were computed."""

    digest: str
    planned: tuple[PlannedReuse, ...]
    origins: tuple[Origin, ...]
    outputs: tuple[ReusedOutput, ...]


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Description of a worker whose scorer is open. Workers of one run are equal in all of it.

    ``signature``, ``signature_parts``: of its scores. ``budgets``: what batches are cut by, and the bound of
    ``--exact``. ``origin``: where it computes, and how far logits stray there. ``versions``: of the packages that
    scores pass through. ``random_weights``, ``forced``: as the bundle says, why labels should not be trusted.
    """

    signature: str
    signature_parts: Mapping[str, Any]
    budgets: Budgets
    provider: str
    origin: Origin
    versions: Mapping[str, str]
    random_weights: bool
    forced: tuple[str, ...]
    reuse: ReuseInfo | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Base of all that is sent."""


class Inspect(Message, frozen=True):
    """Request: read footers. One :class:`FooterRead` a file, in this order.

    ``settings``: of the scorer. ``limit``: rows; files behind them are not opened. ``first_rows``: look at the first
    rows of a few files, until one can be scored.
    """

    files: list[InputFile]
    settings: dict[str, Any]
    split_rows: int | None = None
    limit: int | None = None
    first_rows: bool = True


class Open(Message, frozen=True):
    """Request: open the scorer. Answered by :class:`WorkerReady`.

    ``plan``: an earlier one without its inputs, whose budgets are taken, and the bound of ``--exact`` where signature
    and provider are its own; without one they are measured. ``shards``: a few, whose first rows that bound is measured
    on. ``cpus``: to run on; empty for all. ``reuse``: outputs whose labels are taken over.
    """

    settings: dict[str, Any]
    plan: Plan | None = None
    shards: list[Shard] = []
    cpus: list[int] = []
    reuse: list[str] = []
    max_error_rate: float = 1.0


class Begin(Message, frozen=True):
    """Request: score under a plan, whose inputs are left out. ``digest``: that of the whole plan. ``run``: names the
    run in receipts."""

    plan: Plan
    digest: str
    run: str


class Score(Message, frozen=True):
    """Request: score a shard into a temporary file. Answered by :class:`ShardResult`. ``halved``: in windows of half
    the size, for want of memory."""

    shard: Shard
    temporary: str
    halved: bool = False


class WorkerStarted(Message, frozen=True):
    """The modules are imported: a death from here on is not that of a broken installation."""


class FirstRows(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of the first window of a file that get no label. ``all``: no row gets one. ``message``: which, and why;
    empty where every row gets one."""

    all: bool = False
    message: str = ""


class FooterRead(Message, frozen=True):
    """The shards of a file, or the ``error`` and its ``kind`` if it cannot be scored; neither behind the limit.
    ``first_rows``: ``None`` where they were not looked at."""

    shards: list[Shard] = []
    error: str = ""
    kind: str = ""
    first_rows: FirstRows | None = None


class WorkerReady(Message, frozen=True):
    """The scorer is open."""

    info: WorkerInfo


class Progress(Message, frozen=True):
    """Progress of a worker. ``rows``: of the shards that it has not finished, and those that the work on the window in
    the model amounts to; ``pairs``: computed since it started. Sent at most four times a second, and only if something
    was done (:mod:`scorer.system.waiting`), so that silence means that nothing is."""

    rows: float = 0.0
    pairs: int = 0


class LogMessage(Message, frozen=True):
    """A line for the user."""

    text: str


class ReuseLoaded(Message, frozen=True):
    """The keys of the reused outputs are read; ``outputs`` say how many there are."""

    outputs: tuple[ReusedOutput, ...]


class ShardResult(Message, frozen=True):
    """``temporary`` and ``receipt`` of a scored shard, or ``error`` and its ``kind``. ``identity``: of the input."""

    relative: str
    identity: Identity | None = None
    temporary: str = ""
    receipt: Receipt | None = None
    error: str = ""
    kind: str = ""

    @property
    def rows(self) -> int:
        """Rows that were scored."""
        return 0 if self.receipt is None else self.receipt.output.rows


class OutOfMemory(Message, frozen=True):
    """The worker lacks memory, and ends."""


class WorkerError(Message, frozen=True):
    """Why the worker cannot go on. ``error``: a class of :mod:`scorer.errors`."""

    error: str
    message: str

    @classmethod
    def of(cls, error: ScorerError) -> WorkerError:
        """Classes that are not in :mod:`scorer.errors` travel as the one that they derive from."""
        name = next(one.__name__ for one in type(error).__mro__ if hasattr(errors, one.__name__))
        return cls(error=name, message=str(error))

    def to_exception(self) -> ScorerError:
        """The error, in the driver."""
        kind: type[ScorerError] = getattr(errors, self.error)
        return kind(self.message)


class WorkerEnded(Message, frozen=True):
    """The worker's process ended or was killed. Made by the driver. ``reason``: continues "the worker …". ``memory``:
    it said that it lacks memory."""

    reason: str
    memory: bool = False


Request = Inspect | Open | Begin | Score
Reply = (
    WorkerStarted
    | FooterRead
    | WorkerReady
    | Progress
    | LogMessage
    | ReuseLoaded
    | ShardResult
    | OutOfMemory
    | WorkerError
)
