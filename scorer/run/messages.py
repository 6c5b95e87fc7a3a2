"""What the driver and a worker say to each other: pickled objects, each after its length in eight bytes.

Both ends are processes of this program that the same user started.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

from ..errors import ScorerError, ShardError
from ..scoring.origin import Origin
from ..scoring.plan import Budgets, Plan, PlannedReuse
from ..scoring.row_scorer import Caveats, RowScoring
from ..scoring.signature import Signature
from ..scoring.summary import ReusedOutput
from ..storage import Identity, Receipt
from ..storage.pieces import Piece
from .options import RunOptions

_HEAD = struct.Struct("<Q")


@dataclass(frozen=True)
class Task:
    """A shard, or a piece of one, to be scored. ``expect``: the version of its output that the driver saw, empty where
    there was none."""

    relative: str
    uri: str
    identity: Identity
    piece: Piece | None = None
    limit: int | None = None
    expect: str = ""


@dataclass(frozen=True)
class ReuseFacts:
    """What the driver must know of the outputs of ``--reuse``; see :class:`scorer.scoring.reuse.Sources`."""

    digest: str
    planned: tuple[PlannedReuse, ...]
    origins: tuple[Origin, ...]
    summary: tuple[ReusedOutput, ...]


@dataclass(frozen=True)
class Facts:
    """What is known of what scores before the plan is made; see :class:`scorer.scoring.row_scorer.RowScorer`."""

    signature: Signature
    budgets: Budgets
    provider: str
    origin: Origin
    versions: Mapping[str, str]
    caveats: Caveats
    reuse: ReuseFacts | None = None

    @property
    def device(self) -> str:
        """What all workers have in common, in words."""
        return self.origin.device.words

    @property
    def runtime(self) -> str:
        """The version of ONNX Runtime."""
        return self.origin.runtime


class Job(Protocol):
    """What all workers of a run are told by the command. In words: what they open."""

    @property
    def options(self) -> RunOptions: ...

    def scoring(self, device: str, folder: str) -> RowScoring:
        """How a worker scores rows. ``folder``: see :func:`.ray.shipment.place`; empty for none."""
        ...


@dataclass(frozen=True)
class Request:
    """The first message to a worker. ``device``, ``number``, ``cpus``: of its :class:`.pool.Place`. ``starts``: shards
    whose first rows are looked at where something must be measured. ``talks``: whether it says what is reused."""

    job: Job
    device: str
    number: int
    cpus: int
    budgets: Budgets
    earlier: Plan | None
    starts: tuple[Task, ...]
    talks: bool


@dataclass(frozen=True)
class Begin:
    """The second message: the plan is made. ``token``: of the holder of the output."""

    plan: Plan
    token: str


@dataclass(frozen=True)
class Ready:
    """A worker is ready for shards."""

    facts: Facts


@dataclass(frozen=True)
class Moved:
    """A worker did something (:mod:`scorer.system.progress`); it does not hang."""


@dataclass(frozen=True)
class Said:
    """A line for people."""

    message: str


@dataclass(frozen=True)
class Progress:
    """See :class:`.options.Reporter`."""

    shard: str
    rows: int
    pairs: int
    partial: float = 0.0


@dataclass(frozen=True)
class Loaded:
    """The outputs of ``--reuse`` were read."""

    summary: tuple[ReusedOutput, ...]


@dataclass(frozen=True)
class Made:
    """A shard was scored. ``receipt``: to be written if the driver believes it. ``temporary``: the file to be renamed,
    empty where it was uploaded."""

    receipt: Receipt
    temporary: str

    @property
    def relative(self) -> str:
        """The output's path below OUT."""
        return self.receipt.relative


@dataclass(frozen=True)
class Failed:
    """A shard cannot be scored."""

    relative: str
    kind: str
    message: str
    identity: Identity | None

    @classmethod
    def of(cls, relative: str, error: ScorerError, identity: Identity | None) -> Self:
        """Why a shard cannot be scored, as an error."""
        kind = error.kind if isinstance(error, ShardError) else "columns"
        return cls(relative, kind, str(error), identity)


Result = Made | Failed


@dataclass(frozen=True)
class Unseen:
    """A worker cannot open a shard, or sees another one in its place. ``failed``: the result if the driver agrees."""

    failed: Failed


@dataclass(frozen=True)
class Stopped:
    """A worker cannot go on. ``error``: the class of what it says; :class:`.InputError` where no other worker could."""

    error: type[ScorerError]
    message: str


def frame(message: object) -> bytes:
    """A message as bytes."""
    content = pickle.dumps(message)
    return _HEAD.pack(len(content)) + content


class Frames:
    """Reads messages from pieces of a stream."""

    def __init__(self) -> None:
        self._rest = b""

    def read(self, content: bytes) -> list[Any]:
        """The messages that are complete with a further piece."""
        self._rest += content
        found = []
        while len(self._rest) >= _HEAD.size:
            (size,) = _HEAD.unpack_from(self._rest)
            if len(self._rest) < _HEAD.size + size:
                break
            found.append(pickle.loads(self._rest[_HEAD.size : _HEAD.size + size]))
            self._rest = self._rest[_HEAD.size + size :]
        return found
