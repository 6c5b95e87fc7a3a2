"""Options of a run, executors, and the messages between driver and worker.

Executors are worker processes (:mod:`.processes`), actors of a cluster (:mod:`.ray_executor`), or this process
(:mod:`.inline`). A driver sends requests and a worker replies, in structs; an error as its class name and message.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from .. import errors
from ..errors import ScorerError
from ..scoring.settings import Settings, from_plan
from ..scoring.summary import ComputeEnvironment, ReusedOutput
from ..storage.location import Location
from ..storage.receipts import Identity, Receipt
from ..storage.run_plan import Budgets, Plan, PlannedReuse
from ..storage.shards import InputFile, Shard
from ..system.files import Format
from ..system.waiting import Closing

_SAMPLED_SHARDS = 8


@dataclass(frozen=True)
class RunOptions:
    """Options of a run, as of ``scorer run``."""

    inputs: tuple[str, ...]
    """Files, folders, globs and URIs."""
    out: Location
    """Folder or object-store prefix of the output."""
    limit: int | None = None
    """Score only the first rows, in the order of paths; with ``part``, of all parts together."""
    part: tuple[int, int] | None = None
    """(k, n) scores the shards of part k of n."""
    max_error_rate: float = 0.001
    """Share of rows with errors above which the run exits 3."""
    reuse: tuple[Location, ...] = ()
    """Earlier outputs to take labels from."""
    form: Format = "auto"
    """Format of the inputs; ``auto`` goes by their suffixes."""
    delimiter: str | None = None
    """Delimiter of CSV and TSV; by default the one of the header."""
    rescore: bool = False
    """Permits other labels, another division into row ranges, and shorter outputs in place of finished ones."""
    allow_stale: bool = False
    """Keep outputs without an input."""
    split_rows: int | None = None
    """Most rows of a shard, along row groups."""


class Reporter(Protocol):
    """Receives the events of a run, for a console or for nobody."""

    def started(self, shards: int, rows: int, skipped: int) -> None:
        """The run has a plan of ``shards``; ``skipped`` of them are done, and ``rows`` are left to score."""

    def progress(self, rows: float, pairs: int) -> None:
        """So many rows are scored so far, and so many pairs computed."""

    def shard_failed(self, relative: str, reason: str) -> None:
        """A shard was quarantined."""

    def say(self, message: str) -> None:
        """Show a line to the user."""


class ReuseInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The outputs of ``--reuse``."""

    digest: str = ""
    """Digest over the receipts of the shards that are used; empty where none is."""
    planned: tuple[PlannedReuse, ...] = ()
    """Each output as the plan records it."""
    origins: tuple[ComputeEnvironment, ...] = ()
    """Environments in which their labels were computed."""
    outputs: tuple[ReusedOutput, ...] = ()
    """Each output as ``_run.json`` records it."""


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Description of a worker with an open scorer; equal for all workers of a run."""

    signature: str
    """Signature of the scores in one line."""
    signature_parts: Mapping[str, Any]
    """Parts of the signature, with whole digests."""
    budgets: Budgets
    """Bounds of batches, and the bound of ``--exact``."""
    provider: str
    """Execution provider of ONNX Runtime."""
    origin: ComputeEnvironment
    """Environment in which labels are computed."""
    versions: Mapping[str, str]
    """Versions of the packages that scores pass through."""
    random_weights: bool
    """Whether the bundle was exported from random weights, so that its labels mean nothing."""
    forced: tuple[str, ...]
    """Checks of the export that ``--force`` overrode."""
    reuse: ReuseInfo = ReuseInfo()
    """Outputs of ``--reuse``."""


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Base of requests and replies."""


if TYPE_CHECKING:
    SentSettings = Settings
else:
    SentSettings = Any  # which msgspec does not look into: it decodes no union of a path and a text


class SettingsMessage(Message, frozen=True):
    """Base of requests about a scorer."""

    settings: SentSettings
    """Settings of the scorer; they are checked again where they arrive."""

    def __post_init__(self) -> None:
        sent: Any = self.settings
        if not isinstance(sent, Settings):
            msgspec.structs.force_setattr(self, "settings", from_plan(Settings, sent, "the driver's request"))


class Inspect(SettingsMessage, frozen=True):
    """Request: read footers. Answered by one :class:`FooterRead` a file, in this order."""

    files: list[InputFile]
    """Files to read."""
    split_rows: int | None = None
    """Most rows of a shard, along row groups; ``None`` for whole files."""
    limit: int | None = None
    """Rows to score; files behind them are not opened. ``None`` for all."""
    checks_first_window: bool = True
    """Whether to check the first window of a few files, until a row can be scored."""
    opens: bool = True
    """Whether to begin to open the bundle meanwhile, so that the worker may end for another reason than a file."""


class Open(SettingsMessage, frozen=True):
    """Request: open the scorer. Answered by :class:`WorkerReady`.

    The budgets are those of the plan, and so is the bound of ``--exact`` where signature and provider are equal;
    without a plan they are measured.
    """

    plan: Plan | None = None
    """Earlier plan, without its inputs."""
    shards: list[Shard] = []
    """Shards with first rows that are a sample for the bound of ``--exact``."""
    cpus: list[int] = []
    """Processors to run on; empty for all."""
    out: str = ""
    """Object store of the outputs; empty where the driver puts them into a folder."""
    reuse: list[str] = []
    """Earlier outputs to take labels from."""
    max_error_rate: float = 1.0
    """Share of rows with errors that the run allows."""


class Begin(Message, frozen=True):
    """Request: score under a plan. Answered by another :class:`WorkerReady`, which knows the keys of reused outputs."""

    plan: Plan
    """The plan without its inputs."""
    digest: str
    """Digest of the whole plan."""
    run: str
    """Id of the run in receipts."""


class Score(Message, frozen=True):
    """Request: score a shard into a temporary file. Answered by :class:`ShardResult`."""

    shard: Shard
    """Shard to score."""
    temporary: str = ""
    """Path of the temporary file."""
    halved: bool = False
    """Whether windows have half the size, for want of memory."""


class FooterRead(Message, frozen=True):
    """The shards of a file, or why it cannot be scored; neither behind the limit."""

    shards: list[Shard] = []
    """Shards of the file."""
    error: str = ""
    """Why the file cannot be scored; empty if it can."""
    kind: str = ""
    """Kind of the error."""
    hopeless: str | None = None
    """Why no row of the first window gets a label; empty where one does, ``None`` where it was not checked."""


class WorkerReady(Message, frozen=True):
    """The scorer is open."""

    info: WorkerInfo


class Progress(Message, frozen=True):
    """Progress of a worker.

    The first one is sent when the modules are imported: a later death is not due to a broken installation. The
    others are sent at most four times a second, and only if something was done, so that silence means a hang.
    """

    rows: float = 0.0
    """Rows of unfinished shards, with the share of the window that is in the model."""
    pairs: int = 0
    """Pairs computed since the worker started."""


class LogMessage(Message, frozen=True):
    """A line for the user."""

    text: str


class ShardResult(Message, frozen=True):
    """A scored shard, or why it was not scored."""

    relative: str
    """Path of the output below OUT."""
    identity: Identity | None = None
    """Identity of the input; ``None`` if it could not be opened."""
    temporary: str = ""
    """Path of the temporary file; empty where the output is in its object store already."""
    receipt: Receipt | None = None
    """Receipt of a scored shard; ``None`` for an error."""
    error: str = ""
    """Why the shard was not scored."""
    kind: str = ""
    """Kind of the error."""
    unseen: bool = False
    """Whether another machine may read the input (:class:`.UnseenInputError`)."""


class OutOfMemory(Message, frozen=True):
    """The worker lacks memory, and ends."""


class WorkerError(Message, frozen=True):
    """Why the worker cannot go on."""

    error: str
    """Name of a class of :mod:`scorer.errors`."""
    message: str
    """Message of the error."""

    @classmethod
    def of(cls, error: ScorerError) -> WorkerError:
        """Classes that are not in :mod:`scorer.errors` travel as the one that they derive from."""
        name = next(base.__name__ for base in type(error).__mro__ if hasattr(errors, base.__name__))
        return cls(error=name, message=str(error))

    def to_exception(self) -> ScorerError:
        """The error, in the driver."""
        kind: type[ScorerError] = getattr(errors, self.error)
        return kind(self.message)


Request = Inspect | Open | Begin | Score
Reply = FooterRead | WorkerReady | Progress | LogMessage | ShardResult | OutOfMemory | WorkerError


@dataclass(frozen=True)
class WorkerSlot:
    """Place of a worker."""

    name: str
    """Name in messages; empty for the only worker."""
    device: str
    """Device, as for ``--device``."""
    cpus: tuple[int, ...] = ()
    """Processors that it may use; empty for all."""
    threads: int | None = None
    """Its share of a quota of processor time, where that is less than these processors."""

    def prefixed(self, message: str) -> str:
        """A message about its worker."""
        return f"{self.name}: {message}" if self.name else message


@dataclass(frozen=True)
class Job:
    """Settings of the scorer of a run, and options of the run."""

    settings: Settings
    """Settings of the scorer."""
    options: RunOptions
    """Options of the run."""

    def inspect(self, files: Iterable[InputFile], rows_before: int = 0, *, opens: bool = True) -> Inspect:
        """The request to read footers.

        Args:
            files: files to read.
            rows_before: number of rows of the files before them, which count for the limit.
            opens: whether to begin to open the bundle (:class:`Inspect`).
        """
        limit = self.options.limit
        return Inspect(
            files=list(files),
            settings=self.settings,
            split_rows=self.options.split_rows,
            limit=None if limit is None else max(0, limit - rows_before),
            checks_first_window=self.options.max_error_rate < 1,
            opens=opens,
        )

    def open(self, plan: Plan | None, shards: Sequence[Shard], slot: WorkerSlot) -> Open:
        """The request to open the scorer in a slot."""
        return Open(
            settings=replace(self.settings, device=slot.device, threads=self.settings.threads or slot.threads),
            plan=plan,
            shards=list(shards),
            cpus=list(slot.cpus),
            out="" if isinstance(self.options.out, Path) else str(self.options.out),
            reuse=[
                str(location.absolute()) if isinstance(location, Path) else str(location)
                for location in self.options.reuse
            ],
            max_error_rate=self.options.max_error_rate,
        )


@dataclass
class Inspected:
    """The inputs of a run."""

    shards: list[Shard] = field(default_factory=list)
    """Shards in the order of their files."""
    unreadable: dict[str, tuple[InputFile, FooterRead]] = field(default_factory=dict)
    """Files that cannot be scored, by the path of their output."""
    first_windows: list[tuple[InputFile, FooterRead]] = field(default_factory=list)
    """Files with a checked first window."""

    def add(self, file: InputFile, footer: FooterRead) -> None:
        """Add the next file."""
        self.shards += footer.shards
        if footer.error:
            self.unreadable[file.relative] = file, footer
        if footer.hopeless is not None:
            self.first_windows.append((file, footer))

    @property
    def rows(self) -> int:
        """Rows of the shards so far."""
        return sum(shard.rows for shard in self.shards)

    @property
    def sample(self) -> list[Shard]:
        """A few shards, spread evenly, as a sample where something must be measured."""
        return self.shards[:: max(1, len(self.shards) // _SAMPLED_SHARDS)][:_SAMPLED_SHARDS]


class Executor(Closing):
    """Scores shards. Entered and used in one thread; :meth:`inspect`, :meth:`open`, :meth:`score` are called once each,
    in this order, and raise a :class:`.ScorerError` if the run cannot go on."""

    job: Job

    @property
    @abstractmethod
    def info(self) -> WorkerInfo:
        """Description of the first worker that opened the scorer."""

    @abstractmethod
    def inspect(self, files: Sequence[InputFile]) -> Inspected:
        """Read footers and find columns; a file that cannot be scored costs nothing but itself."""

    @abstractmethod
    def open(self, plan: Plan | None, shards: Sequence[Shard]) -> None:
        """Open the scorer, and measure what the plan records (:class:`Open`)."""

    @abstractmethod
    def score(self, shards: Sequence[Shard], begin: Begin, temporary: Callable[[str], Path]) -> Iterator[ShardResult]:
        """Score shards, in any order.

        Args:
            shards: shards to score.
            begin: the request to begin.
            temporary: takes the relative path of a shard, and gives a new name to write its output under.
        """
