"""What a worker process tells the process that supervises it: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Said:
    """A line for people."""

    message: str


@dataclass(frozen=True)
class Started:
    """See :class:`.options.Reporter`."""

    shards: int
    rows: int
    skipped: int


@dataclass(frozen=True)
class Progress:
    """See :class:`.options.Reporter`."""

    shard: str
    rows: int
    pairs: int
    partial: float = 0.0


@dataclass(frozen=True)
class Failed:
    """A shard was set aside."""

    shard: str
    reason: str


@dataclass(frozen=True)
class Ended:
    """The worker ends. ``concluded``: whether the run is at its end, with this exit code; otherwise the worker has an
    error, which is the reason."""

    code: int
    reason: str
    concluded: bool


Event = Said | Started | Progress | Failed | Ended
_KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in (Said, Started, Progress, Failed, Ended)}


def event_line(event: Event) -> bytes:
    """An event as a line."""
    return json.dumps({"event": type(event).__name__, **asdict(event)}).encode("ascii") + b"\n"


def parse_event(line: bytes) -> Event | None:
    """The event of a line; ``None`` for a line that is none, such as what a library prints."""
    try:
        found = json.loads(line)
        kind = _KINDS[found.pop("event")]
        return kind(**found)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


@dataclass(frozen=True)
class EventReporter:
    """A :class:`.options.Reporter` that passes everything on. ``send``: takes lines."""

    send: Callable[[bytes], object]

    def started(self, shards: int, rows: int, skipped: int) -> None:
        self.send(event_line(Started(shards, rows, skipped)))

    def progress(self, shard: str, rows: int, pairs: int, partial: float = 0.0) -> None:
        self.send(event_line(Progress(shard, rows, pairs, partial)))

    def shard_done(self, shard: str, rows: int) -> None:
        """Progress tells the rows already."""

    def shard_failed(self, shard: str, reason: str) -> None:
        self.send(event_line(Failed(shard, reason)))

    def say(self, message: str) -> None:
        self.send(event_line(Said(message)))
